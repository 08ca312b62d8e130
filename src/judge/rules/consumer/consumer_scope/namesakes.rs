//! Profiles of one name in several namespaces, which are several inventories.

use evidence::{Evidence, api::ClusterProfile};

use crate::{
    shared::consumer::{Play, Subject},
    subjects::{Finding, Findings},
    text::counted,
    time::Micros,
};

/// So many connections more than twice those to any other member tell that the consumer goes to and fro.
const BY_CHANCE: usize = 3;

/// `consumer-scope/namespaces-apart`
///
/// Profiles of one name in two namespaces are two: the consumer acts on each, and does not give one up for the other.
pub(in crate::rules) fn namespaces_apart(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = Play::of(evidence, findings) else {
        return;
    };
    findings.nothing_happened("no two profiles of one name were in namespaces that the consumer reads");
    let invites = |profile: &ClusterProfile| play.invites(profile);
    for subject in play.subjects() {
        let name = &subject.last.metadata.name;
        let others = play.subjects().iter();
        let mut others =
            others.filter(|other| !std::ptr::eq(*other, subject) && other.last.metadata.name == *name);
        let held = subject.timeline.while_(invites);
        let span = others.find_map(|other| play.chance(&held.and(&other.timeline.while_(invites))));
        let urls = play.own_servers(subject);
        let Some((from, until)) = span.filter(|_| !urls.is_empty()) else {
            continue;
        };
        let finding = |message: &str| {
            Finding::on(subject.last, message)
                .at("metadata.namespace")
                .expected("a connection for the profile of each namespace")
        };
        match play.set_out_for_profile(subject, &urls, until) {
            Ok(true) => {
                findings.examine();
                let own = play.connections_in(&urls, (from, until)).count();
                let usual = usual(&play, subject, (from, until));
                if own > usual.saturating_mul(2).saturating_add(BY_CHANCE) {
                    let message = "the consumer takes profiles of one name in turns";
                    findings.report(finding(message).observed(format!(
                        "{}, and {} at most for any other profile",
                        counted(own, "connection"),
                        counted(usual, "connection")
                    )));
                }
            }
            Ok(false) => {
                findings.examine();
                let message = "the consumer takes profiles of one name in two namespaces for one";
                findings.report(finding(message).observed("no call"));
            }
            Err(why) => findings.cannot_tell(why),
        }
    }
}

/// The most connections for a profile of another name, in a closed span.
fn usual(play: &Play<'_>, subject: &Subject<'_>, span: (Micros, Micros)) -> usize {
    let others = play.subjects().iter();
    let others = others.filter(|other| other.last.metadata.name != subject.last.metadata.name);
    let counts = others.map(|other| play.connections_in(&play.own_servers(other), span).count());
    counts.max().unwrap_or(0)
}
