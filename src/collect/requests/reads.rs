//! What users read of profiles.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use evidence::HubRead;

/// So many reads are kept. A consumer that sends more has long shown how it reads.
const MOST: usize = 200_000;

/// The reads of all users.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Reads {
    /// Gets and lists, each with its user.
    pub(super) kept: Vec<(Arc<str>, HubRead)>,
    /// All who read anything, also by a watch, each with the groups.
    pub(super) readers: HashMap<Arc<str>, BTreeSet<String>>,
}

impl Reads {
    /// Keeps a read.
    pub(super) fn take(&mut self, user: Arc<str>, read: HubRead) {
        if self.kept.len() < MOST {
            self.kept.push((user, read));
        }
    }

    /// Those of a user, in the order of time, and the user's groups. None if the log knows no read of that user.
    pub(super) fn of(mut self, user: &str) -> Option<(Vec<HubRead>, BTreeSet<String>)> {
        let groups = self.readers.remove(user)?;
        let own = self.kept.into_iter().filter(|(by, _)| **by == *user);
        let mut own: Vec<HubRead> = own.map(|(_, read)| read).collect();
        own.sort_by_key(|read| read.at);
        Some((own, groups))
    }
}
