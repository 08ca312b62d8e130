//! What came of a join.

use evidence::{DriverStep, Evidence, ObjectRef};

use super::{Answer, Span, member, timeline};
use crate::subjects::{Finding, Findings};

/// Judges whether a join created a profile in time, and returns that profile.
pub(crate) fn joined_profile<'a>(
    evidence: &'a Evidence,
    findings: &mut Findings,
    step: &'a DriverStep,
) -> Option<&'a ObjectRef> {
    let span = Span::of(evidence, step);
    let answer = match &step.profile {
        Some(profile) => {
            let Some(timeline) = timeline(evidence, profile) else {
                findings.cannot_tell(format!("the watch never showed {profile}"));
                return None;
            };
            span.answer(profile, &timeline, |profile| profile.is_some())
        }
        None => span.doubt(None).map_or(Answer::Missing, Answer::Unknown),
    };
    match answer {
        Answer::Unknown(reason) => {
            findings.cannot_tell(reason);
            None
        }
        Answer::Given => {
            findings.examine();
            step.profile.as_ref()
        }
        Answer::Missing => {
            findings.examine();
            let object = step.profile.clone().unwrap_or_else(|| member(step));
            findings.report(
                Finding::on(object, "a member that joined has no profile")
                    .at("metadata.name")
                    .expected(span.within("a profile"))
                    .observed(span.in_the_end("none")),
            );
            None
        }
    }
}
