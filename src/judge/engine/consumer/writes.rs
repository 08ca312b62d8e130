//! Evaluates a function on the consumer's accepted writes to each published object, from the audit log.

use std::collections::BTreeSet;

use evidence::{ConsumerSpec, Log, ObjectKey, Published, Reason, Request, api::ObjectKind};

use super::{ConsumerRun, judged_run, micros, object_ref};
use crate::{
    engine::{Answer, Evaluate, Hub},
    reasons::CONSUMER_NOT_NAMED,
    subjects::Findings,
    text::{counted, redacted},
    time::known_skew,
};

/// The consumer's accepted writes to one published object. Never empty.
pub(crate) struct ConsumerWrites<'r, 'e> {
    pub(crate) run: &'r ConsumerRun<'e>,
    pub(crate) requests: Vec<&'e Request>,
}

/// A rule on the consumer's writes to published objects of a kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConsumerWritesRule {
    kind: ObjectKind,
    check: fn(&ConsumerWrites) -> Answer,
    skipped: fn(&ConsumerSpec) -> Option<Reason>,
}

/// A rule on the consumer's writes to published objects of a kind, and to others of the kind in their namespaces if it is profiles.
pub(crate) fn consumer_writes(kind: ObjectKind, check: fn(&ConsumerWrites) -> Answer) -> ConsumerWritesRule {
    ConsumerWritesRule {
        kind,
        check,
        skipped: |_| None,
    }
}

impl Evaluate for ConsumerWritesRule {
    fn judges_around_gaps(&self) -> bool {
        false
    }

    fn evaluate(&self, hub: &Hub, findings: &mut Findings) {
        let kind = self.kind.name();
        findings.nothing_happened(format!("no {kind} was published"));
        let Some(run) = judged_run(hub, self.skipped, findings) else {
            return;
        };
        let log = match self.kind {
            ObjectKind::ClusterProfile => &hub.evidence.requests,
            ObjectKind::PlacementDecision => &hub.evidence.slice_requests,
        };
        let Some(log) = log else {
            return findings.cannot_tell(format!("the audit log was not read for {kind}s"));
        };
        let user = &*run.consumer().user;
        if user.is_empty()
            || log
                .events
                .iter()
                .any(|request| request.is_the_suites() && run.sent(request))
        {
            return findings.not_asked(CONSUMER_NOT_NAMED);
        }
        if let Some(reason) = why_unlogged(run, log, kind) {
            return findings.cannot_tell(reason);
        }
        for (object, requests) in self.by_object(run, log) {
            let answer = match &*requests {
                [] => Answer::Kept,
                _ => (self.check)(&ConsumerWrites { run, requests }),
            };
            findings.count(answer.on(|| object_ref(kind, &object)));
        }
    }
}

impl ConsumerWritesRule {
    /// Skipped for the reason that this gives.
    pub(crate) fn unless(self, skipped: fn(&ConsumerSpec) -> Option<Reason>) -> Self {
        Self { skipped, ..self }
    }

    /// The published objects, each with the consumer's writes to it. A write to a whole collection has an object without a name.
    fn by_object<'e>(
        &self,
        run: &ConsumerRun<'e>,
        log: &'e Log<Request>,
    ) -> Vec<(ObjectKey, Vec<&'e Request>)> {
        let published: BTreeSet<&ObjectKey> = self.published(run).collect();
        let namespaces: BTreeSet<&str> = published.iter().map(|object| &*object.namespace).collect();
        let is_accepted =
            |request: &&Request| request.is_write() && request.changed != Some(false) && run.sent(request);
        let writes: Vec<&Request> = log.events.iter().filter(is_accepted).collect();
        let mut objects: BTreeSet<ObjectKey> = published.iter().map(|object| (*object).clone()).collect();
        let written = writes
            .iter()
            .filter(|write| namespaces.contains(&*write.namespace))
            .map(|write| key(write));
        let are_profiles = self.kind == ObjectKind::ClusterProfile;
        objects.extend(written.filter(|object| are_profiles || object.name.is_empty()));
        let of = |object: &ObjectKey| {
            writes
                .iter()
                .copied()
                .filter(|write| key(write) == *object)
                .collect()
        };
        objects
            .into_iter()
            .map(|object| {
                let writes = of(&object);
                (object, writes)
            })
            .collect()
    }

    fn published<'e>(&self, run: &ConsumerRun<'e>) -> impl Iterator<Item = &'e ObjectKey> {
        let are_slices = self.kind == ObjectKind::PlacementDecision;
        let published = run.testbed.published.iter();
        let of_kind = published.filter(move |publication| match publication.state {
            Published::Slice(_) => are_slices,
            Published::Profile(_) => !are_slices,
            Published::Terminating { .. } | Published::Deleted {} => false,
        });
        of_kind.map(|publication| &publication.object)
    }
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

impl ConsumerWrites<'_, '_> {
    /// The writes of these, in words.
    pub(crate) fn describe(requests: &[&Request]) -> String {
        let verbs: BTreeSet<&str> = requests.iter().map(|request| &*request.verb).collect();
        let verbs = Vec::from_iter(verbs).join(", ");
        let (user, first) = requests.first().map_or_else(Default::default, |first| {
            (redacted(&first.user), first.at.to_string())
        });
        format!(
            "{} ({verbs}) by {user}, first at {first}",
            counted(requests.len(), "write")
        )
    }
}

/// Why the audit log may lack the consumer's writes.
fn why_unlogged(run: &ConsumerRun, log: &Log<Request>, kind: &str) -> Option<String> {
    // The run wrote each published object.
    if !log.events.iter().any(Request::is_write) {
        return Some(format!(
            "the audit log has no write on {kind}s at all, so it may leave them out"
        ));
    }
    let is_known = run.testbed.user_in_audit_log || log.events.iter().any(|request| run.sent(request));
    (!is_known).then(|| {
        "the audit log has no request of the consumer's user: it may be another one, or the policy leaves its reads out".to_owned()
    })
}

fn key(request: &Request) -> ObjectKey {
    let (namespace, name) = request.namespace_and_name();
    ObjectKey {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}
