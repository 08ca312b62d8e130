//! How and by whom slices are written: the suites `placement-ownership` and `placement-updates`.

use std::collections::BTreeSet;

use evidence::Request;

use crate::{
    engine::{Attribution, Author},
    rules::prelude::*,
    text::listed,
};

type SliceWrites<'w, 'e> = Writes<'w, 'e, PlacementDecision>;
type SliceWrite<'e> = Write<'e, PlacementDecision>;

/// `placement-updates/no-empty-writes`: the scheduler sends no two updates of a slice that leave it as it was.
pub(crate) fn no_empty_writes(writes: &SliceWrites, _: &Hub) -> Answer {
    let message = "the slice is written without a change";
    let finding = Finding::at_path("metadata.resourceVersion", message);
    let finding = finding.expected("writes only if the slice changed");
    match writes.of_updates().each_changes_something(finding) {
        Answer::Warning(_) => Answer::Kept,
        answer => answer,
    }
}

/// Whether the audit log shows if an update changed anything.
pub(crate) fn shows_effect(request: &Request) -> bool {
    !matches!(&*request.verb, "update" | "patch") || request.changed.is_some()
}

/// `placement-ownership/one-writer`: the scheduler writes no slice of another scheduler, and no other program changes
/// what it publishes in its own. Edits with kubectl do not count. Writes of other programs are warnings: a scheduler
/// cannot prevent them. If the configured name of the scheduler is misspelt, any program may be the scheduler.
pub(crate) fn one_writer(writes: &SliceWrites, hub: &Hub) -> Answer {
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
fn of_another_scheduler(writes: &SliceWrites, creator: &Attribution<'_>, hub: &Hub) -> Answer {
    let own = writes.authored().own.into_iter();
    let published: Vec<&SliceWrite> = own.filter(|write| changes_published(write)).collect();
    let Some(finding) = written_by(writes, &published, &creator.names) else {
        return Answer::NotApplicable;
    };
    let scheduler = hub.evidence.header.scope.scheduler.as_deref();
    let first = writes.versions().next().map_or("", PlacementDecision::scheduler);
    let has_other_name = !first.is_empty() && scheduler.is_some_and(|scheduler| scheduler != first);
    Answer::all([finding.advisory_unless(has_other_name)])
}

/// The answer about a slice that the scheduler created, or that may be its own.
fn of_implementation(writes: &SliceWrites, creator: &Attribution<'_>) -> Answer {
    let published = writes.all().iter().filter(|write| changes_published(write));
    let published: Vec<(&SliceWrite, Attribution)> =
        published.map(|write| (write, writes.author(write))).collect();
    let first = published.first().map(|(_, attribution)| &attribution.names);
    let owner = match &creator.names {
        names if names.is_empty() => first.unwrap_or(names),
        names => names,
    };
    let is_others = |attribution: &Attribution| match attribution.author {
        Author::Implementation | Author::Run => false,
        Author::Other => !attribution.is_kubectl_or_hub,
        // Two programs write the slice, so at most one is the scheduler.
        Author::Unknown(_) => !attribution.names.is_empty() && attribution.names.is_disjoint(owner),
    };
    let of_others = published.iter().filter(|(_, attribution)| is_others(attribution));
    let of_others: Vec<&SliceWrite> = of_others.map(|(write, _)| *write).collect();
    let is_written = written_by(writes, &of_others, owner).map_or(Answer::Kept, Answer::warning);
    is_written.and(deleted_by_others(writes, owner))
}

/// A warning if another program deleted the slice.
fn deleted_by_others(writes: &SliceWrites, owner: &BTreeSet<&str>) -> Answer {
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
    writes: &SliceWrites<'_, 'e>,
    published: &[&SliceWrite<'e>],
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
fn changes_published(write: &SliceWrite) -> bool {
    let Some((before, after)) = write.versions() else {
        return false;
    };
    let (before, after) = (&before.object, &after.object);
    let published_labels = |slice: &PlacementDecision| -> Vec<(String, String)> {
        let labels = slice.metadata.labels.iter();
        let published = labels.filter(|(key, _)| key.starts_with(GROUP));
        published
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    };
    before.decisions != after.decisions
        || before.scheduler_name != after.scheduler_name
        || published_labels(before) != published_labels(after)
}
