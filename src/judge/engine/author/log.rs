//! The requests of the audit log, as a source of authors.

use evidence::{
    Evidence, Request, Requests,
    api::{Metadata, ObjectKind},
};

use super::deletes;
use crate::{hash::HashMap, time::Edge};

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
        let all = log.events.iter().chain(own_requests);
        let mut writes: Vec<&Request> = all.filter(|request| request.is_write()).collect();
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
            let all = self.by_name.get(&(&*object.namespace, name));
            let all = all.map_or(&[][..], Vec::as_slice);
            let first = all.partition_point(|request| request.at.as_microsecond() < span.earliest);
            let last = all.partition_point(|request| request.at.as_microsecond() <= span.latest);
            &all[first..last.max(first)]
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
