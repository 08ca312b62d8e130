//! The programs that write a status.

use std::collections::BTreeSet;

use evidence::api::ClusterProfile;
use jiff::SignedDuration;

use crate::{
    engine::{Answer, Author, Hub, ProgramFields},
    subjects::Finding,
    text::redacted,
};

/// An entry that is a day older than the newest one is what a former program left behind.
const OUTDATED: SignedDuration = SignedDuration::from_hours(24);

/// `updates/distinct-appliers`
pub(in crate::rules) fn distinct_appliers(profile: &ClusterProfile, hub: &Hub) -> Answer {
    let entries = status_entries(profile, hub);
    let programs: BTreeSet<&str> = entries.iter().map(|owned| &*owned.entry.manager).collect();
    if programs.is_empty() {
        return Answer::NotApplicable;
    }
    let updates = entries
        .iter()
        .filter(|entry| programs.len() > 1 && still_updates(entry, &entries));
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
        let age = newest
            .zip(entry.written_at())
            .map(|(newest, at)| newest.duration_since(at));
        age.is_none_or(|age| age < OUTDATED)
    });
    entries
}

/// Whether a program updates, and has not applied since.
fn still_updates(owned: &ProgramFields, entries: &[ProgramFields]) -> bool {
    let mut own = entries
        .iter()
        .filter(|other| other.entry.manager == owned.entry.manager);
    let applied = own.find(|other| &*other.entry.operation == "Apply");
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
    Finding::at_path(
        status_field(owned).unwrap_or("status"),
        "several field managers write the status, and not all use server-side apply",
    )
    .expected("Apply")
    .observed(format!(
        "{}{endpoint} by {}, one of {count} writers",
        owned.entry.operation,
        redacted(&owned.entry.manager)
    ))
}

/// The first part of the status that an entry owns.
fn status_field<'o>(owned: &ProgramFields<'o>) -> Option<&'o str> {
    let mut fields = owned.entry.owns.iter().map(|field| &**field);
    fields.find(|field| *field == "status" || field.starts_with("status."))
}
