//! What users read of profiles.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use evidence::HubRead;

/// So many reads of a user are kept. A consumer that sends more has long shown how it reads.
const MOST: usize = 20_000;

/// The reads of all users.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Reads(HashMap<Arc<str>, Reader>);

/// One who reads.
#[derive(Clone, Debug, Default, PartialEq)]
struct Reader {
    groups: BTreeSet<String>,
    /// Gets and lists, each with the program that sent it.
    reads: Vec<(String, HubRead)>,
}

impl Reads {
    /// Keeps who has sent a request, be it a watch or one that was refused.
    pub(super) fn note<'g>(&mut self, user: Arc<str>, groups: impl Iterator<Item = &'g str>) {
        let known = &mut self.0.entry(user).or_default().groups;
        for group in groups {
            if !known.contains(group) {
                known.insert(group.to_owned());
            }
        }
    }

    /// Keeps a read that a program of the user sent.
    pub(super) fn take(&mut self, user: Arc<str>, program: &str, read: HubRead) {
        let reads = &mut self.0.entry(user).or_default().reads;
        if reads.len() < MOST {
            reads.push((program.to_owned(), read));
        }
    }

    /// The reads that these programs of a user sent, or all if no program is named, in the order of time, and the user's
    /// groups. None if the log knows no read of that user.
    pub(super) fn of(mut self, user: &str, agents: &[String]) -> Option<(Vec<HubRead>, BTreeSet<String>)> {
        let Reader { groups, mut reads } = self.0.remove(user)?;
        reads.retain(|(program, _)| agents.is_empty() || agents.contains(program));
        let mut reads: Vec<HubRead> = reads.into_iter().map(|(_, read)| read).collect();
        reads.sort_by_key(|read| read.at);
        Some((reads, groups))
    }
}
