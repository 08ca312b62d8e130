//! A profile that cannot be used, beside others that can.

use evidence::{Evidence, Kind, Scene, api::ClusterProfile};

use crate::{
    shared::consumer::{Play, held_throughout, is_malformed},
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
    let has_malformed = |profile: &ClusterProfile| profile.access().any(is_malformed);
    let scenes = &play.stage.scenes;
    for subject in play.subjects() {
        let held = subject.timeline.while_(has_malformed);
        let not_held = held.not();
        let is_beside =
            |scene: &Scene| held_throughout(&held, scene.from.as_microsecond(), scene.until.as_microsecond());
        for (place, scene) in scenes.iter().enumerate() {
            let lasted = scene
                .until
                .as_microsecond()
                .saturating_sub(scene.from.as_microsecond());
            if lasted < play.settle.saturating_mul(2) || !is_beside(scene) {
                continue;
            }
            if scene.called.is_some() {
                findings.examine();
                continue;
            }
            // Only if the consumer went on until the profile came, or else once it was gone, was it the profile.
            let mut before = scenes[..place].iter().rev();
            let before = before.find(|scene| scene.called.is_some() || !is_beside(scene));
            let goes_on_without = |scene: &Scene| {
                let called = scene.called.map(|called| called.as_microsecond());
                called.is_some_and(|called| {
                    subject.is_to_come(called)
                        || held_throughout(&not_held, scene.from.as_microsecond(), called)
                })
            };
            let is_the_cause =
                before.map_or_else(|| scenes[place..].iter().any(goes_on_without), goes_on_without);
            if let Some(why) = play.why_missed(Kind::MemberCalls) {
                findings.cannot_tell(why);
            } else if !is_the_cause {
                findings
                    .cannot_tell("the consumer reached no other member without the malformed profile either");
            } else {
                findings.examine();
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
