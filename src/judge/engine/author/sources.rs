//! The two sources of authors: the requests of the audit log, and managedFields.

use std::collections::BTreeSet;

use evidence::{
    Evidence, Request, Requests, Tracked,
    api::{Metadata, ObjectKind, Writer},
};

use crate::time::{Micros, SECOND};

/// A closed span of time by the hub's clock.
#[derive(Clone, Copy)]
pub(super) struct HubSpan {
    pub(super) from: Micros,
    pub(super) until: Micros,
}

/// The successful writes of an audit log, those of the suite included.
pub(super) struct RequestIndex<'e> {
    log: &'e Requests,
    /// In the order of [`version_key`].
    by_version: Vec<&'e Request>,
    /// In the order of [`time_key`].
    by_time: Vec<&'e Request>,
    /// True if the log has what the suite wrote.
    pub(super) has_suite_requests: bool,
}

impl HubSpan {
    /// The second that begins with a timestamp, with a tolerance on both sides.
    pub(super) fn second(at: Micros, tolerance: Micros) -> Self {
        Self {
            from: at.saturating_sub(tolerance),
            until: at.saturating_add(SECOND + tolerance),
        }
    }
}

impl<'e> RequestIndex<'e> {
    /// Indexes the log of a kind; none without a log.
    pub(super) fn of(evidence: &'e Evidence, kind: ObjectKind) -> Option<Self> {
        let (log, own_requests) = requests(evidence, kind);
        let all = log?.events.iter().chain(own_requests);
        let mut by_time: Vec<&Request> = all
            .filter(|request| request.is_write() && request.changed != Some(false))
            .collect();
        by_time.sort_by(|one, other| time_key(one).cmp(&time_key(other)));
        let mut by_version = by_time.clone();
        by_version.retain(|request| request.resource_version.is_some());
        by_version.sort_by(|one, other| version_key(one).cmp(&version_key(other)));
        Some(Self {
            log: log?,
            has_suite_requests: by_time.iter().any(|request| request.is_the_suites()),
            by_version,
            by_time,
        })
    }

    /// Whether the log is complete in a span.
    pub(super) fn covers(&self, span: HubSpan) -> bool {
        let covers = self.log.covers;
        covers.from.as_microsecond() <= span.from && span.until <= covers.until.as_microsecond()
    }

    /// The requests that were answered with this version of an object.
    pub(super) fn with_version(&self, object: &Metadata) -> Vec<&'e Request> {
        let mut requests: Vec<&Request> = Vec::new();
        for name in logged_names(object) {
            let key = (&*object.namespace, name, &*object.resource_version);
            let first = self
                .by_version
                .partition_point(|request| version_key(request) < key);
            let later = self.by_version[first..].iter();
            requests.extend(later.take_while(|request| version_key(request) == key));
        }
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
        span: HubSpan,
        is_of_sort: fn(&Request) -> bool,
    ) -> Vec<&'e Request> {
        let mut requests: Vec<&Request> = Vec::new();
        for name in logged_names(object) {
            let key = |at| (&*object.namespace, name, at);
            let first = self
                .by_time
                .partition_point(|request| time_key(request) < key(span.from));
            let later = self.by_time[first..].iter();
            requests.extend(later.take_while(|request| time_key(request) <= key(span.until)));
        }
        let may_be_unnamed = object.generate_name.is_some();
        requests.retain(|request| {
            let is_unnamed = request.namespace_and_name().1.is_empty();
            is_of_sort(request) && (may_be_unnamed || !is_unnamed || deletes(request))
        });
        requests
    }
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

/// The names of an object in an audit log. The log may omit a generated name, and a deleted collection has no name.
fn logged_names(object: &Metadata) -> [&str; 2] {
    [&object.name, ""]
}

fn time_key(request: &Request) -> (&str, &str, Micros) {
    let (namespace, name) = request.namespace_and_name();
    (namespace, name, request.at.as_microsecond())
}

fn version_key(request: &Request) -> (&str, &str, &str) {
    let (namespace, name) = request.namespace_and_name();
    (
        namespace,
        name,
        request.resource_version.as_deref().unwrap_or_default(),
    )
}

/// Whether a request creates its object. An apply that creates it is answered with 201.
pub(in crate::engine) fn creates(request: &Request) -> bool {
    request.subresource.is_empty() && (&*request.verb == "create" || request.code == 201)
}

/// Whether a request deletes one object, or all objects of a namespace.
pub(super) fn deletes(request: &Request) -> bool {
    request.subresource.is_empty() && matches!(&*request.verb, "delete" | "deletecollection")
}

/// Whether a request changes an object that exists.
pub(super) fn updates(request: &Request) -> bool {
    !creates(request) && !deletes(request)
}

/// The field managers with an entry that is new, has a new timestamp, or gained a field. An entry that only lost fields
/// to another field manager keeps its timestamp.
pub(super) fn moved_entries<'e, T: Tracked>(before: Option<&T>, after: &'e T) -> BTreeSet<&'e str> {
    let old = before.map_or(&[][..], |before| entries(before));
    let is_moved = |entry: &&Writer| !old.iter().any(|old| is_unmoved(old, entry));
    field_managers(entries(after).iter().filter(is_moved))
}

fn is_unmoved(old: &Writer, new: &Writer) -> bool {
    old.manager == new.manager
        && old.operation == new.operation
        && old.subresource == new.subresource
        && old.time == new.time
        && new.owns.iter().all(|path| old.owns.contains(path))
}

/// The field managers that own a field, a part of it, or a field that contains it.
pub(super) fn owners<'e, T: Tracked>(object: &'e T, field: &str) -> BTreeSet<&'e str> {
    field_managers(owning_entries(object, field))
}

/// Whether a part of a field lost its owner. The client that removed it may own none of the rest.
pub(super) fn is_partly_removed<T: Tracked>(before: &T, after: &T, field: &str) -> bool {
    let is_owned = |path| entries(after).iter().any(|entry| entry.owns.contains(path));
    let mut parts = entries(before).iter().flat_map(|entry| entry.owns.iter());
    parts.any(|path| contains(field, path) && !is_owned(path))
}

/// The entries with that field, a part of it, or a field that contains it.
pub(super) fn owning_entries<'e, T: Tracked>(object: &'e T, field: &str) -> impl Iterator<Item = &'e Writer> {
    let is_owned = move |path: &str| contains(path, field) || contains(field, path);
    let is_owner = move |entry: &&Writer| entry.owns.iter().any(|path| is_owned(path));
    entries(object).iter().filter(is_owner)
}

/// Whether a path is another one, or a part of it.
fn contains(path: &str, part: &str) -> bool {
    let rest = part.strip_prefix(path);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// The entries of an object's managedFields.
pub(super) fn entries<T: Tracked>(object: &T) -> &[Writer] {
    object.metadata().writers.as_deref().unwrap_or_default()
}

/// The field managers of entries. The API server invents two names for fields without a recorded manager.
pub(super) fn field_managers<'e>(entries: impl Iterator<Item = &'e Writer>) -> BTreeSet<&'e str> {
    let names = entries.map(|entry| &*entry.manager);
    names.filter(|name| is_recorded_manager(name)).collect()
}

/// Whether a field manager is a client's. The API server invents the other two for fields without a recorded manager.
pub(super) fn is_recorded_manager(name: &str) -> bool {
    !matches!(name, "before-first-apply" | "ancient-changes")
}
