//! Profiles of one member in several inventories.

use evidence::Evidence;

use super::{PATH, play_of_conflicts};
use crate::{
    rules::consumer::support::testbed::{expect_call, standings},
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
    for standing in standings(&play) {
        let subject = standing.subject;
        let alone = standing.is_first().and(&standing.has_younger.not());
        let held = alone
            .and(&standing.is_elsewhere)
            .and(&subject.timeline.while_(|profile| play.invites(profile)));
        let urls = play.own_servers(subject);
        let Some((_, until)) = play.chance(&held).filter(|_| !urls.is_empty()) else {
            continue;
        };
        expect_call(play.set_out_for_profile(subject, &urls, until), findings, || {
            let message = "a profile of another inventory keeps the consumer from a member";
            Finding::on(subject.last, message)
                .at(PATH)
                .expected("calls for the profile of the inventory that the consumer reads")
                .observed("no call")
        });
    }
}
