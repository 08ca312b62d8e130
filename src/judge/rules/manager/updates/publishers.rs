//! Whose writes count: other programs write to profiles as well, and their writes are not held against the manager.

use evidence::{Evidence, ObjectRef, ProfileHistory, Request, api::ClusterProfile};

use super::{
    budget::may_overdraw,
    log::{Key, Names},
    spendable::Writers,
};
use crate::{
    reasons::MANAGER_NOT_NAMED,
    shared::{
        bucket::{BUDGET, Spent, spent},
        empty_writes::ALL_COUNT,
        writes::{Write, writes},
    },
    subjects::{Finding, Findings},
    text::listed,
    time::Event as WriteTime,
    who::{
        Publishing,
        logged::{creates, logged_key},
        may_be_a_producers,
        publisher::Publishers,
    },
};

/// The cluster managers' users, by the audit log.
pub(super) struct Users<'a> {
    who: Writers<'a>,
    publishers: Publishers<'a>,
    names: Names<'a>,
}

impl<'a> Users<'a> {
    pub(super) fn of(evidence: &'a Evidence) -> Self {
        Self {
            who: Writers::of(evidence),
            publishers: Publishers::of::<ClusterProfile>(evidence),
            names: Names::of(evidence),
        }
    }

    /// Whether those of a profile's manager are known. Otherwise, the writes of all users count, as a hint only.
    pub(super) fn are_known(&self, key: Key<'a>, findings: &mut Findings) -> bool {
        let [users, _] = self.publishers.names(self.names.producer(key));
        if !users.are_known() {
            findings.note(MANAGER_NOT_NAMED.after(ALL_COUNT));
        } else if !users.are_said {
            findings.note(format!(
                "{} alone created the profiles of which the audit log shows the creation, so it counts as their manager",
                listed(users.all())
            ));
        }
        users.are_known()
    }

    /// Whether a request counts: not if it is proven to be somebody else's. A write of a status does, unless all of the manager's users were named: it may have several.
    pub(super) fn count(&self, request: &'a Request) -> bool {
        let [users, _] = self.publishers.names(self.names.producer(logged_key(request)));
        let publishes = &*request.subresource == "status" || creates(request);
        let is_own = !users.are_known() || users.hold_sender(request) || (publishes && !users.are_said);
        is_own && !self.who.is_anothers(request)
    }
}

/// The writes on a profile that count, by the watch.
pub(super) struct Counted<'e> {
    /// The steps that the watch saw.
    pub(super) writes: Vec<Write<'e>>,
    /// Whether it is known that those who publish the profile wrote.
    pub(super) is_sure: bool,
}

/// When the watch saw a profile written by its manager.
pub(super) fn counted<'e>(evidence: &'e Evidence, history: &'e ProfileHistory) -> Counted<'e> {
    let publishing = Publishing::of(evidence, [history]);
    let is_own = |write: &Write| {
        let (before, after) = (&write.before.object, &write.after.object);
        let publishes = before.spec != after.spec || before.status != after.status;
        publishing.wrote(before, after, publishes)
    };
    let writes = writes(evidence, history).into_iter();
    Counted {
        writes: writes.filter(is_own).collect(),
        is_sure: publishing.are_known(),
    }
}

/// Says if a profile is written too often only together with programs that nobody claimed: one may be the manager's second
/// field manager, or a consumer that labels profiles for itself.
pub(super) fn doubt_unclaimed(evidence: &Evidence, history: &ProfileHistory, findings: &mut Findings) {
    if !may_overdraw(history) || Publishing::of(evidence, [history]).are_claimed {
        return;
    }
    let may_be_its = |write: &&Write| may_be_a_producers(&write.before.object, &write.after.object);
    let writes = writes(evidence, history);
    let unclaimed = writes.iter().filter(may_be_its);
    let unclaimed: Vec<WriteTime> = unclaimed.map(|write| write.moment).collect();
    if spent(&unclaimed.into(), BUDGET) != Spent::Kept {
        let profile = ObjectRef::from(history.last()).path();
        findings.cannot_tell(MANAGER_NOT_NAMED.after(format_args!(
            "{profile} is written more often than the budget allows by programs that may be the manager's or others"
        )));
    }
}

/// A hint only, unless the writes are sure to be changes by those who publish profiles.
pub(super) fn sure_if(is_sure: bool, finding: Finding) -> Finding {
    if is_sure { finding } else { finding.advisory() }
}
