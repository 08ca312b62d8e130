//! Writes that change nothing (KEP-4322 › Scalability implication).

use std::collections::BTreeMap;

use evidence::{Evidence, Request};
use jiff::Timestamp;

use super::log::{Key, Names};
use crate::rules::{
    finding::{Finding, Findings},
    text::redacted,
};

/// A writer: the user, and the program that acts for the user.
type Writer<'a> = (&'a str, &'a str);

/// The status writes of one writer on one profile.
#[derive(Default)]
struct Writes {
    told: usize,
    empty: usize,
    first_empty: Option<Timestamp>,
}

/// `updates/no-empty-writes`
///
/// No status write leaves the object unchanged.
pub(in crate::rules) fn no_empty_writes(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable("the audit log has no write of a profile's status");
    let Some(requests) = &evidence.requests else {
        return;
    };
    let names = Names::of(evidence);
    let mut writes: BTreeMap<(Key, Writer), Writes> = BTreeMap::new();
    let mut untold = 0;
    let counts = |request: &&Request| request.is_status_write() && !request.is_the_suites();
    for request in requests.events.iter().filter(counts) {
        let key = (&*request.namespace, &*request.name);
        if !names.in_scope(key) {
            continue;
        }
        let Some(changed) = request.changed else {
            untold += 1;
            continue;
        };
        findings.examine();
        let writer = (&*request.user, &*request.user_agent);
        let writes = writes.entry((key, writer)).or_default();
        writes.told += 1;
        if !changed {
            writes.empty += 1;
            writes.first_empty.get_or_insert(request.at);
        }
    }
    for ((key, writer), writes) in writes {
        let Some(first) = writes.first_empty else { continue };
        let finding = Finding::on(names.reference(key), "the status is written without a change")
            .at("status")
            .expected("writes only if the status changed")
            .observed(format!(
                "{} of {} writes by {} changed nothing, first at {first}",
                writes.empty,
                writes.told,
                named(writer)
            ));
        findings.report(match writes.empty {
            // The answer may have been lost, so that the client sent it again.
            1 => finding.advisory(),
            _ => finding,
        });
    }
    match (untold, findings.examined) {
        (0, _) => {}
        (_, 0) => findings.not_asked(
            "the audit log does not show whether status writes changed anything: log them at level RequestResponse",
        ),
        _ => findings.note(format!(
            "{untold} status writes are not judged: the audit log does not show whether they changed anything"
        )),
    }
}

/// The user, and the program if it has another name.
fn named((user, agent): Writer) -> String {
    if agent.is_empty() || agent == user {
        redacted(user)
    } else {
        format!("{} ({})", redacted(user), redacted(agent))
    }
}
