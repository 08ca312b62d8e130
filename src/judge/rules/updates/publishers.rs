//! Whose writes count: other programs write to profiles as well, and their writes are not held against the manager.

use std::collections::BTreeSet;

use evidence::{Evidence, ProfileHistory, Request, api::ClusterProfile};

use crate::rules::{
    authors::{authors, publishers_of, publishes_profile},
    finding::Finding,
    logged::{Logged, logged_key},
    placement::{Actor, sender},
    write_time::{Write, WriteTime, writes},
};

/// The note where the log does not tell whose writes it has.
pub(super) const NOBODY_PUBLISHES: &str =
    "the audit log shows nobody who publishes profiles, so the writes of all users count, as a hint only";

/// The users who create judged profiles or write their status, by the audit log. A person may do it once, so people count
/// only where no program does it, and nobody else writes: some managers run as an administrator.
pub(super) struct Publishers<'a>(BTreeSet<&'a str>);

impl<'a> Publishers<'a> {
    pub(super) fn of_log(evidence: &'a Evidence) -> Self {
        let names = Logged::<ClusterProfile>::of(evidence);
        let requests = evidence.requests.iter().flat_map(|requests| &requests.events);
        let writes: Vec<&Request> = requests
            .filter(|request| request.is_write() && !request.is_the_suites())
            .filter(|request| names.in_scope(logged_key(request)))
            .collect();
        let publish = |is_one: fn(&Request) -> bool| -> BTreeSet<&'a str> {
            let publications = writes
                .iter()
                .filter(|request| publishes_profile(request) && is_one(request));
            publications.map(|request| &*request.user).collect()
        };
        let programs = publish(|request| sender(request) == Actor::Program);
        if !programs.is_empty() {
            return Self(programs);
        }
        let people = publish(|_| true);
        let is_alone = writes.iter().all(|request| people.contains(&*request.user));
        Self(if is_alone { people } else { BTreeSet::new() })
    }

    /// Whether the log shows any. Else the writes may be anybody's.
    pub(super) fn are_known(&self) -> bool {
        !self.0.is_empty()
    }

    /// Whether somebody else sent a request.
    pub(super) fn are_foreign_to(&self, request: &Request) -> bool {
        !publishes_profile(request) && self.are_known() && !self.0.contains(&*request.user)
    }
}

/// The writes on a profile that count, by the watch.
pub(super) struct Counted {
    /// When they were seen.
    pub(super) writes: Vec<WriteTime>,
    /// Whether it is known that those who publish the profile wrote.
    pub(super) is_sure: bool,
}

/// When the watch saw a profile written by those who publish it.
pub(super) fn counted(evidence: &Evidence, history: &ProfileHistory) -> Counted {
    let publishers = publishers_of(history);
    let is_foreign = |write: &&Write| {
        let (before, after) = (&write.before.object, &write.after.object);
        let by = authors(before, after);
        before.spec == after.spec
            && before.status == after.status
            && !by.is_empty()
            && !publishers.is_empty()
            && by.is_disjoint(&publishers)
    };
    let writes = writes(evidence, history);
    let own = writes.iter().filter(|write| !is_foreign(write));
    Counted {
        writes: own.map(|write| write.moment).collect(),
        is_sure: !publishers.is_empty(),
    }
}

/// A hint only, unless the writes are sure to be changes by those who publish profiles.
pub(super) fn sure_if(is_sure: bool, finding: Finding) -> Finding {
    if is_sure { finding } else { finding.advisory() }
}
