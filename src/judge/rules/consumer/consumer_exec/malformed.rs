//! A profile that cannot be used, beside others that can.

use evidence::{Evidence, api::ClusterProfile};

use crate::{
    shared::consumer::{Play, held_throughout, is_malformed, known},
    subjects::{Finding, Findings},
};

/// `consumer-exec/malformed-isolated`
///
/// While a profile has an access provider that cannot be used, the consumer goes on to reach the members of others.
pub(in crate::rules) fn malformed_isolated(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = Play::of(evidence, findings) else {
        return;
    };
    findings.nothing_happened("no profile was staged that is malformed");
    let claims = &play.stage.consumer;
    let has_malformed = |profile: &ClusterProfile| known(profile, claims).any(is_malformed);
    for subject in play.subjects() {
        let held = subject.timeline.while_(has_malformed);
        for scene in &play.stage.scenes {
            let (from, until) = (scene.from.as_microsecond(), scene.until.as_microsecond());
            let is_long = until.saturating_sub(from) >= play.settle.saturating_mul(2);
            if !is_long || !held_throughout(&held, from, until) {
                continue;
            }
            findings.examine();
            if scene.called.is_none() {
                findings.report(
                    Finding::on(
                        subject.last,
                        "a malformed profile keeps the consumer from other members",
                    )
                    .at("status.accessProviders")
                    .expected("a call of the member of a profile beside it")
                    .observed(format!("no call from {} to {}", scene.from, scene.until)),
                );
            }
        }
    }
}
