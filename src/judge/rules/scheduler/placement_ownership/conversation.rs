//! Marks that other programs than the scheduler leave on a slice.

use evidence::{
    Evidence, ObjectRef,
    api::{PlacementDecision, names},
};

use crate::{
    shared::placement::each_version,
    subjects::{Finding, Findings},
    text::redacted,
    who::{Entry, Publishing, authors::is_program, entries},
};

/// `placement-ownership/not-a-conversation`
///
/// No program but the scheduler has labels, annotations or finalizers on a slice.
///
/// Where the user did not name the scheduler's field managers, those that own what a scheduler publishes, on some slice, may
/// be its. Labels of the API's own group are the matter of `placement-ownership/one-writer`.
pub(in crate::rules) fn not_a_conversation(evidence: &Evidence, findings: &mut Findings) {
    let own = Publishing::of(evidence, evidence.slice_histories());
    each_version(evidence, findings, |slice| {
        // Somebody else's mark is one only where the scheduler is known.
        entries(slice).find(|entry| publishes(*entry))?;
        let others = entries(slice).filter(|entry| is_program(entry.by()) && !own.holds(entry.by()));
        let marks = others.flat_map(|entry| {
            let parts = entry.parts().filter(|part| is_mark(part));
            parts.map(move |part| mark(slice, entry.by(), part))
        });
        Some(marks.collect())
    });
    if findings.examined == 0 {
        findings.not_applicable("no slice shows in managedFields who owns its decisions");
    }
}

fn publishes(entry: Entry) -> bool {
    entry.is_an_actors() && entry.owned(|part| part == "decisions").is_some()
}

/// Whether a part says something that is not the decision.
fn is_mark(part: &str) -> bool {
    let label = part.strip_prefix("metadata.labels[");
    part == "metadata.finalizers"
        || part.starts_with("metadata.annotations[")
        || label.is_some_and(|key| !key.starts_with(names::GROUP))
}

fn mark(slice: &PlacementDecision, by: &str, part: &str) -> Finding {
    let by = redacted(by);
    let observed = match part {
        "metadata.finalizers" => format!("{}, set by {by}", slice.metadata.finalizers.join(", ")),
        _ => format!("set by {by}"),
    };
    Finding::on(
        ObjectRef::from(slice),
        "another program than the scheduler leaves a mark on a slice",
    )
    .at(part)
    .expected("nothing but what the scheduler sets")
    .observed(observed)
}
