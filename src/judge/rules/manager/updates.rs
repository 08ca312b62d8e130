//! The suite `updates`: how often and how profiles are written (KEP-4322 › Scalability implication).

use evidence::ServedVersion;
use jiff::SignedDuration;

use crate::{
    engine::{BUDGET, ProgramFields, WritesByAuthor, author::is_part_of},
    rules::prelude::*,
    time::{Bucket, is_logged_around},
};

type ProfileWrites<'w, 'e> = Writes<'w, 'e, ClusterProfile>;

/// A property changes less often than once in 30 s. Times are known to the second, so an interval of 31 s is long enough.
const PROPERTY_PACE: Bucket = Bucket {
    burst: 1,
    refill: 31 * SECOND,
    at_least: 600 * SECOND,
};

/// More changes of a condition's status than these are flapping.
const CALM: Bucket = Bucket {
    burst: 6,
    refill: 50 * SECOND,
    at_least: 0,
};

/// `updates/status-writes-within-budget`: the implementation's status writes to one object never exceed 10 at once and
/// one more every 30 s.
pub(crate) fn status_writes_within_budget(writes: &ProfileWrites, _: &Hub) -> Answer {
    writes.within(BUDGET, "writes", "status")
}

/// `updates/writes-within-burst`: the implementation's changes of one object never exceed 10 at once and one more every
/// 30 s. Does not apply if the status writes alone do: `updates/status-writes-within-budget` reports them.
pub(crate) fn writes_within_burst(writes: &ProfileWrites, hub: &Hub) -> Answer {
    let answer = writes.within(BUDGET, "writes of any kind", "metadata.resourceVersion");
    let is_broken = |answer: &Answer| matches!(answer, Answer::Broken(_));
    if is_broken(&answer) && is_broken(&status_writes_within_budget(&writes.of_status(), hub)) {
        Answer::NotApplicable
    } else {
        answer
    }
}

/// `updates/refused-writes-within-budget`: the implementation's requests on one name that the hub refuses never exceed
/// 10 at once and one more every 30 s.
pub(crate) fn refused_writes_within_budget(writes: &ProfileWrites, _: &Hub) -> Answer {
    writes.within(BUDGET, "refused requests", "metadata.name")
}

/// `updates/no-empty-writes`: no status write of the implementation leaves the object unchanged. A single one is a
/// warning.
pub(crate) fn no_empty_writes(writes: &ProfileWrites, _: &Hub) -> Answer {
    writes.of_status().each_changes_something("status")
}

/// Whether the audit log shows if a status write changed anything.
pub(crate) fn shows_effect(request: &Request) -> bool {
    !request.is_status_write() || request.changed.is_some()
}

/// `updates/no-dynamic-data`: the implementation changes no property's value once in 30 s, or more often, over 10
/// minutes.
pub(crate) fn no_dynamic_data(writes: &ProfileWrites, _: &Hub) -> Answer {
    writes.values_within(PROPERTY_PACE, property_values)
}

fn property_values(profile: &ClusterProfile) -> Vec<Value> {
    let properties = profile.status.properties.iter();
    let values = properties.map(|property| {
        let path = format!("status.properties[{}].value", redacted(&property.name));
        Value::new(path, &*property.value)
    });
    values.collect()
}

/// `conditions/not-flapping`: the implementation changes the status of one condition at most 6 times at once, and once
/// more every 50 s.
pub(crate) fn not_flapping(writes: &ProfileWrites, _: &Hub) -> Answer {
    writes.values_within(CALM, condition_statuses)
}

fn condition_statuses(profile: &ClusterProfile) -> Vec<Value> {
    let path = |kind| condition_path(kind, "status");
    let conditions = profile.status.conditions.iter();
    let statuses = conditions.map(|condition| Value::new(path(&condition.kind), &*condition.status));
    statuses.collect()
}

/// How long before or after a patch its sender may send a part through the right endpoint. Clients that send one patch to both
/// endpoints do so in the same reconciliation.
const SAME_RECONCILIATION: SignedDuration = SignedDuration::from_secs(10);

/// The reason if the right write may be missing in the audit log.
const LOG_ENDS: Reason = Reason::unknown(
    "the audit log does not show whether a part of a patch was sent through the right endpoint",
);

/// `updates/status-by-subresource`: a patch that sends status to the object, or spec or labels to `/status`, is within
/// 10 s of one by the same sender that sends that part to the right endpoint. Otherwise the hub dropped the part.
pub(crate) fn status_by_subresource(writes: &ProfileWrites, hub: &Hub) -> Answer {
    if !has_status_subresource(hub) {
        return Answer::NotApplicable;
    }
    let WritesByAuthor { own, unknown } = writes.by_author();
    let answer = Answer::each(["", "status"], |endpoint| {
        parts_through(endpoint, &own, writes, hub)
    });
    let is_lost = |write: &ObjectWrite<_>| {
        let patch = write.request;
        patch.is_some_and(|patch| lost_part(writes, patch).is_some())
    };
    match unknown.into_iter().find(|(write, _)| is_lost(write)) {
        Some((_, reason)) => answer.and(Answer::Unknown(reason)),
        None => answer,
    }
}

/// Whether the audit log shows what a patch contains.
pub(crate) fn shows_body(request: &Request) -> bool {
    &*request.verb != "patch" || request.body.is_some()
}

/// The version of the CRD that the run read profiles in.
pub(super) fn served_version<'e>(hub: &Hub<'e>) -> Option<&'e ServedVersion> {
    let header = &hub.evidence.header.hub;
    let version = header.api_version.as_deref()?.rsplit('/').next()?;
    header.served.iter().find(|served| served.name == version)
}

/// Whether the hub accepts the status of profiles through the status endpoint only, by what the evidence shows.
fn has_status_subresource(hub: &Hub) -> bool {
    let served = &hub.evidence.header.hub.served;
    match served_version(hub) {
        Some(version) => version.status_subresource,
        None => served.is_empty() || served.iter().any(|version| version.status_subresource),
    }
}

/// The answer about the patches through one endpoint.
fn parts_through(
    endpoint: &str,
    own_writes: &[&ObjectWrite<ClusterProfile>],
    writes: &ProfileWrites,
    hub: &Hub,
) -> Answer {
    let mut patches: Vec<&Request> = own_writes.iter().filter_map(|write| write.request).collect();
    patches.retain(|request| {
        &*request.verb == "patch" && request.body.is_some() && &*request.subresource == endpoint
    });
    let is_surrounded = |patch: &Request| {
        let log = hub.evidence.requests.as_ref();
        log.is_some_and(|log| is_logged_around(hub.evidence, log, patch, SAME_RECONCILIATION))
    };
    let parts = patches.iter();
    let parts = parts.filter_map(|patch| Some((*patch, lost_part(writes, patch)?)));
    let (surely_lost, unsure): (Vec<_>, Vec<_>) = parts.partition(|(patch, _)| is_surrounded(patch));
    match surely_lost.first() {
        _ if patches.is_empty() => Answer::NotApplicable,
        Some((patch, part)) => Answer::broken(lost_finding(patch, part, surely_lost.len())),
        None if unsure.is_empty() => Answer::Kept,
        None => Answer::Unknown(LOG_ENDS),
    }
}

/// The part of a patch that the hub dropped. An apply, which names the object, carries all fields of its sender.
fn lost_part<'p>(writes: &ProfileWrites, patch: &'p Request) -> Option<&'p str> {
    let parts = &patch.body.as_ref()?.parts;
    if &*patch.verb != "patch" || parts.iter().any(|part| part == "metadata.name") {
        return None;
    }
    let misdirected = parts.iter().find(|part| {
        let endpoint = right_endpoint(part);
        let wrong = endpoint.filter(|endpoint| *endpoint != &*patch.subresource);
        wrong.is_some_and(|endpoint| !is_sent_to(endpoint, part, patch, writes))
    });
    misdirected.map(String::as_str)
}

/// The endpoint that takes a part: the object itself is empty. None if both take it.
fn right_endpoint(part: &str) -> Option<&'static str> {
    if is_part_of(part, "status") {
        Some("status")
    } else if ["spec", "metadata.labels"]
        .iter()
        .any(|field| is_part_of(part, field))
    {
        Some("")
    } else {
        None
    }
}

/// Whether the sender of a patch also sent a part to an endpoint in the same reconciliation.
fn is_sent_to(endpoint: &str, part: &str, patch: &Request, writes: &ProfileWrites) -> bool {
    let mut requests = writes.all().iter().filter_map(|write| write.request);
    requests.any(|request| {
        let body = request.body.as_ref();
        request.user == patch.user
            && &*request.subresource == endpoint
            && request.at.duration_since(patch.at).abs() <= SAME_RECONCILIATION
            && body.is_none_or(|body| body.parts.iter().any(|carried| carried == part))
    })
}

fn lost_finding(patch: &Request, part: &str, count: usize) -> Finding {
    let [message, expected] = if patch.subresource.is_empty() {
        [
            "a status sent with the object itself was lost",
            "sent through /status",
        ]
    } else {
        [
            "a spec or labels sent through /status were lost",
            "sent with the object itself",
        ]
    };
    let observed = format!("{count} by {}, first at {}", redacted(&patch.user), patch.at);
    let finding = Finding::at_path(part, message);
    finding.expected(expected).observed(observed)
}

/// An entry that is a day older than the newest one is what a former program left behind.
const OUTDATED: SignedDuration = SignedDuration::from_hours(24);

/// `updates/distinct-appliers`: if several programs own parts of the status, the implementation's own theirs by
/// server-side apply.
pub(crate) fn distinct_appliers(profile: &ClusterProfile, hub: &Hub) -> Answer {
    let entries = status_entries(profile, hub);
    let programs: BTreeSet<&str> = entries.iter().map(|owned| &*owned.entry.manager).collect();
    if programs.is_empty() {
        return Answer::NotApplicable;
    }
    let updates = entries.iter().filter(|_| programs.len() > 1);
    let updates = updates.filter(|entry| still_updates(entry, &entries));
    let answer = Answer::each(updates, |entry| match &entry.attribution.author {
        Author::Implementation => Answer::broken(not_applied(entry, programs.len())),
        Author::Unknown(reason) => Answer::Unknown(reason.clone()),
        Author::Run | Author::Other => Answer::Kept,
    });
    answer.or_kept()
}

/// The entries of programs that own parts of the status, without what former programs left behind.
fn status_entries<'h>(profile: &'h ClusterProfile, hub: &'h Hub) -> Vec<ProgramFields<'h>> {
    let owned = hub.profile_authors().owned_fields(&profile.metadata);
    let mut entries = owned.unwrap_or_default();
    entries.retain(|owned| !owned.attribution.is_kubectl_or_hub && status_field(owned).is_some());
    let newest = entries.iter().filter_map(ProgramFields::written_at).max();
    entries.retain(|entry| {
        let times = newest.zip(entry.written_at());
        times.is_none_or(|(newest, at)| newest.duration_since(at) < OUTDATED)
    });
    entries
}

/// Whether a program updates, and has not applied since.
fn still_updates(owned: &ProgramFields, entries: &[ProgramFields]) -> bool {
    let mut entries = entries.iter();
    let applied = entries
        .find(|other| other.entry.manager == owned.entry.manager && &*other.entry.operation == "Apply");
    let has_updated_since = applied.is_none_or(|applied| {
        let times = owned.written_at().zip(applied.written_at());
        times.is_some_and(|(updated, applied)| updated > applied)
    });
    &*owned.entry.operation == "Update" && has_updated_since
}

fn not_applied(owned: &ProgramFields, count: usize) -> Finding {
    let endpoint = match &*owned.entry.subresource {
        "" => String::new(),
        subresource => format!(" of /{subresource}"),
    };
    let (operation, program) = (&owned.entry.operation, redacted(&owned.entry.manager));
    let observed = format!("{operation}{endpoint} by {program}, one of {count} writers");
    Finding::at_field(status_field(owned).unwrap_or("status"), observed)
}

/// The first part of the status that an entry owns.
fn status_field<'o>(owned: &ProgramFields<'o>) -> Option<&'o str> {
    let mut fields = owned.entry.owns.iter().map(|field| &**field);
    fields.find(|field| is_part_of(field, "status"))
}
