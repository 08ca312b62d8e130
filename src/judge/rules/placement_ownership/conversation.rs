//! Marks that other programs than the scheduler leave on a slice.

use std::collections::BTreeSet;

use evidence::{
    Evidence, ObjectRef,
    api::{PlacementDecision, Writer, names},
};

use crate::{
    shared::placement::each_version,
    subjects::{Finding, Findings},
    text::redacted,
    who::{
        authors::{is_actor, is_program},
        publisher::publishers_of,
    },
};

/// `placement-ownership/not-a-conversation`
///
/// No program but the scheduler has labels, annotations or finalizers on a slice.
///
/// Where the user did not name the scheduler's field managers, those that own what a scheduler publishes, on some slice, may
/// be its. Labels of the API's own group are the matter of `placement-ownership/one-writer`.
pub(in crate::rules) fn not_a_conversation(evidence: &Evidence, findings: &mut Findings) {
    let named = &evidence.header.claim.scheduler.field_managers;
    let mut own: BTreeSet<&str> = named.iter().map(String::as_str).collect();
    if own.is_empty() {
        let versions = evidence.slice_histories().flat_map(|history| &history.versions);
        own.extend(versions.flat_map(|version| publishers_of(&version.object)));
    }
    each_version(evidence, findings, |slice| {
        // Somebody else's mark is one only where the scheduler is known.
        writers(slice).iter().find(|writer| publishes(writer))?;
        let others = writers(slice)
            .iter()
            .filter(|writer| is_program(&writer.manager) && !own.contains(&*writer.manager));
        let marks = others.flat_map(|writer| {
            let parts = writer.owns.iter().filter(|part| is_mark(part));
            parts.map(move |part| mark(slice, writer, part))
        });
        Some(marks.collect())
    });
    if findings.examined == 0 {
        findings.not_applicable("no slice tells in managedFields who owns its decisions");
    }
}

fn writers(slice: &PlacementDecision) -> &[Writer] {
    slice.metadata.writers.as_deref().unwrap_or_default()
}

fn publishes(writer: &Writer) -> bool {
    is_actor(&writer.manager) && writer.owns.iter().any(|part| &**part == "decisions")
}

/// Whether a part says something that is not the decision.
fn is_mark(part: &str) -> bool {
    let label = part.strip_prefix("metadata.labels[");
    part == "metadata.finalizers"
        || part.starts_with("metadata.annotations[")
        || label.is_some_and(|key| !key.starts_with(names::GROUP))
}

fn mark(slice: &PlacementDecision, writer: &Writer, part: &str) -> Finding {
    let by = redacted(&writer.manager);
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
