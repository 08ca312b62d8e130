//! Writes that change nothing (KEP-4322 › Scalability implication, KEP-5313 › Lifecycle).

use std::collections::BTreeMap;

use evidence::{Evidence, Request, Requests};
use jiff::Timestamp;

use crate::{
    subjects::{Finding, Findings},
    text::redacted,
    who::{
        Sender,
        logged::{Judged, Key, Logged},
    },
};

/// What is noted where those who publish are not known.
pub(crate) const ALL_COUNT: &str = "the writes of all users count, as a hint only";

/// The writes of one writer on one object.
#[derive(Default)]
struct Writes {
    told: usize,
    empty: usize,
    is_hint: bool,
    first_empty: Option<Timestamp>,
}

/// What is written, in the words of findings.
pub(crate) struct Written {
    /// `status`.
    pub(crate) what: &'static str,
    /// The path of findings.
    pub(crate) path: &'static str,
    /// The message of findings.
    pub(crate) message: &'static str,
}

/// Judges the writes that count, surely or as a hint, by whether they changed their object. A single one that did not is only a
/// hint.
pub(crate) fn judge_empty_writes<T: Judged>(
    evidence: &Evidence,
    requests: &Requests,
    counts: impl Fn(&Request) -> Option<bool>,
    written: &Written,
    findings: &mut Findings,
) {
    let names = Logged::<T>::of(evidence);
    let what = written.what;
    let mut writes: BTreeMap<(Key, Sender), Writes> = BTreeMap::new();
    let mut untold = 0;
    for request in requests.events.iter().filter(|request| !request.is_the_suites()) {
        let Some(is_sure) = counts(request) else { continue };
        let key = (&*request.namespace, &*request.name);
        if !names.in_scope(key) {
            continue;
        }
        let Some(changed) = request.changed else {
            untold += 1;
            continue;
        };
        findings.examine();
        let writes = writes.entry((key, Sender::of(request))).or_default();
        writes.told += 1;
        writes.is_hint = !is_sure;
        if !changed {
            writes.empty += 1;
            writes.first_empty.get_or_insert(request.at);
        }
    }
    for ((key, sender), writes) in writes {
        let Some(first) = writes.first_empty else { continue };
        let finding = Finding::on(names.reference(key), written.message)
            .at(written.path)
            .expected(format!("writes only if the {what} changed"))
            .observed(format!(
                "{} of {} writes by {} changed nothing, first at {first}",
                writes.empty,
                writes.told,
                named(sender)
            ));
        if writes.is_hint {
            findings.note(T::NOT_NAMED.after(ALL_COUNT));
        }
        findings.report(match writes.empty {
            // The answer may have been lost, so that the client sent it again.
            1 => finding.advisory(),
            _ if writes.is_hint => finding.advisory(),
            _ => finding,
        });
    }
    match (untold, findings.examined) {
        (0, _) => {}
        (_, 0) => findings.not_asked(format!(
            "the audit log does not show whether {what} writes changed anything: log them at level RequestResponse"
        )),
        _ => findings.note(format!(
            "{untold} {what} writes are not judged: the audit log does not show whether they changed anything"
        )),
    }
}

/// The user, and the program if it has another name.
fn named(sender: Sender) -> String {
    let Sender { name, program } = sender;
    if program.is_empty() || program == name {
        redacted(name)
    } else {
        format!("{} ({})", redacted(name), redacted(program))
    }
}
