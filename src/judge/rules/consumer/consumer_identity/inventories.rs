//! Profiles of one member in several inventories.

use evidence::{Evidence, api::ClusterProfile};

use super::play_of_conflicts;
use crate::{
    shared::consumer::{inviting, standings},
    subjects::{Finding, Findings},
};

/// `consumer-identity/other-inventories-stay`
///
/// A profile of an inventory that the consumer does not read keeps it from nothing: it acts on the one that it reads.
pub(in crate::rules) fn other_inventories_stay(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = play_of_conflicts(evidence, findings) else {
        return;
    };
    findings.nothing_happened(
        "no profile had the identity of one in a namespace that the consumer does not read",
    );
    let claims = &play.stage.consumer;
    let invites = |profile: &ClusterProfile| inviting(profile, claims).next().is_some();
    for standing in standings(&play) {
        let subject = standing.subject;
        let alone = standing.is_first().and(&standing.has_younger.not());
        let held = alone
            .and(&standing.is_elsewhere)
            .and(&subject.timeline.while_(invites));
        let urls = play.own_servers(subject);
        let Some((_, until)) = play.chance(&held).filter(|_| !urls.is_empty()) else {
            continue;
        };
        match play.set_out_for_profile(subject, &urls, until) {
            Ok(true) => findings.examine(),
            Ok(false) => {
                findings.examine();
                let message = "a profile of another inventory keeps the consumer from a member";
                findings.report(
                    Finding::on(subject.last, message)
                        .at("metadata.labels[multicluster.x-k8s.io/inventory-member-id]")
                        .expected("calls for the profile of the inventory that the consumer reads")
                        .observed("no call"),
                );
            }
            Err(why) => findings.cannot_tell(why),
        }
    }
}
