//! The two sources of authors: the requests of the audit log, and managedFields.

use std::{cmp::Ordering, collections::BTreeSet};

use evidence::{
    Evidence, Request, Tracked,
    api::{Metadata, ObjectKind, Writer},
    parse_time,
};

use super::writers::is_recorded_manager;
use crate::time::{Micros, SECOND};

/// A closed span of time by the hub's clock.
#[derive(Clone, Copy)]
pub(super) struct HubSpan {
    pub(super) from: Micros,
    pub(super) until: Micros,
}

/// The successful writes of an audit log, those of the suite included.
pub(super) struct RequestIndex<'e> {
    /// By namespace, name, and resourceVersion of the response.
    by_version: Vec<&'e Request>,
    /// By namespace, name, and time.
    by_time: Vec<&'e Request>,
    covers: HubSpan,
    /// True if the log also has what the suite wrote.
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
        let (log, own) = match kind {
            ObjectKind::ClusterProfile => (&evidence.requests, &evidence.own_requests),
            ObjectKind::PlacementDecision => (&evidence.slice_requests, &evidence.own_slice_requests),
        };
        let log = log.as_ref()?;
        let all = log.events.iter().chain(own);
        let mut by_time: Vec<&Request> = all
            .filter(|request| request.is_write() && request.changed != Some(false))
            .collect();
        by_time.sort_by(|one, other| compare_time(one, other.namespace_and_name(), time_of(other)));
        let mut by_version = by_time.clone();
        by_version.retain(|request| request.resource_version.is_some());
        by_version.sort_by(|one, other| compare_version(one, other.namespace_and_name(), version_of(other)));
        Some(Self {
            has_suite_requests: by_time.iter().any(|request| request.is_the_suites()),
            by_version,
            by_time,
            covers: HubSpan {
                from: log.covers.from.as_microsecond(),
                until: log.covers.until.as_microsecond(),
            },
        })
    }

    /// Whether the log is complete in a span.
    pub(super) fn covers(&self, span: HubSpan) -> bool {
        self.covers.from <= span.from && span.until <= self.covers.until
    }

    /// The requests that were answered with this version of an object. The log may lack a generated name.
    pub(super) fn with_version(&self, object: &Metadata) -> Vec<&'e Request> {
        let version = &*object.resource_version;
        let of_name = |name| {
            let key = (&*object.namespace, name);
            let first = self
                .by_version
                .partition_point(|request| compare_version(request, key, version).is_lt());
            let same = self.by_version[first..].iter();
            same.take_while(move |request| compare_version(request, key, version).is_eq())
        };
        let requests: Vec<&Request> = logged_names(object).flat_map(of_name).copied().collect();
        // Without `changed`, a request that changed nothing has the version of the request before it.
        let changing: Vec<&Request> = requests
            .iter()
            .copied()
            .filter(|request| request.changed == Some(true))
            .collect();
        if changing.is_empty() { requests } else { changing }
    }

    /// The requests that may have created an object in a span.
    pub(super) fn creations(&self, object: &Metadata, span: HubSpan) -> Vec<&'e Request> {
        let mut requests: Vec<&Request> = logged_names(object)
            .flat_map(|name| self.during(&object.namespace, name, span))
            .collect();
        requests.retain(|request| creates(request));
        requests
    }

    /// The requests that may have deleted an object in a span: its own deletions, and those of its whole namespace.
    pub(super) fn deletions(&self, object: &Metadata, span: HubSpan) -> Vec<&'e Request> {
        let created = object.creation_timestamp.as_deref().and_then(parse_time);
        let mut requests: Vec<&Request> = self.during(&object.namespace, &object.name, span).collect();
        requests.extend(self.during(&object.namespace, "", span));
        requests.retain(|request| {
            // The name may have been deleted and created again just before.
            deletes(request) && created.is_none_or(|created| created <= request.at)
        });
        requests
    }

    /// The requests that may have made a version of an object in a span.
    pub(super) fn writes(&self, object: &Metadata, span: HubSpan) -> Vec<&'e Request> {
        let mut requests: Vec<&Request> = self.during(&object.namespace, &object.name, span).collect();
        requests.retain(|request| {
            let version = request.resource_version.as_deref();
            !deletes(request) && version.is_none_or(|version| version == object.resource_version)
        });
        requests
    }

    fn during<'i>(
        &'i self,
        namespace: &'i str,
        name: &'i str,
        span: HubSpan,
    ) -> impl Iterator<Item = &'e Request> + 'i {
        let key = (namespace, name);
        let first = self
            .by_time
            .partition_point(|request| compare_time(request, key, span.from).is_lt());
        let later = self.by_time[first..].iter();
        later
            .take_while(move |request| compare_time(request, key, span.until).is_le())
            .copied()
    }
}

/// The names of an object in an audit log, which omits a generated name.
fn logged_names(object: &Metadata) -> impl Iterator<Item = &str> {
    let omitted = object.generate_name.is_some().then_some("");
    [&*object.name].into_iter().chain(omitted)
}

fn time_of(request: &Request) -> Micros {
    request.at.as_microsecond()
}

fn version_of(request: &Request) -> &str {
    request.resource_version.as_deref().unwrap_or_default()
}

fn compare_time(request: &Request, key: (&str, &str), at: Micros) -> Ordering {
    request
        .namespace_and_name()
        .cmp(&key)
        .then_with(|| time_of(request).cmp(&at))
}

fn compare_version(request: &Request, key: (&str, &str), version: &str) -> Ordering {
    request
        .namespace_and_name()
        .cmp(&key)
        .then_with(|| version_of(request).cmp(version))
}

/// Whether a request creates its object. An apply that creates it is answered with 201.
pub(super) fn creates(request: &Request) -> bool {
    request.subresource.is_empty() && (&*request.verb == "create" || request.code == 201)
}

/// Whether a request deletes one object, or all objects of a namespace.
fn deletes(request: &Request) -> bool {
    request.subresource.is_empty() && matches!(&*request.verb, "delete" | "deletecollection")
}

/// The field managers with an entry that is new, has a new timestamp, or gained a field. An entry that only lost fields
/// to another field manager keeps its timestamp.
pub(super) fn moved_entries<'e, T: Tracked>(before: Option<&T>, after: &'e T) -> BTreeSet<&'e str> {
    let old = before.map_or(&[][..], |before| entries(before));
    let moved = entries(after)
        .iter()
        .filter(|entry| !old.iter().any(|old| is_unmoved(old, entry)));
    moved
        .map(|entry| &*entry.manager)
        .filter(|name| is_recorded_manager(name))
        .collect()
}

fn is_unmoved(old: &Writer, new: &Writer) -> bool {
    let identity = |entry: &Writer| {
        (
            entry.manager.clone(),
            entry.operation.clone(),
            entry.subresource.clone(),
        )
    };
    identity(old) == identity(new)
        && old.time == new.time
        && new.owns.iter().all(|path| old.owns.binary_search(path).is_ok())
}

/// The field managers that own a field, a part of it, or a field that contains it.
pub(super) fn owners<'e, T: Tracked>(object: &'e T, field: &str) -> BTreeSet<&'e str> {
    let is_owner = |entry: &&Writer| {
        entry
            .owns
            .iter()
            .any(|path| contains(path, field) || contains(field, path))
    };
    let owners = entries(object).iter().filter(is_owner);
    owners
        .map(|entry| &*entry.manager)
        .filter(|name| is_recorded_manager(name))
        .collect()
}

/// The field managers of an object.
pub(super) fn recorded_managers<T: Tracked>(object: &T) -> BTreeSet<&str> {
    let names = entries(object).iter().map(|entry| &*entry.manager);
    names.filter(|name| is_recorded_manager(name)).collect()
}

pub(super) fn entries<T: Tracked>(object: &T) -> &[Writer] {
    object.metadata().writers.as_deref().unwrap_or_default()
}

/// Whether a path is another one, or a part of it.
fn contains(path: &str, part: &str) -> bool {
    let rest = part.strip_prefix(path);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}
