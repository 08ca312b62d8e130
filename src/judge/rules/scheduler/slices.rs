//! Single slices, who writes them, and the profiles that they name: the suites `placement-labels`, `placement-references`,
//! `placement-ownership`, and `placement-updates`.

use evidence::{
    api::{
        ClusterDecision, ClusterProfileReference, OwnerReference,
        syntax::{is_dns_label, is_dns_subdomain},
    },
    leak::leaks_in_text,
};

use super::decisions::parse_index;
use crate::{engine::ProfileReference, rules::prelude::*, text::misspelled};

/// `placement-slices/size`
pub(crate) fn size(slice: &PlacementDecision, _: &Hub) -> Answer {
    let count = slice.clusters().len();
    Answer::broken_if(count > LARGEST_SLICE, || {
        Finding::at_field("decisions", format!("{count} clusters"))
    })
}

/// `placement-slices/decisions-present`
pub(crate) fn decisions_present(slice: &PlacementDecision, _: &Hub) -> Answer {
    Answer::broken_if(slice.decisions.is_none(), || {
        Finding::at_field("decisions", ABSENT)
    })
}

/// `placement-slices/index-is-number`
pub(crate) fn index_is_number(slice: &PlacementDecision, _: &Hub) -> Answer {
    let Some(index) = slice.label(LABEL_DECISION_INDEX) else {
        return Answer::NotApplicable;
    };
    Answer::broken_if(parse_index(index).is_none(), || {
        Finding::at_field(label_path(LABEL_DECISION_INDEX), index)
    })
}

/// `placement-lifecycle/owner-collects`
pub(crate) fn owner_collects(slice: &PlacementDecision, _: &Hub) -> Answer {
    const OWNERS: &str = "metadata.ownerReferences";
    let owners = &slice.metadata.owner_references;
    let is_profile =
        |owner: &&OwnerReference| *owner.kind == *KIND && owner.api_version.split('/').next() == Some(GROUP);
    let Some(profile) = owners.iter().find(is_profile) else {
        return Answer::broken_if(owners.is_empty(), || Finding::at_field(OWNERS, "no owner"));
    };
    let finding = Finding::at_path(OWNERS, "the slice is deleted with one of the clusters");
    Answer::broken(finding.observed(format!("{KIND} {}", profile.name)))
}

/// `placement-labels/scheduler-named`
pub(crate) fn scheduler_named(slice: &PlacementDecision, _: &Hub) -> Answer {
    let name = slice.scheduler_name.as_deref().unwrap_or(ABSENT);
    Answer::broken_if(slice.scheduler().is_empty(), || {
        Finding::at_field("schedulerName", name)
    })
}

/// `placement-labels/scheduler-stable`
pub(crate) fn scheduler_stable(change: &Change<'_, '_, PlacementDecision>, _: &Hub) -> Answer {
    let Some((before, after)) = change.both() else {
        return Answer::NotApplicable;
    };
    let (old, new) = (before.scheduler(), after.scheduler());
    // A name that is set later is not a change.
    let observed = if new.is_empty() { ABSENT } else { new };
    Answer::broken_if(!old.is_empty() && old != new, || {
        Finding::at_field("schedulerName", observed).expected(old)
    })
}

/// The labels that the documents define for a slice.
const DEFINED: [&str; 3] = [LABEL_DECISION_KEY, LABEL_DECISION_INDEX, LABEL_PLACEMENT_KEY];

/// The labels that are proposed for a slice, or that a document mentions without a definition.
const PROPOSED: [&str; 3] = [
    LABEL_DECISION_REVISION,
    LABEL_DECISION_GROUP_INDEX,
    LABEL_DECISION_GROUP_NAME,
];

/// `placement-labels/no-unknown-multicluster-labels`
pub(crate) fn no_unknown_multicluster_labels(slice: &PlacementDecision, _: &Hub) -> Answer {
    let labels = slice.metadata.labels.keys();
    Answer::all(labels.filter(|key| is_undefined(key)).map(|key| {
        let (message, expected) = match misspelled(key, &DEFINED) {
            Some(defined) => (
                "the label is a likely misspelling of one that is defined",
                defined.to_owned(),
            ),
            None => (
                "no document defines the label for PlacementDecisions",
                format!("only these labels of this API: {}", DEFINED.join(", ")),
            ),
        };
        let finding = Finding::at_path(label_path(key), message);
        finding.expected(expected).observed(key)
    }))
}

/// Whether a label belongs to the group of the API, or to ClusterProfiles, and no document knows it for a slice.
fn is_undefined(key: &str) -> bool {
    let is_of_group = key.strip_prefix(GROUP).is_some_and(|rest| rest.starts_with('/'));
    (is_of_group || key == LABEL_MANAGER) && !DEFINED.contains(&key) && !PROPOSED.contains(&key)
}

/// `placement-labels/reason-is-public`
pub(crate) fn reason_is_public(slice: &PlacementDecision, hub: &Hub) -> Answer {
    let mut parts = leaks_in_metadata(&slice.metadata, hub);
    parts.push(("schedulerName".to_owned(), leaks_in_text(slice.scheduler())));
    parts.extend(slice.clusters().iter().enumerate().map(|(place, decision)| {
        let reason = decision.reason.as_deref().unwrap_or_default();
        (format!("decisions[{place}].reason"), leaks_in_text(reason))
    }));
    no_leaks("slice", parts)
}

/// `placement-references/name-valid`
pub(crate) fn name_valid(slice: &PlacementDecision, _: &Hub) -> Answer {
    if slice.clusters().is_empty() {
        return Answer::NotApplicable;
    }
    let is_namespace = |namespace: &str| namespace.is_empty() || is_dns_label(namespace);
    let name = invalid(slice, "name", |reference| &reference.name, is_dns_subdomain);
    let namespace = invalid(slice, "namespace", |reference| &reference.namespace, is_namespace);
    let name = name.map(|finding| finding.expected("a DNS subdomain of at most 253 characters"));
    let namespace =
        namespace.map(|finding| finding.expected("a DNS label of at most 63 characters, or nothing"));
    Answer::all(name.into_iter().chain(namespace))
}

/// The references of a slice with an invalid field, as one finding. An absent reference has no name.
fn invalid(
    slice: &PlacementDecision,
    field: &str,
    value: fn(&ClusterProfileReference) -> &str,
    is_valid: impl Fn(&str) -> bool,
) -> Option<Finding> {
    let values = slice.clusters().iter().enumerate().map(|(place, decision)| {
        let reference = decision.cluster_profile_ref.as_ref();
        (place, reference.map_or("", value))
    });
    let mut invalid = values.filter(|(_, value)| !is_valid(value));
    let (place, first) = invalid.next()?;
    let first = redacted_or_absent(Some(first).filter(|first| !first.is_empty()));
    let observed = match invalid.count() {
        0 => first,
        more => format!("{first} and {more} more"),
    };
    let message = format!("clusterProfileRef.{field} is not a valid {field}");
    let path = format!("decisions[{place}].clusterProfileRef.{field}");
    Some(Finding::at_path(path, message).observed(observed))
}

/// How long a decision may name a profile that does not exist: 60 s.
pub(crate) const REFERENCE_GRACE: Micros = 60 * SECOND;

/// `placement-references/resolve`
pub(crate) fn resolve(reference: &ProfileReference) -> Answer {
    if reference.profile.is_none() && reference.was_there {
        return Answer::NotApplicable;
    }
    Answer::broken_if(reference.profile.is_none(), || reference.finding())
}

/// `placement-references/resolve-across-time`
pub(crate) fn resolve_across_time(reference: &ProfileReference) -> Answer {
    if reference.profile.is_some() || !reference.was_there {
        return Answer::NotApplicable;
    }
    Answer::broken(reference.finding())
}

/// `placement-references/selected-is-alive`: no profile of a selected cluster reports it as down. `Unknown` does not.
pub(crate) fn selected_is_alive(reference: &ProfileReference) -> Answer {
    let Some(profile) = reference.profile else {
        return Answer::NotApplicable;
    };
    let mut conditions = [CONDITION_JOINED, CONDITION_HEALTHY].into_iter();
    let Some(condition) = conditions.find(|kind| has_status(profile, kind, "False")) else {
        return Answer::Kept;
    };
    let finding = reference.finding();
    let observed = format!("{} ({condition} is False)", finding.observed);
    Answer::broken(finding.observed(observed))
}

pub(crate) fn gives_reason(decision: &ClusterDecision) -> bool {
    let reason = decision.reason.as_deref();
    reason.is_some_and(|reason| !reason.trim().is_empty())
}

type SliceWrites<'w, 'e> = Writes<'w, 'e, PlacementDecision>;
type SliceWrite<'e> = ObjectWrite<'e, PlacementDecision>;

/// `placement-updates/no-empty-writes`: the scheduler sends no two updates of a slice that leave it as it was.
pub(crate) fn no_empty_writes(writes: &SliceWrites, _: &Hub) -> Answer {
    match writes
        .of_updates()
        .each_changes_something("metadata.resourceVersion")
    {
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
    let own_writes = writes.by_author().own.into_iter();
    let published: Vec<&SliceWrite> = own_writes.filter(|write| changes_published(write)).collect();
    let message = "the scheduler writes a slice of another client";
    let Some(finding) = written_by(writes, &published, &creator.names, message) else {
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
    let message = "another client writes a slice of the scheduler";
    let is_written = written_by(writes, &of_others, owner, message).map_or(Answer::Kept, Answer::warning);
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
    let message = "another client deletes a slice of the scheduler";
    let finding = Finding::at_path("metadata.deletionTimestamp", message)
        .expected(format!("a deletion only by {}", listed(owner)))
        .observed(format!("by {}, at {}", listed(&deleter.names), timestamp(at)));
    Answer::warning(finding)
}

/// The finding on writes of a slice that is another program's; none without such writes.
fn written_by<'e>(
    writes: &SliceWrites<'_, 'e>,
    published: &[&SliceWrite<'e>],
    owner: &BTreeSet<&str>,
    message: &str,
) -> Option<Finding> {
    let first = timestamp(published.first()?.reported);
    let finding = Finding::at_path("metadata.resourceVersion", message)
        .expected(format!("writes by {} alone", listed(owner)))
        .observed(format!("{}, first at {first}", writes.tally(published)));
    Some(finding)
}

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
