//! The writers of a slice.

use std::collections::BTreeSet;

use evidence::api::{PlacementDecision, names};

use crate::{
    engine::{Answer, Attribution, Author, Hub, Write, Writes},
    subjects::Finding,
    text::listed,
    time::timestamp,
};

/// `placement-ownership/one-writer`
///
/// The scheduler writes no slice of another scheduler, and no other program changes what it publishes in its own. Edits with
/// kubectl do not count. Writes of other programs are warnings: a scheduler cannot prevent them. If the configured name of
/// the scheduler is misspelt, any program may be the scheduler.
pub(in crate::rules) fn one_writer(writes: &Writes<'_, '_, PlacementDecision>, hub: &Hub) -> Answer {
    let creator = writes.creator("schedulerName");
    let answer = match creator.author {
        Author::Run => Answer::NotApplicable,
        Author::Other => writes.unless_missed(of_another_scheduler(writes, &creator, hub)),
        Author::Implementation | Author::Unknown(_) => {
            writes.unless_missed(of_implementation(writes, &creator))
        }
    };
    let is_misspelt = hub.slice_authors().why_misspelt().is_some();
    match creator.author {
        Author::Unknown(reason) if is_misspelt && answer == Answer::Kept => Answer::Unknown(reason),
        _ => answer,
    }
}

/// The answer about a slice that another program created: the scheduler does not write it. Under the scheduler's own name, the
/// program may be the scheduler's former account.
fn of_another_scheduler(
    writes: &Writes<'_, '_, PlacementDecision>,
    creator: &Attribution<'_>,
    hub: &Hub,
) -> Answer {
    let own = writes.authored().own;
    let published: Vec<&Write<PlacementDecision>> =
        own.into_iter().filter(|write| changes_published(write)).collect();
    let Some(finding) = written_by(writes, &published, &creator.names) else {
        return Answer::NotApplicable;
    };
    let scheduler = hub.evidence.header.scope.scheduler.as_deref();
    let first = writes.versions().next().map_or("", PlacementDecision::scheduler);
    if !first.is_empty() && scheduler.is_some_and(|scheduler| scheduler != first) {
        Answer::broken(finding)
    } else {
        Answer::warning(finding)
    }
}

/// The answer about a slice that the scheduler created, or that may be its own.
fn of_implementation(writes: &Writes<'_, '_, PlacementDecision>, creator: &Attribution<'_>) -> Answer {
    let published = writes.all().iter().filter(|write| changes_published(write));
    let published: Vec<(&Write<PlacementDecision>, Attribution)> =
        published.map(|write| (write, writes.author(write))).collect();
    let first = published
        .first()
        .map(|(_, attribution)| attribution.names.clone());
    let owner = match &creator.names {
        names if names.is_empty() => first.unwrap_or_default(),
        names => names.clone(),
    };
    let is_others = |attribution: &Attribution| match attribution.author {
        Author::Implementation | Author::Run => false,
        Author::Other => !attribution.is_kubectl_or_hub,
        // Two programs write the slice, so at most one is the scheduler.
        Author::Unknown(_) => !attribution.names.is_empty() && attribution.names.is_disjoint(&owner),
    };
    let of_others = published.iter().filter(|(_, attribution)| is_others(attribution));
    let of_others: Vec<&Write<PlacementDecision>> = of_others.map(|(write, _)| *write).collect();
    let is_written = written_by(writes, &of_others, &owner).map_or(Answer::Kept, Answer::warning);
    is_written.and(deleted_by_others(writes, &owner))
}

/// A warning if another program deleted the slice.
fn deleted_by_others(writes: &Writes<'_, '_, PlacementDecision>, owner: &BTreeSet<&str>) -> Answer {
    let Some((deleter, at)) = writes.deletion() else {
        return Answer::NotApplicable;
    };
    if deleter.author != Author::Other || deleter.is_kubectl_or_hub {
        return Answer::Kept;
    }
    let message = "a slice is deleted by others than its scheduler";
    let finding = Finding::at_path("metadata.deletionTimestamp", message)
        .expected(format!("a deletion by {} alone", listed(owner)))
        .observed(format!("by {}, at {}", listed(&deleter.names), timestamp(at)));
    Answer::warning(finding)
}

/// The finding on writes of a slice that is another program's; none without such writes.
fn written_by<'e>(
    writes: &Writes<'_, 'e, PlacementDecision>,
    published: &[&Write<'e, PlacementDecision>],
    owner: &BTreeSet<&str>,
) -> Option<Finding> {
    let first = timestamp(published.first()?.reported);
    let message = "a slice is written by others than its scheduler";
    let finding = Finding::at_path("metadata.resourceVersion", message)
        .expected(format!("writes by {} alone", listed(owner)))
        .observed(format!("{}, first at {first}", writes.tally(published)));
    Some(finding)
}

/// Whether a write changes what a scheduler publishes.
fn changes_published(write: &Write<PlacementDecision>) -> bool {
    let Some((before, after)) = write.versions() else {
        return false;
    };
    let (before, after) = (&before.object, &after.object);
    let published_labels = |slice: &PlacementDecision| -> Vec<(String, String)> {
        let labels = slice.metadata.labels.iter();
        labels
            .filter(|(key, _)| key.starts_with(names::GROUP))
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    };
    before.decisions != after.decisions
        || before.scheduler_name != after.scheduler_name
        || published_labels(before) != published_labels(after)
}
