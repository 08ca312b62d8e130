//! The requests of the audit log, as a source of authors.

use evidence::{
    Evidence, Request, Requests,
    api::{Metadata, ObjectKind},
};

use super::deletes;
use crate::{hash::HashMap, time::Edge};

/// The successful writes of an audit log, those of the suite included.
pub(super) struct Log<'e> {
    log: &'e Requests,
    /// By namespace and name. The log may omit a generated name, and a deleted collection has no name.
    by_name: HashMap<(&'e str, &'e str), Vec<&'e Request>>,
    /// True if the log has what the suite wrote.
    pub(super) has_suite_requests: bool,
}

impl<'e> Log<'e> {
    /// Indexes the log of a kind; none without a log.
    pub(super) fn of(evidence: &'e Evidence, kind: ObjectKind) -> Option<Self> {
        let (log, own_requests) = requests(evidence, kind);
        let log = log?;
        let mut by_name: HashMap<_, Vec<&Request>> = HashMap::default();
        let mut has_suite_requests = false;
        for request in log.events.iter().chain(own_requests) {
            if request.is_write() && request.changed != Some(false) {
                by_name
                    .entry(request.namespace_and_name())
                    .or_default()
                    .push(request);
                has_suite_requests |= request.is_the_suites();
            }
        }
        Some(Self {
            log,
            by_name,
            has_suite_requests,
        })
    }

    /// Whether the log is complete in a span by the hub's clock.
    pub(super) fn covers(&self, span: Edge) -> bool {
        let covers = self.log.covers;
        covers.from.as_microsecond() <= span.earliest && span.latest <= covers.until.as_microsecond()
    }

    /// The requests that may be on an object.
    fn on<'o>(&'o self, object: &'o Metadata) -> impl Iterator<Item = &'e Request> + 'o {
        let names = [&*object.name, ""].into_iter();
        let of_names = names.filter_map(|name| self.by_name.get(&(&*object.namespace, name)));
        of_names.flatten().copied()
    }

    /// The requests that were answered with this version of an object.
    pub(super) fn with_version(&self, object: &Metadata) -> Vec<&'e Request> {
        let version = Some(&*object.resource_version);
        let mut requests: Vec<&Request> = self.on(object).collect();
        requests.retain(|request| request.resource_version.as_deref() == version);
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
        let may_be_unnamed = object.generate_name.is_some();
        let requests = self.on(object).filter(|request| {
            let is_unnamed = request.namespace_and_name().1.is_empty();
            span.holds(request.at.as_microsecond())
                && is_of_sort(request)
                && (may_be_unnamed || !is_unnamed || deletes(request))
        });
        requests.collect()
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

/// Whether a request creates its object. An apply that creates it is answered with 201.
pub(in crate::engine) fn creates(request: &Request) -> bool {
    request.subresource.is_empty() && (&*request.verb == "create" || request.code == 201)
}
