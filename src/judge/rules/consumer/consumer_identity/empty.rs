//! An identity that is none.

use evidence::{
    Evidence,
    api::{ClusterProfile, names::LABEL_MEMBER_ID},
};

use super::play_of_conflicts;
use crate::{
    shared::consumer::inviting,
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
    let claims = &play.stage.consumer;
    for subject in play.subjects() {
        let invites =
            |profile: &ClusterProfile| is_empty(profile) && inviting(profile, claims).next().is_some();
        let held = subject.timeline.while_(invites);
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
        match play.set_out_for_profile(subject, &urls, until) {
            Ok(true) => findings.examine(),
            Ok(false) => {
                findings.examine();
                let message = "the consumer takes profiles without an identity for one member";
                findings.report(
                    Finding::on(subject.last, message)
                        .at("metadata.labels[multicluster.x-k8s.io/inventory-member-id]")
                        .expected("calls for each profile whose identity is empty")
                        .observed("no call"),
                );
            }
            Err(why) => findings.cannot_tell(why),
        }
    }
}
