//! Keys of older drafts in what producers send. The hub drops them without a word.

use std::collections::BTreeMap;

use evidence::{Evidence, Request, api::PlacementDecision};

use crate::{
    subjects::{Finding, Findings},
    text::{counted, redacted},
    who::{
        Sender, Who,
        logged::{Key, Logged, logged_key},
    },
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
/// What people send, and programs that write for them, does not count. Only request bodies show such keys: the hub stores
/// none, and managedFields have none. Each slice that such a key was sent for is named: which one comes first depends on what
/// the log has.
pub(in crate::rules) fn no_legacy_keys(evidence: &Evidence, findings: &mut Findings) {
    let Some(requests) = &evidence.slice_requests else {
        findings.cannot_tell("the audit log has no requests on PlacementDecisions");
        return;
    };
    findings.not_applicable("the audit log has no write of a decision");
    let slices = Logged::<PlacementDecision>::of(evidence);
    let who = Who::<PlacementDecision>::of(evidence);
    let is_by_producer = |request: &&Request| {
        let writes =
            matches!(&*request.verb, "create" | "update" | "patch") && request.subresource.is_empty();
        request.is_write() && writes && who.may_be_a_producers(request)
    };
    let mut found: BTreeMap<(&str, Key), Sent> = BTreeMap::new();
    let mut bodiless = 0;
    let sent = requests.events.iter().filter(is_by_producer);
    for (slice, request) in sent.map(|request| (logged_key(request), request)) {
        if !slices.in_scope(slice) {
            continue;
        }
        let Some(body) = &request.body else {
            bodiless += 1;
            continue;
        };
        findings.examine();
        for part in body.parts.iter().filter(|part| is_legacy(part)) {
            let sent = found.entry((&**part, slice)).or_insert(Sent {
                first: request,
                count: 0,
            });
            sent.count += 1;
        }
    }
    for ((part, slice), sent) in found {
        findings.report(
            Finding::on(
                slices.reference(slice),
                "the producer sends a key that the API does not have",
            )
            .at(part)
            .expected(expected(part))
            .observed(format!(
                "sent in {}, first at {} by {}",
                counted(sent.count, "request"),
                sent.first.at,
                redacted(Sender::of(sent.first).name)
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

/// A legacy key in the requests on one slice.
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
