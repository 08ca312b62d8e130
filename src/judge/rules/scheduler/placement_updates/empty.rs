//! Writes of slices that change nothing.

use evidence::{Evidence, Request, api::PlacementDecision};

use crate::{
    reasons::SCHEDULER_NOT_NAMED,
    shared::empty_writes::{Written, judge_empty_writes},
    subjects::Findings,
    text::listed,
    who::{
        Hand, Who,
        logged::{Logged, logged_key},
        publisher::Publishers,
    },
};

/// `placement-updates/no-empty-writes`
///
/// No write of a slice leaves it unchanged.
///
/// Writes of people, of programs that write for them, and of the hub itself, such as a storage migration, do not count. Nor do those of others than
/// the scheduler, where its users are known; a note says so where they are inferred.
pub(in crate::rules) fn no_empty_writes(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable("the audit log has no update of a slice");
    let Some(requests) = &evidence.slice_requests else {
        return;
    };
    let names = Logged::<PlacementDecision>::of(evidence);
    let publishers = Publishers::of::<PlacementDecision>(evidence);
    let who = Who::<PlacementDecision>::of(evidence);
    let updates = |request: &Request| {
        let is_other_s = || matches!(who.hand_of(request), Hand::Run | Hand::Other);
        request.is_write() && matches!(&*request.verb, "update" | "patch") && !is_other_s()
    };
    let users_of = |request: &Request| {
        let [users, _] = publishers.names(names.producer(logged_key(request)));
        users
    };
    let counts = |request: &Request| {
        let users = updates(request).then(|| users_of(request))?;
        (!users.are_known() || users.hold_sender(request)).then(|| users.are_known())
    };
    let mut left_out = requests.events.iter().filter(|request| updates(request));
    let inferred = left_out.find_map(|request| {
        let users = users_of(request);
        (users.are_known() && !users.are_said && !users.hold_sender(request)).then_some(users)
    });
    if let Some(users) = inferred {
        let alone = listed(users.all());
        findings.note(SCHEDULER_NOT_NAMED.after(format_args!(
            "{alone} alone created slices, so the writes of others do not count"
        )));
    }
    let slice = Written {
        what: "slice",
        path: "metadata.resourceVersion",
        message: "the slice is written without a change",
    };
    judge_empty_writes::<PlacementDecision>(evidence, requests, counts, &slice, findings);
}
