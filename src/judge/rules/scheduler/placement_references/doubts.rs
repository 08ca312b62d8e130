//! What the run could not tell of references: each cause once, with the first reference that it concerns.

use std::collections::BTreeMap;

use evidence::ObjectRef;

use super::naming::{Key, Named};
use crate::{
    subjects::Findings,
    text::{counted, redacted_field},
};

/// Why the run could not tell whether a reference is as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Doubt {
    /// The run did not list the profiles of its namespace.
    NotListed,
    /// The list of profiles has a gap.
    Incomplete,
    /// A profile that could not be read may be the one.
    Unread,
    /// The run did not see the fault for longer than the grace.
    TooEarly,
}

/// The doubts so far: the first reference of each, and how many more there are.
#[derive(Default)]
pub(super) struct Doubts(BTreeMap<Doubt, (String, usize)>);

impl Doubts {
    /// Adds a reference of which a fault was open when the window ended: time may tell.
    pub(super) fn wait(&mut self, named: &Named, findings: &mut Findings) {
        self.add(Doubt::TooEarly, named);
        findings.wait_for_slice(&ObjectRef::from(named.slice));
        findings.wait_for_profile(named.key.0, named.key.1);
    }

    /// Adds a reference.
    pub(super) fn add(&mut self, doubt: Doubt, named: &Named) {
        let first = self
            .0
            .entry(doubt)
            .or_insert_with(|| (redacted_field(&describe(doubt, named)), 0));
        first.1 += 1;
    }

    /// Tells the findings about them.
    pub(super) fn tell(self, findings: &mut Findings) {
        for (text, count) in self.0.into_values() {
            findings.cannot_tell(match count {
                1 => text,
                count => format!("{text} (and {} like it)", counted(count - 1, "more reference")),
            });
        }
    }
}

fn describe(doubt: Doubt, named: &Named) -> String {
    let (namespace, profile) = (named.key.0, path(named.key));
    let metadata = &named.slice.metadata;
    let slice = format!("slice {}/{}", metadata.namespace, metadata.name);
    match doubt {
        Doubt::NotListed => {
            format!("the run did not list ClusterProfiles in namespace {namespace}, to which {slice} refers")
        }
        Doubt::Incomplete => {
            format!("the list of ClusterProfiles has a gap and may lack {profile}, to which {slice} refers")
        }
        Doubt::Unread => {
            format!("a ClusterProfile that could not be read may be {profile}, to which {slice} refers")
        }
        Doubt::TooEarly => format!(
            "too early to tell: the run did not see for longer than the grace whether {slice} keeps its reference to \
             {profile}"
        ),
    }
}

/// `namespace/name` of a profile.
pub(super) fn path(key: Key) -> String {
    format!("{}/{}", key.0, key.1)
}
