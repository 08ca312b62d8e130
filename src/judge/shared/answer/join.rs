//! What came of a join.

use evidence::{DriverStep, Evidence, ObjectRef};

use super::{Answer, Span, member, timeline};
use crate::subjects::{Finding, Findings};

/// The reason for no verdict on a profile that was not seen.
const ELSEWHERE: &str = "only some namespaces were watched, and the member's profile may be in another";

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
        // A manager chooses the namespace, and those outside of the scope were not watched.
        None if !evidence.header.scope.namespaces.is_empty() => Answer::Unknown(ELSEWHERE.into()),
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
