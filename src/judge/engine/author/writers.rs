//! Lists the clients and field managers that write the objects of a role.

use std::{
    collections::{BTreeMap, BTreeSet},
    ptr,
};

use evidence::{
    Evidence, History, Scope, Tracked, Version,
    api::{ObjectKind, Role, names::KIND},
};

use super::{
    Author, Authors,
    names::WriterName,
    sources::{creates, entries, is_recorded_manager, is_touched, requests},
};
use crate::{
    engine::judged::key,
    hash::HashSet,
    text::redacted,
    timeline::{Change, Timeline},
};

/// What a writer wrote of the role's objects.
#[derive(Clone, Debug, Default)]
pub(super) struct Written<'e> {
    /// How many requests of each verb, or objects of each section.
    pub(super) counts: BTreeMap<&'e str, usize>,
    /// True for a field that only an implementation publishes.
    pub(super) publishes: bool,
}

pub(super) type Writers<'e> = BTreeMap<WriterName<'e>, Written<'e>>;

/// All writers of the judged objects that a role publishes.
pub(super) fn of_role(evidence: &Evidence, role: Role) -> Writers<'_> {
    match role {
        Role::Manager => of_histories(evidence, role, &evidence.profiles, Scope::holds),
        Role::Scheduler => of_histories(evidence, role, &evidence.slices, Scope::holds_slice),
        // A consumer publishes no objects.
        Role::Consumer => Writers::new(),
    }
}

/// The writers of the objects in scope that the run did not touch or, without any, of all in scope.
fn of_histories<'e, T: Tracked>(
    evidence: &'e Evidence,
    role: Role,
    histories: &'e [History<T>],
    holds: fn(&Scope, &T) -> bool,
) -> Writers<'e> {
    let scope = &evidence.header.scope;
    let is_in_scope = |history: &&History<T>| {
        let mut versions = history.versions.iter();
        versions.any(|version| holds(scope, &version.object))
    };
    let is_untouched = |history: &&History<T>| !is_touched(evidence, role.objects(), key(history));
    let mut counted: Vec<&History<T>> = histories.iter().filter(is_in_scope).collect();
    if counted.iter().any(is_untouched) {
        counted.retain(is_untouched);
    }
    let mut writers = Writers::new();
    for history in &counted {
        add_field_managers(role, history, &mut writers);
    }
    let counted: HashSet<(&str, &str)> = counted.into_iter().map(key).collect();
    let known: HashSet<(&str, &str)> = histories.iter().map(key).collect();
    let (log, own_requests) = requests(evidence, role.objects());
    for request in log.iter().flat_map(|log| &log.events).chain(own_requests) {
        let name = request.namespace_and_name();
        // An object that only the log knows may be another publisher's.
        let may_be_in_scope = scope.publisher(role).is_none() && scope.holds_namespace(name.0);
        let is_counted = counted.contains(&name) || (may_be_in_scope && !known.contains(&name));
        if request.is_write() && is_counted {
            let is_of_status = request.is_status_write();
            let written = writers.entry(WriterName::sent(request)).or_default();
            let verb = if is_of_status { "status" } else { &*request.verb };
            *written.counts.entry(verb).or_default() += 1;
            written.publishes |= creates(request) || is_of_status;
        }
    }
    writers
}

fn add_field_managers<'e, T: Tracked>(role: Role, history: &'e History<T>, writers: &mut Writers<'e>) {
    let mut sections: BTreeSet<(WriterName, &str)> = BTreeSet::new();
    // Successive versions share what did not change.
    let is_shared =
        |one: &Version<T>, next: &Version<T>| ptr::eq(entries(&one.object), entries(&next.object));
    let distinct = history.versions.chunk_by(is_shared);
    for entry in distinct.flat_map(|versions| entries(&versions[0].object)) {
        if is_recorded_manager(&entry.manager) {
            let name = WriterName::field_manager(&entry.manager);
            let mut paths = entry.owns.iter();
            sections.extend(paths.clone().map(|path| (name, section(path))));
            writers.entry(name).or_default().publishes |= paths.any(|path| is_published(role, path));
        }
    }
    for (name, section) in sections {
        let counts = &mut writers.entry(name).or_default().counts;
        *counts.entry(section).or_default() += 1;
    }
}

/// Whether only an implementation publishes a field.
fn is_published(role: Role, path: &str) -> bool {
    match role.objects() {
        ObjectKind::ClusterProfile => path.starts_with("spec.clusterManager") || path.starts_with("status."),
        ObjectKind::PlacementDecision => path == "schedulerName" || path.starts_with("decisions"),
    }
}

/// The section of a field: `labels`, `spec`, or `status`, for example.
fn section(path: &str) -> &str {
    let path = path.strip_prefix("metadata.").unwrap_or(path);
    path.split(['.', '[']).next().unwrap_or_default()
}

/// The writers of a role's objects, and the flags that name the implementation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriterList {
    /// One line for each writer: its name, and what it wrote.
    pub lines: Vec<String>,
    /// The flags of the writers that are inferred to be the implementation.
    pub inferred: Vec<String>,
    /// The flags of the writers that publish, and may be the implementation or not.
    pub unknown: Vec<String>,
}

/// Lists the writers of the judged objects of a role.
pub fn writers(evidence: &Evidence, role: Role) -> WriterList {
    let mut list = WriterList::default();
    let authors = Authors::of(evidence, role);
    let (clients, managers): (Vec<_>, Vec<_>) =
        authors.writers.iter().partition(|(name, _)| name.is_client());
    for (name, written) in clients.into_iter().chain(managers) {
        let attribution = authors.names.of_writer(*name);
        let flags = authors.names.flags(*name, &authors.writers);
        list.lines.push(line(*name, &attribution.author, written));
        if attribution.is_inferred {
            list.inferred.push(flags);
        } else if written.publishes && matches!(attribution.author, Author::Unknown(_)) {
            list.unknown.push(flags);
        }
    }
    list
}

fn line(writer: WriterName, author: &Author, written: &Written) -> String {
    let program = redacted(writer.program);
    let name = match (writer.user, writer.program) {
        (None, _) => format!("field manager {program}"),
        (Some(user), "") => format!("user {}", redacted(user)),
        (Some(user), _) => format!("user {}, agent {program}", redacted(user)),
    };
    let counts = written.counts.iter();
    let counts = counts.map(|(what, count)| format!("{} {count}", redacted(what)));
    let counts = Vec::from_iter(counts).join(", ");
    let author = match author {
        Author::Run => " (this suite)",
        _ if writer.is_hub() => " (the hub itself)",
        _ => "",
    };
    format!("{name}{author}: {counts}")
}

/// The users or field managers that wrote objects, for reports that show the history of an object. No name means that the
/// evidence does not show it.
pub struct WriterNames<'e> {
    evidence: &'e Evidence,
    profiles: Authors<'e>,
    slices: Authors<'e>,
}

impl<'e> WriterNames<'e> {
    /// Reads the evidence.
    pub fn of(evidence: &'e Evidence) -> Self {
        Self {
            evidence,
            profiles: Authors::of(evidence, Role::Manager),
            slices: Authors::of(evidence, Role::Scheduler),
        }
    }

    /// The clients that wrote an object.
    pub fn of_history<T: Tracked>(&self, history: &'e History<T>) -> HistoryWriters<'_, 'e, T> {
        let authors = if T::KIND == KIND {
            &self.profiles
        } else {
            &self.slices
        };
        let timeline = Timeline::of_name(self.evidence, &[history]);
        HistoryWriters {
            authors,
            changes: timeline.all_changes().collect(),
        }
    }
}

/// The clients that wrote one object.
pub struct HistoryWriters<'n, 'e, T> {
    authors: &'n Authors<'e>,
    changes: Vec<Change<'e, T>>,
}

impl<'e, T: Tracked> HistoryWriters<'_, 'e, T> {
    /// The clients that wrote a version; the first version is the creation.
    pub fn of_version(&self, version: &Version<T>) -> BTreeSet<&'e str> {
        self.find(|change| change.after.is_some_and(|after| ptr::eq(after, version)))
    }

    /// The clients that deleted the object.
    pub fn of_deletion(&self) -> BTreeSet<&'e str> {
        self.find(|change| change.after.is_none())
    }

    fn find(&self, is_wanted: impl Fn(&Change<'e, T>) -> bool) -> BTreeSet<&'e str> {
        let change = self.changes.iter().find(|change| is_wanted(change));
        change.map_or_else(BTreeSet::new, |change| self.authors.of_change(change, "").names)
    }
}
