//! Judges the consumer's accepted writes to published objects, from the audit log.

use evidence::{Log, Published};

use super::{ConsumerRun, on_run};
use crate::{
    engine::{object_named, prelude::*},
    reasons::CONSUMER_NOT_NAMED,
};

/// Whether a write is a violation, or why the evidence does not show it.
type IsViolation = fn(&ConsumerRun, &Request) -> Result<bool, Reason>;

/// A rule on each accepted write of the consumer to published objects of a kind, and to other profiles in their namespaces. The
/// findings are on a field of the object.
pub(crate) fn consumer_writes(
    kind: ObjectKind,
    field: &'static str,
    is_violation: IsViolation,
) -> impl Evaluate {
    on_run(move |run, findings| {
        let name = kind.name();
        let log = match kind {
            ObjectKind::ClusterProfile => &run.evidence.requests,
            ObjectKind::PlacementDecision => &run.evidence.slice_requests,
        };
        let Some(log) = log else {
            return findings.cannot_tell(format!("the audit log was not read for {name}s"));
        };
        let mut requests = log.events.iter();
        let has_user = !run.consumer.user.is_empty();
        if !has_user || requests.any(|request| request.is_the_suites() && run.sent(request)) {
            return findings.not_asked(CONSUMER_NOT_NAMED);
        }
        if let Some(reason) = lacks_requests(run, log, name) {
            return findings.cannot_tell(reason);
        }
        for (object, requests) in by_object(run, kind, log) {
            let answer = judge(run, &requests, field, is_violation);
            findings.count(answer.on(|| object_named(name, (&object.namespace, &object.name))));
        }
    })
}

/// Why the consumer's writes may be missing in the audit log.
fn lacks_requests(run: &ConsumerRun, log: &Log<Request>, kind: &str) -> Option<String> {
    // The run wrote each published object.
    if !log.events.iter().any(Request::is_write) {
        Some(format!(
            "the audit log has no write on {kind}s at all, so it may leave them out"
        ))
    } else if !run.testbed.user_in_audit_log && !log.events.iter().any(|request| run.sent(request)) {
        Some("the audit log has no request of the consumer's user: another user may be configured, or the audit policy omits its reads".to_owned())
    } else {
        None
    }
}

/// Judges the consumer's writes to one object or collection; there may be none.
fn judge(run: &ConsumerRun, requests: &[&Request], field: &str, is_violation: IsViolation) -> Answer {
    let mut violations = Vec::new();
    let mut answer = Answer::Kept;
    for request in requests {
        match is_violation(run, request) {
            Ok(true) => violations.push(*request),
            Ok(false) => {}
            Err(reason) => answer = Answer::Unknown(reason),
        }
    }
    let is_broken = !violations.is_empty();
    let finding = || Finding::at_field(field, describe_writes(&violations));
    Answer::broken_if(is_broken, finding).and(answer)
}

/// The published objects, each with the consumer's writes to it. A write to a whole collection has an object without a name. Other
/// profiles of the namespaces are objects, too, if the consumer writes them.
fn by_object<'e>(
    run: &ConsumerRun<'e>,
    kind: ObjectKind,
    log: &'e Log<Request>,
) -> BTreeMap<ObjectKey, Vec<&'e Request>> {
    let are_profiles = kind == ObjectKind::ClusterProfile;
    let publications = run.testbed.published.iter();
    let of_kind = publications.filter(|publication| match publication.state {
        Published::Profile(_) => are_profiles,
        Published::Slice(_) => !are_profiles,
        Published::Terminating { .. } | Published::Deleted {} => false,
    });
    let objects = of_kind.map(|publication| (publication.object.clone(), Vec::new()));
    let mut objects: BTreeMap<ObjectKey, Vec<&Request>> = objects.collect();
    let namespaces: BTreeSet<String> = objects.keys().map(|object| object.namespace.clone()).collect();
    let writes = log.events.iter().filter(|request| request.is_write());
    let writes = writes.filter(|request| request.changed != Some(false));
    for request in writes.filter(|request| run.sent(request)) {
        let (namespace, name) = request.namespace_and_name();
        let object = ObjectKey::new(namespace, name);
        let is_judged = namespaces.contains(namespace) && (are_profiles || name.is_empty());
        if is_judged || objects.contains_key(&object) {
            objects.entry(object).or_default().push(request);
        }
    }
    objects
}

/// Describes requests of one user; empty if there are none.
pub(crate) fn describe_writes(requests: &[&Request]) -> String {
    let Some(first) = requests.first() else {
        return String::new();
    };
    let verbs: BTreeSet<&str> = requests.iter().map(|request| &*request.verb).collect();
    let verbs = Vec::from_iter(verbs).join(", ");
    let (count, user) = (counted(requests.len(), "write"), redacted(&first.user));
    format!("{count} ({verbs}) by {user}, first at {}", first.at)
}

impl ConsumerRun<'_> {
    /// Whether the consumer sent a request: its user did and, if its programs are named, one of them.
    pub(crate) fn sent(&self, request: &Request) -> bool {
        let agents = &self.evidence.header.claim.consumer_agents;
        let is_agent = agents.is_empty() || agents.iter().any(|agent| agent == request.program());
        *request.user == *self.consumer.user && is_agent
    }
}
