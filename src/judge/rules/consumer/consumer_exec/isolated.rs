//! What may keep a consumer from members that have nothing to do with it.

use evidence::{Kind, ScenarioRun, api::ClusterProfile};

use crate::{
    rules::consumer::support::{testbed::Play, time::Micros},
    subjects::{Finding, Findings},
};

/// Something that may keep a consumer from other members.
pub(super) struct Hindrance<'h, 'e> {
    /// What it is, for people.
    pub(super) what: &'static str,
    /// The profile that brought it.
    pub(super) profile: &'e ClusterProfile,
    /// Whether it was there beside the control of the scene of that number.
    pub(super) is_beside: &'h dyn Fn(usize, &ScenarioRun) -> bool,
    /// Whether the consumer called the control of the scene of that number, at that moment, without it.
    pub(super) goes_on_without: &'h dyn Fn(usize, &ScenarioRun, Micros) -> bool,
}

impl Hindrance<'_, '_> {
    /// Judges each scene beside which it was, and which lasted for twice the time that the consumer may take: it has to do with
    /// the hindrance first.
    pub(super) fn judge(&self, play: &Play<'_>, findings: &mut Findings) {
        let scenarios = &play.testbed.scenarios;
        let goes_on_without = |place: usize| {
            let called = scenarios[place].called_at.map(|called| called.as_microsecond());
            called.is_some_and(|called| (self.goes_on_without)(place, &scenarios[place], called))
        };
        for (place, scene) in scenarios.iter().enumerate() {
            let lasted = scene
                .until
                .as_microsecond()
                .saturating_sub(scene.from.as_microsecond());
            if lasted < play.settle.saturating_mul(2) || !(self.is_beside)(place, scene) {
                continue;
            }
            if scene.called_at.is_some() {
                findings.examine();
                continue;
            }
            // Only if the consumer went on until the hindrance came, or else once it was gone, was that the cause.
            let before = (0..place).rev();
            let mut before = before.filter(|place| {
                scenarios[*place].called_at.is_some() || !(self.is_beside)(*place, &scenarios[*place])
            });
            let is_the_cause = match before.next() {
                Some(before) => goes_on_without(before),
                None => (place..scenarios.len()).any(goes_on_without),
            };
            if let Some(why) = play.why_missed(Kind::MemberCalls) {
                findings.cannot_tell(why);
            } else if !is_the_cause {
                findings.cannot_tell(format!(
                    "the consumer reached no other member without the {} either",
                    self.what
                ));
            } else {
                findings.examine();
                findings.report(
                    Finding::on(
                        self.profile,
                        format!("a {} keeps the consumer from other members", self.what),
                    )
                    .at("status.accessProviders")
                    .expected("a call of the member of a profile beside it")
                    .observed(format!("no call from {} to {}", scene.from, scene.until)),
                );
            }
        }
    }
}
