//! Keys of older drafts in what producers send. The hub drops them without a word.

use std::collections::{BTreeMap, HashMap};

use evidence::{Evidence, ObjectKey, ObjectRef, Request, SliceHistory, api::names};

use super::naming::Key;
use crate::rules::{
    finding::{Finding, Findings},
    logged::logged_key,
    text::{counted, redacted},
};

/// What stands before the keys of a reference among the parts of a body.
const REFERENCE: &str = "decisions.clusterProfileRef.";

/// The keys that a reference has.
const KEYS: [&str; 2] = ["name", "namespace"];

/// A key beside the list of clusters that an older draft had.
const PLACEMENT: &str = "placementRef";

/// `placement-references/no-legacy-keys`
///
/// What producers send has no key of an older draft.
///
/// Only request bodies show them: the hub stores none, and managedFields have none.
pub(in crate::rules) fn no_legacy_keys(evidence: &Evidence, findings: &mut Findings) {
    let Some(requests) = &evidence.slice_requests else {
        findings.cannot_tell("the audit log has no requests on PlacementDecisions");
        return;
    };
    findings.not_applicable("the audit log has no write of a decision");
    let slices = Slices::of(evidence);
    let mut found: BTreeMap<&str, Sent> = BTreeMap::new();
    let mut bodiless = 0;
    for request in requests
        .events
        .iter()
        .filter(|request| slices.are_written_by(request))
    {
        let Some(body) = &request.body else {
            bodiless += 1;
            continue;
        };
        findings.examine();
        for part in body.parts.iter().filter(|part| is_legacy(part)) {
            let sent = found.entry(part).or_insert(Sent {
                first: request,
                count: 0,
            });
            sent.count += 1;
        }
    }
    for (part, sent) in found {
        findings.report(
            Finding::on(
                slices.reference(sent.first),
                "the producer sends a key that the API does not have",
            )
            .at(part)
            .expected(expected(part))
            .observed(format!(
                "sent in {}, first at {} by {}",
                counted(sent.count, "request"),
                sent.first.at,
                redacted(&sent.first.user)
            )),
        );
    }
    if bodiless > 0 && findings.examined == 0 {
        findings.cannot_tell("the audit log lacks the bodies of the writes: log them at level Request");
    } else if bodiless > 0 {
        findings.note(format!(
            "{bodiless} writes are not judged: the audit log lacks their bodies; log them at level Request"
        ));
    }
}

/// A legacy key in requests.
struct Sent<'e> {
    first: &'e Request,
    count: usize,
}

fn is_legacy(part: &str) -> bool {
    let of_reference = part.strip_prefix(REFERENCE);
    part == PLACEMENT || of_reference.is_some_and(|key| !KEYS.contains(&key))
}

fn expected(part: &str) -> &'static str {
    if part == PLACEMENT {
        "no such key: labels correlate a decision with its request"
    } else {
        "only name and namespace in a reference"
    }
}

/// The slices by name, to resolve the names in the log.
struct Slices<'e> {
    evidence: &'e Evidence,
    /// The histories of a name, and whether they are judged.
    histories: HashMap<Key<'e>, (&'e SliceHistory, bool)>,
}

impl<'e> Slices<'e> {
    fn of(evidence: &'e Evidence) -> Self {
        let key = |history: &'e SliceHistory| -> Key<'e> {
            let metadata = &history.last().metadata;
            (&metadata.namespace, &metadata.name)
        };
        let mut histories: HashMap<Key, (&SliceHistory, bool)> = HashMap::new();
        for history in &evidence.slices {
            histories.insert(key(history), (history, false));
        }
        for history in evidence.slice_histories() {
            histories.insert(key(history), (history, true));
        }
        Self { evidence, histories }
    }

    /// Whether a request of a producer wrote to a judged slice. One that the run did not see may be of any scheduler.
    fn are_written_by(&self, request: &Request) -> bool {
        let writes =
            matches!(&*request.verb, "create" | "update" | "patch") && request.subresource.is_empty();
        let users = &self.evidence.header.claim.consumer_users;
        let is_producer = !request.is_the_suites() && !users.iter().any(|user| **user == *request.user);
        request.is_write() && writes && is_producer && self.are_judged(logged_key(request))
    }

    fn are_judged(&self, key: Key) -> bool {
        let scope = &self.evidence.header.scope;
        let driver = self.evidence.driver.as_ref();
        let is_touched = driver.is_some_and(|driver| {
            driver.touched_slices.contains(&ObjectKey {
                namespace: key.0.to_owned(),
                name: key.1.to_owned(),
            })
        });
        match self.histories.get(&key) {
            Some((_, is_judged)) => *is_judged,
            None => scope.scheduler.is_none() && scope.holds_namespace(key.0) && !is_touched,
        }
    }

    fn reference(&self, request: &Request) -> ObjectRef {
        let key = logged_key(request);
        self.histories.get(&key).map_or_else(
            || ObjectRef {
                kind: names::PLACEMENT_KIND.to_owned(),
                namespace: key.0.to_owned(),
                name: key.1.to_owned(),
                ..ObjectRef::default()
            },
            |(history, _)| ObjectRef::from(history.last()),
        )
    }
}
