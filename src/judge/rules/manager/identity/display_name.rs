//! The display name, which is the consumer's.

use evidence::{DriverAction, Evidence, Scenario};

use crate::{
    shared::answer::{Span, did, executed, to_the_second},
    subjects::{Finding, Findings},
    text::{by, redacted_or_absent},
    who::authors::authors,
};

/// `identity/display-name-kept`
///
/// The manager does not overwrite a display name that a consumer set.
pub(in crate::rules) fn display_name_kept(evidence: &Evidence, findings: &mut Findings) {
    for set in executed(
        evidence,
        findings,
        Scenario::Tampering,
        DriverAction::SetDisplayName,
    ) {
        let change = set.step.change.clone().unwrap_or_default();
        let Some(wanted) = change.after else {
            findings.cannot_tell(format!("{} does not record what it changed", did(set.step)));
            continue;
        };
        let name = |profile: &evidence::api::ClusterProfile| profile.spec.display_name.clone();
        let is_wanted = |profile: &_| name(profile).as_ref() == Some(&wanted);
        let span = Span::of(evidence, set.step);
        let Some(set) = set.since(findings, is_wanted) else {
            continue;
        };
        let seen: Vec<_> = set
            .states
            .iter()
            .take_while(|state| state.at < span.looked)
            .collect();
        let mut lost = seen
            .windows(2)
            .filter_map(|pair| match (pair[0].object, pair[1].object) {
                (Some(before), Some(after)) => (!is_wanted(after)).then_some((before, after, pair[1].at)),
                _ => None,
            });
        if let Some((before, after, at)) = lost.next() {
            findings.examine();
            findings.report(
                Finding::on(after, "a consumer's display name was overwritten")
                    .at("spec.displayName")
                    .expected(redacted_or_absent(Some(&wanted)))
                    .observed(format!(
                        "{} from {} on{}",
                        redacted_or_absent(name(after).as_deref()),
                        to_the_second(at),
                        by(&authors(before, after))
                    )),
            );
        } else if seen.iter().any(|state| state.object.is_none()) {
            findings.cannot_tell(format!("{} was deleted after {}", set.profile, did(set.step)));
        } else if let Some(doubt) = span.doubt(Some(set.profile)) {
            findings.cannot_tell(doubt);
        } else {
            findings.examine();
        }
    }
}
