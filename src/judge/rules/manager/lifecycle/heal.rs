//! What the profile of a member tells once the member is back.

use std::collections::HashMap;

use evidence::{
    DriverAction, Evidence, Scenario,
    api::{ClusterProfile, no_longer_told},
};

use crate::{
    shared::answer::{Shortfall, Span, executed},
    subjects::Findings,
    text::redacted,
};

/// At most so many of the lost fields are told.
const TOLD: usize = 5;

/// `lifecycle/heal-restores-status`
///
/// After an outage, the profile tells again what it told before.
///
/// Whether the member is healthy is the matter of `conditions/healthy-follows-outage`.
pub(in crate::rules) fn heal_restores_status(evidence: &Evidence, findings: &mut Findings) {
    let mut before: HashMap<&str, &ClusterProfile> = HashMap::new();
    for broken in executed(evidence, findings, Scenario::Outage, DriverAction::Break) {
        let span = Span::of(evidence, broken.step);
        if let Some(doubt) = span.missed_before(Some(broken.profile), span.from) {
            findings.cannot_tell(doubt);
            continue;
        }
        match broken.before() {
            Some(profile) => _ = before.insert(&broken.step.member, profile),
            None => findings.cannot_tell(format!("{} was not there before the outage", broken.profile)),
        }
    }
    for healed in executed(evidence, findings, Scenario::Outage, DriverAction::Heal) {
        let Some(before) = before.get(healed.step.member.as_str()) else {
            continue;
        };
        healed.judge(
            evidence,
            findings,
            |profile| profile.is_some_and(|profile| no_longer_told(before, profile).is_empty()),
            |profile| {
                let lost = profile.map_or_else(Vec::new, |profile| no_longer_told(before, profile));
                Shortfall {
                    message: "a member is back, but its profile lacks what it reported before",
                    path: redacted(lost.first().map_or("status", String::as_str)),
                    expected: "what the profile reported before the outage".to_owned(),
                    observed: describe(&lost),
                }
            },
        );
    }
}

fn describe(lost: &[String]) -> String {
    if lost.is_empty() {
        return "no profile".to_owned();
    }
    let told: Vec<&str> = lost.iter().take(TOLD).map(String::as_str).collect();
    let more = match lost.len() - told.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    redacted(&format!("no {}{more}", told.join(", ")))
}
