//! An identity that is none.

use evidence::{
    Evidence,
    api::{ClusterProfile, names::LABEL_MEMBER_ID},
};

use super::{PATH, play_of_conflicts};
use crate::{
    rules::consumer::support::testbed::expect_call,
    subjects::{Finding, Findings},
};

/// `consumer-identity/empty-is-absent`
///
/// Profiles whose identity is empty are none of one member: the consumer acts on each.
pub(in crate::rules) fn empty_is_absent(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = play_of_conflicts(evidence, findings) else {
        return;
    };
    findings.nothing_happened("no two profiles of one namespace had an empty identity");
    let is_empty = |profile: &ClusterProfile| {
        let id = profile.metadata.labels.get(LABEL_MEMBER_ID);
        play.is_selected(profile) && id.is_some_and(|id| id.is_empty())
    };
    for subject in play.subjects() {
        let held = subject
            .timeline
            .while_(|profile| is_empty(profile) && play.invites(profile));
        let beside = play.subjects().iter().filter(|other| {
            !std::ptr::eq(*other, subject) && other.last.metadata.namespace == subject.last.metadata.namespace
        });
        let spans = beside.filter_map(|other| play.chance(&held.and(&other.timeline.while_(is_empty))));
        let Some(until) = spans.map(|(_, until)| until).max() else {
            continue;
        };
        let urls = play.own_servers(subject);
        if urls.is_empty() {
            continue;
        }
        expect_call(play.set_out_for_profile(subject, &urls, until), findings, || {
            let message = "the consumer takes profiles without an identity for one member";
            Finding::on(subject.last, message)
                .at(PATH)
                .expected("calls for each profile whose identity is empty")
                .observed("no call")
        });
    }
}
