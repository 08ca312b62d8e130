//! The sources of authors: the requests of the audit log, the managedFields of an object, and the clients and field managers
//! that write the objects of a role.

use std::ptr;

use evidence::{
    Requests, Scope,
    api::{Metadata, Writer, names::KIND},
};

use super::{Authors, deletes, names::WriterName};
use crate::{
    engine::{judged::key, prelude::*},
    timeline::ObservedChange,
};

/// The successful writes of an audit log, those of the suite included.
pub(super) struct RequestIndex<'e> {
    log: &'e Requests,
    /// By namespace and name, in order of time.
    by_name: HashMap<(&'e str, &'e str), Vec<&'e Request>>,
    /// By namespace, name, and resourceVersion in the response.
    by_version: HashMap<(&'e str, &'e str, &'e str), Vec<&'e Request>>,
    /// True if the log has what the suite wrote.
    pub(super) has_suite_requests: bool,
}

impl<'e> RequestIndex<'e> {
    /// Indexes the log of a kind; none without a log.
    pub(super) fn of(evidence: &'e Evidence, kind: ObjectKind) -> Option<Self> {
        let (log, own_requests) = requests(evidence, kind);
        let log = log?;
        let requests = log.events.iter().chain(own_requests);
        let mut writes: Vec<&Request> = requests.filter(|request| request.is_write()).collect();
        writes.retain(|request| request.changed != Some(false));
        writes.sort_by_key(|request| request.at);
        let mut index = Self {
            log,
            by_name: HashMap::default(),
            by_version: HashMap::default(),
            has_suite_requests: writes.iter().any(|request| request.is_the_suites()),
        };
        for request in writes {
            let (namespace, name) = request.namespace_and_name();
            index.by_name.entry((namespace, name)).or_default().push(request);
            if let Some(version) = request.resource_version.as_deref() {
                let key = (namespace, name, version);
                index.by_version.entry(key).or_default().push(request);
            }
        }
        Some(index)
    }

    /// Whether the log is complete in a span by the hub's clock.
    pub(super) fn covers(&self, span: Edge) -> bool {
        let covers = self.log.covers;
        covers.from.as_microsecond() <= span.earliest && span.latest <= covers.until.as_microsecond()
    }

    /// The requests that were answered with this version of an object.
    pub(super) fn with_version(&self, object: &Metadata) -> Vec<&'e Request> {
        let of_name = |name| {
            let key = (&*object.namespace, name, &*object.resource_version);
            self.by_version.get(&key).into_iter().flatten().copied()
        };
        let mut requests: Vec<&Request> = logged_names(object).flat_map(of_name).collect();
        // Without `changed`, a request that changed nothing has the version of the request before it.
        if requests.iter().any(|request| request.changed == Some(true)) {
            requests.retain(|request| request.changed == Some(true));
        }
        requests
    }

    /// The requests of one sort on an object in a span. Without a name, they may be on any object of the namespace.
    pub(super) fn during(
        &self,
        object: &Metadata,
        span: Edge,
        is_of_sort: fn(&Request) -> bool,
    ) -> Vec<&'e Request> {
        let of_name = |name| {
            let requests = self.by_name.get(&(&*object.namespace, name));
            let requests = requests.map_or(&[][..], Vec::as_slice);
            let first = requests.partition_point(|request| request.at.as_microsecond() < span.earliest);
            let last = requests.partition_point(|request| request.at.as_microsecond() <= span.latest);
            &requests[first..last.max(first)]
        };
        let may_be_unnamed = object.generate_name.is_some();
        let mut requests: Vec<&Request> = logged_names(object).flat_map(of_name).copied().collect();
        requests.retain(|request| {
            let is_unnamed = request.namespace_and_name().1.is_empty();
            is_of_sort(request) && (may_be_unnamed || !is_unnamed || deletes(request))
        });
        requests
    }
}

/// The names of an object in an audit log. The log may omit a generated name, and a deleted collection has no name.
fn logged_names(object: &Metadata) -> impl Iterator<Item = &str> {
    [&*object.name, ""].into_iter()
}

/// The log of a kind, and the suite's own requests.
pub(in crate::engine) fn requests(evidence: &Evidence, kind: ObjectKind) -> (Option<&Requests>, &[Request]) {
    match kind {
        ObjectKind::ClusterProfile => (evidence.requests.as_ref(), &evidence.own_requests),
        ObjectKind::PlacementDecision => (evidence.slice_requests.as_ref(), &evidence.own_slice_requests),
    }
}

/// Whether a run of the suite wrote to the object of that name.
pub(in crate::engine) fn is_touched(evidence: &Evidence, kind: ObjectKind, name: (&str, &str)) -> bool {
    match kind {
        ObjectKind::ClusterProfile => evidence.is_touched(name.0, name.1),
        ObjectKind::PlacementDecision => evidence.is_slice_touched(name, []),
    }
}

/// Whether a request creates its object. An apply that creates it is answered with 201.
pub(in crate::engine) fn creates(request: &Request) -> bool {
    request.subresource.is_empty() && (&*request.verb == "create" || request.code == 201)
}

/// Field managers that many programs have by default. They identify a program only if they are configured.
const DEFAULT_FIELD_MANAGERS: [&str; 8] = [
    "",
    "controller",
    "controller-manager",
    "Go-http-client",
    "main",
    "manager",
    "operator",
    "unknown",
];

/// The fields of an object that a program owns by writes of one kind.
pub(crate) struct ProgramFields<'o> {
    /// The program.
    pub(crate) attribution: Attribution<'o>,
    /// Its name, its last write, and the paths of the fields.
    pub(crate) entry: &'o Writer,
}

impl ProgramFields<'_> {
    /// When the program last wrote them.
    pub(crate) fn written_at(&self) -> Option<Timestamp> {
        parse_time(self.entry.time.as_deref()?)
    }

    /// Whether the implementation owns the fields. An inferred name that many programs have does not show it.
    pub(crate) fn is_of_implementation(&self) -> bool {
        let is_default = DEFAULT_FIELD_MANAGERS.contains(&&*self.entry.manager);
        self.attribution.author == Author::Implementation && !(self.attribution.is_inferred && is_default)
    }
}

impl<'e> Authors<'e> {
    /// The fields of an object by the programs that own them; none without managedFields.
    pub(crate) fn owned_fields<'o>(&'o self, object: &'o Metadata) -> Option<Vec<ProgramFields<'o>>> {
        let entries = object.writers.as_deref()?.iter();
        let entries = entries.filter(|entry| is_recorded_manager(&entry.manager));
        let fields = entries.map(|entry| ProgramFields {
            attribution: self.of_field_manager(&entry.manager),
            entry,
        });
        Some(fields.collect())
    }

    /// Why no field manager is known to be the implementation's; none if one is.
    pub(crate) fn why_no_field_manager(&self) -> Option<Reason> {
        let field_managers = self.writers.keys().filter(|name| !name.is_client());
        let mut last_reason = None;
        for name in field_managers {
            match self.names.of_writer(*name).author {
                Author::Implementation => return None,
                Author::Unknown(reason) => last_reason = Some(reason),
                Author::Run | Author::Other => {}
            }
        }
        Some(last_reason.unwrap_or_else(|| self.advice()))
    }
}

/// The field managers with an entry that is new, has a new timestamp, or gained a field. An entry that only lost fields
/// to another field manager keeps its timestamp.
pub(super) fn moved_entries<'e, T: Tracked>(before: &T, after: &'e T) -> BTreeSet<&'e str> {
    let is_unmoved = |old: &Writer, new: &Writer| {
        old.manager == new.manager
            && old.operation == new.operation
            && old.subresource == new.subresource
            && old.time == new.time
            && new.owns.iter().all(|path| old.owns.contains(path))
    };
    let is_moved = |entry: &&Writer| !entries(before).iter().any(|old| is_unmoved(old, entry));
    field_managers(entries(after).iter().filter(is_moved))
}

/// The field managers that own a field, a part of it, or a field that contains it.
pub(in crate::engine) fn owners<'e, T: Tracked>(object: &'e T, field: &str) -> BTreeSet<&'e str> {
    field_managers(owning_entries(object, field))
}

/// Whether a part of a field lost its owner. The client that removed it may own none of the rest.
pub(super) fn is_partly_removed<T: Tracked>(before: &T, after: &T, field: &str) -> bool {
    let is_owned = |path| entries(after).iter().any(|entry| entry.owns.contains(path));
    let mut parts = entries(before).iter().flat_map(|entry| entry.owns.iter());
    parts.any(|path| is_part_of(path, field) && !is_owned(path))
}

/// The entries with that field, a part of it, or a field that contains it.
pub(super) fn owning_entries<'e, T: Tracked>(object: &'e T, field: &str) -> impl Iterator<Item = &'e Writer> {
    entries(object)
        .iter()
        .filter(move |entry| owns_part(entry, field))
}

/// Whether an entry has that field, a part of it, or a field that contains it.
pub(in crate::engine) fn owns_part(entry: &Writer, field: &str) -> bool {
    let mut paths = entry.owns.iter();
    paths.any(|path| is_part_of(field, path) || is_part_of(path, field))
}

pub(crate) fn is_part_of(path: &str, field: &str) -> bool {
    let rest = path.strip_prefix(field);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

pub(super) fn entries<T: Tracked>(object: &T) -> &[Writer] {
    object.metadata().writers.as_deref().unwrap_or_default()
}

/// The entries of clients.
pub(in crate::engine) fn recorded_entries<T: Tracked>(object: &T) -> impl Iterator<Item = &Writer> {
    let entries = entries(object).iter();
    entries.filter(|entry| is_recorded_manager(&entry.manager))
}

pub(super) fn field_managers<'e>(entries: impl IntoIterator<Item = &'e Writer>) -> BTreeSet<&'e str> {
    let names = entries.into_iter().map(|entry| &*entry.manager);
    names.filter(|name| is_recorded_manager(name)).collect()
}

/// Whether a field manager is a client's. The API server invents the other two for fields without a recorded manager.
fn is_recorded_manager(name: &str) -> bool {
    !matches!(name, "before-first-apply" | "ancient-changes")
}

/// What a writer wrote of the role's objects.
#[derive(Clone, Debug, Default)]
pub(super) struct WriteSummary<'e> {
    /// How many requests of each verb, or objects of each section.
    pub(super) counts: BTreeMap<&'e str, usize>,
    /// True for a field that only an implementation publishes.
    pub(super) publishes: bool,
}

pub(super) type Writers<'e> = BTreeMap<WriterName<'e>, WriteSummary<'e>>;

pub(super) fn writers_of_role(evidence: &Evidence, role: Role) -> Writers<'_> {
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
    let is_in_scope = |history: &&History<T>| history.objects().any(|object| holds(scope, object));
    let is_untouched = |history: &&History<T>| !is_touched(evidence, role.objects(), key(history));
    let mut judged_histories: Vec<&History<T>> = histories.iter().filter(is_in_scope).collect();
    if judged_histories.iter().any(is_untouched) {
        judged_histories.retain(is_untouched);
    }
    let mut writers = Writers::new();
    for history in &judged_histories {
        add_field_managers(role, history, &mut writers);
    }
    let (log, own_requests) = requests(evidence, role.objects());
    if log.is_none() && own_requests.is_empty() {
        return writers;
    }
    let judged_names: HashSet<(&str, &str)> = judged_histories.into_iter().map(key).collect();
    let watched_names: HashSet<(&str, &str)> = histories.iter().map(key).collect();
    for request in log.iter().flat_map(|log| &log.events).chain(own_requests) {
        let name = request.namespace_and_name();
        // An object that only the log knows may be another publisher's.
        let may_be_in_scope = scope.publisher(role).is_none() && scope.holds_namespace(name.0);
        let is_counted = judged_names.contains(&name) || (may_be_in_scope && !watched_names.contains(&name));
        if request.is_write() && is_counted {
            let is_of_status = request.is_status_write();
            let writes = writers.entry(WriterName::of(request)).or_default();
            let verb = if is_of_status { "status" } else { &*request.verb };
            *writes.counts.entry(verb).or_default() += 1;
            writes.publishes |= creates(request) || is_of_status;
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
    for entry in distinct.flat_map(|versions| recorded_entries(&versions[0].object)) {
        let name = WriterName::field_manager(&entry.manager);
        // The paths are sorted.
        let mut rest = &entry.owns[..];
        while let Some(path) = rest.first() {
            sections.insert((name, section(path)));
            rest = &rest[rest.partition_point(|next| section(next) == section(path))..];
        }
        let is_publisher = entry.owns.iter().any(|path| is_published(role, path));
        writers.entry(name).or_default().publishes |= is_publisher;
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
    for (name, writes) in clients.into_iter().chain(managers) {
        let attribution = authors.names.of_writer(*name);
        let flags = authors.names.flags(*name, &authors.writers);
        list.lines.push(line(*name, &attribution.author, writes));
        if attribution.is_inferred {
            list.inferred.push(flags);
        } else if writes.publishes && matches!(attribution.author, Author::Unknown(_)) {
            list.unknown.push(flags);
        }
    }
    list
}

fn line(writer: WriterName, author: &Author, writes: &WriteSummary) -> String {
    let program = redacted(writer.program);
    let name = match (writer.user, writer.program) {
        (None, _) => format!("field manager {program}"),
        (Some(user), "") => format!("user {}", redacted(user)),
        (Some(user), _) => format!("user {}, agent {program}", redacted(user)),
    };
    let counts = writes.counts.iter();
    let counts = counts.map(|(label, count)| format!("{} {count}", redacted(label)));
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
        let is_profile = T::KIND == KIND;
        HistoryWriters {
            authors: if is_profile { &self.profiles } else { &self.slices },
            changes: Timeline::of_name(self.evidence, &[history])
                .all_changes()
                .collect(),
        }
    }
}

/// The clients that wrote one object.
pub struct HistoryWriters<'n, 'e, T> {
    authors: &'n Authors<'e>,
    changes: Vec<ObservedChange<'e, T>>,
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

    fn find(&self, matches: impl Fn(&ObservedChange<'e, T>) -> bool) -> BTreeSet<&'e str> {
        let change = self.changes.iter().find(|change| matches(change));
        change.map_or_else(BTreeSet::new, |change| self.authors.of_change(change, "").names)
    }
}
