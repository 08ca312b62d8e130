//! Profiles of other managers.

use evidence::{DriverAction, Evidence, ObjectRef, Scenario, api::ClusterProfile};

use crate::rules::{
    answer::{ExecutedStep, Span, State, executed, to_the_second},
    authors::{authors, by, deletion, judged_writers, writers, writes_judged},
    finding::{Finding, Findings},
};

/// `lifecycle/foreign-profiles-untouched`
///
/// The manager does not change or delete profiles of other managers.
///
/// The implementation is identified by the field managers and users that write the judged profiles. A change by anyone
/// else is only a warning.
pub(in crate::rules) fn foreign_profiles_untouched(evidence: &Evidence, findings: &mut Findings) {
    for put in executed(
        evidence,
        findings,
        Scenario::Foreigner,
        DriverAction::PutForeigner,
    ) {
        let span = Span::of(evidence, put.step);
        let found: Vec<Finding> = touches(evidence, &put, &span);
        match span.doubt(Some(put.profile)) {
            Some(doubt) if found.iter().all(|finding| finding.advisory) => findings.cannot_tell(doubt),
            _ => findings.examine(),
        }
        found.into_iter().for_each(|finding| findings.report(finding));
    }
}

/// Changes to a profile that the run created as another manager's: at most one change, and the deletion.
fn touches(evidence: &Evidence, put: &ExecutedStep, span: &Span) -> Vec<Finding> {
    // When it stops looking, the run itself may delete the profile.
    let seen = |state: &&State| span.from <= state.at && state.at < span.looked;
    let states: Vec<&State> = put.states.iter().filter(seen).collect();
    let Some(first) = states.first().and_then(|state| state.profile) else {
        return Vec::new();
    };
    let (own, theirs) = (writers(first), judged_writers(evidence));
    let (mut change, mut deleted) = (None, None);
    for pair in states.windows(2) {
        let (Some(before), after) = (pair[0].profile, pair[1]) else {
            continue;
        };
        let going = |profile: &ClusterProfile| profile.metadata.deletion_timestamp.is_some();
        match after.profile {
            Some(profile) if going(before) || !going(profile) => {
                let authors = authors(before, profile);
                let is_own = after.at <= put.step.until || (!authors.is_empty() && authors.is_subset(&own));
                if let Some(path) = changed(before, profile).filter(|_| !is_own && change.is_none()) {
                    let finding = Finding::on(profile, "a profile of another manager was changed")
                        .at(path)
                        .expected(span.untouched())
                        .observed(format!("changed at {}{}", to_the_second(after.at), by(&authors)));
                    let proven = authors.is_empty() || !authors.is_disjoint(&theirs);
                    change = Some(if proven { finding } else { finding.advisory() });
                }
            }
            _ if going(before) => {}
            _ => deleted = deleted.or_else(|| deletion_of(evidence, before, after, span)),
        }
    }
    change.into_iter().chain(deleted).collect()
}

fn deletion_of(evidence: &Evidence, before: &ClusterProfile, gone: &State, span: &Span) -> Option<Finding> {
    let object = ObjectRef::from(before);
    let request = deletion(evidence, &object, gone.at.as_microsecond());
    if request.is_some_and(|request| request.is_the_suites()) {
        return None;
    }
    let user = request.map(|request| &*request.user);
    let finding = Finding::on(object, "a profile of another manager was deleted")
        .at("metadata.name")
        .expected(span.untouched())
        .observed(format!(
            "deleted at {}{}",
            to_the_second(gone.at),
            by(&user.into_iter().collect())
        ));
    let proven = user.is_none_or(|user| writes_judged(evidence, user));
    Some(if proven { finding } else { finding.advisory() })
}

/// The part in which two versions differ. A hub may rewrite a profile in storage without a change.
fn changed(before: &ClusterProfile, after: &ClusterProfile) -> Option<&'static str> {
    if before.spec != after.spec {
        Some("spec")
    } else if before.metadata.labels != after.metadata.labels {
        Some("metadata.labels")
    } else if before.status != after.status {
        Some("status")
    } else if before.metadata.writers != after.metadata.writers {
        Some("metadata")
    } else {
        None
    }
}
