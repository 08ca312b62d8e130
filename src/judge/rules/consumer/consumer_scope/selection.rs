//! Profiles that the consumer does not select.

use evidence::{Evidence, Kind, api::ClusterProfile};

use crate::{
    rules::consumer::support::testbed::{Play, UNSEEN, call_in_words},
    subjects::{Finding, Findings},
};

/// `consumer-scope/selection-kept`
///
/// The consumer calls no member of a profile that is in none of its namespaces, or lacks its labels.
pub(in crate::rules) fn selection_kept(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = Play::of(evidence, findings) else {
        return;
    };
    findings.nothing_happened("no profile was staged that the consumer does not select");
    for subject in play.subjects() {
        let is_selected = |profile: &ClusterProfile| play.is_selected(profile);
        let held = subject.timeline.while_(|profile| !is_selected(profile));
        let urls = play.own_servers(subject);
        if urls.is_empty() {
            continue;
        }
        let permitted = subject.timeline.while_(is_selected);
        let Some(call) = play.call_against(subject, &urls, &held, &permitted) else {
            if play.may_be_against(subject, &urls, &held) {
                findings.cannot_tell(UNSEEN);
            } else if play.chance(&held).is_some() {
                match play.why_missed(Kind::MemberCalls) {
                    None => findings.examine(),
                    Some(why) => findings.cannot_tell(why),
                }
            }
            continue;
        };
        findings.examine();
        let message = "the consumer acts on a profile that it does not select";
        findings.report(
            Finding::on(subject.last, message)
                .at("metadata")
                .expected("calls for profiles of its namespaces and with its labels alone")
                .observed(call_in_words(call)),
        );
    }
}
