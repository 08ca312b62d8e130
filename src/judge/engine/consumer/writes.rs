//! Evaluates a function on the consumer's accepted writes to each published object, from the audit log.

use evidence::{Log, Published};

use super::{ConsumerRun, micros};
use crate::{
    engine::{object_named, prelude::*},
    reasons::CONSUMER_NOT_NAMED,
};

/// Judges the consumer's accepted writes to one object or collection; there may be none.
pub(super) type CheckWrites = fn(&ConsumerRun, &[&Request]) -> Answer;

/// Judges the consumer's writes to published objects of a kind.
pub(super) fn evaluate(run: &ConsumerRun, kind: ObjectKind, check: CheckWrites, findings: &mut Findings) {
    let name = kind.name();
    let log = match kind {
        ObjectKind::ClusterProfile => &run.evidence.requests,
        ObjectKind::PlacementDecision => &run.evidence.slice_requests,
    };
    let Some(log) = log else {
        return findings.cannot_tell(format!("the audit log was not read for {name}s"));
    };
    let mut requests = log.events.iter();
    if run.consumer().user.is_empty() || requests.any(|request| request.is_the_suites() && run.sent(request))
    {
        return findings.not_asked(CONSUMER_NOT_NAMED);
    }
    // The run wrote each published object.
    if !log.events.iter().any(Request::is_write) {
        return findings.cannot_tell(format!(
            "the audit log has no write on {name}s at all, so it may leave them out"
        ));
    }
    if !run.testbed.user_in_audit_log && !log.events.iter().any(|request| run.sent(request)) {
        return findings.cannot_tell(
            "the audit log has no request of the consumer's user: another user may be configured, or the audit policy omits its reads",
        );
    }
    for (object, requests) in by_object(run, kind, log) {
        let answer = check(run, &requests);
        findings.count(answer.on(|| object_named(name, (&object.namespace, &object.name))));
    }
}

/// The published objects, each with the consumer's writes to it. A write to a whole collection has an object without a name. Other
/// profiles of the namespaces are objects, too, if the consumer writes them.
fn by_object<'e>(
    run: &ConsumerRun<'e>,
    kind: ObjectKind,
    log: &'e Log<Request>,
) -> BTreeMap<ObjectKey, Vec<&'e Request>> {
    let are_profiles = kind == ObjectKind::ClusterProfile;
    let published = run.testbed.published.iter();
    let of_kind = published.filter(|publication| match publication.state {
        Published::Profile(_) => are_profiles,
        Published::Slice(_) => !are_profiles,
        Published::Terminating { .. } | Published::Deleted {} => false,
    });
    let objects = of_kind.map(|publication| (publication.object.clone(), Vec::new()));
    let mut objects: BTreeMap<ObjectKey, Vec<&Request>> = objects.collect();
    let namespaces: BTreeSet<String> = objects.keys().map(|object| object.namespace.clone()).collect();
    let writes = log.events.iter().filter(|request| request.is_write());
    let accepted = writes.filter(|request| request.changed != Some(false));
    for request in accepted.filter(|request| run.sent(request)) {
        let (namespace, name) = request.namespace_and_name();
        let object = ObjectKey::new(namespace, name);
        let is_judged = namespaces.contains(namespace) && (are_profiles || name.is_empty());
        if is_judged || objects.contains_key(&object) {
            objects.entry(object).or_default().push(request);
        }
    }
    objects
}

impl ConsumerRun<'_> {
    /// Whether the consumer sent a request: its user did and, if its programs are named, one of them.
    pub(crate) fn sent(&self, request: &Request) -> bool {
        let agents = &self.evidence.header.claim.consumer_agents;
        let is_its_program = agents.is_empty() || agents.iter().any(|agent| agent == request.program());
        *request.user == *self.consumer().user && is_its_program
    }

    /// Whether an audit log, on the clock of the API server, covers the time since an object was published.
    pub(crate) fn log_covers(&self, log: &Log<Request>, object: &ObjectKey) -> bool {
        let mut published = self.testbed.published.iter();
        let first = published.find(|publication| publication.object == *object);
        let ahead = known_skew(self.evidence).unwrap_or_default();
        first.is_some_and(|first| micros(log.covers.from) - ahead <= micros(first.answered))
    }
}
