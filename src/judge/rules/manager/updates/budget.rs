//! How often an object is written (KEP-4322 › Scalability implication).

use evidence::{Asked, Evidence, Kind, ProfileHistory};

use super::{
    log::{Key, Log, Names, StatusLog},
    spans::{Span, shown, steps_of},
    spendable::{Spendable, Writers},
};
use crate::{
    reasons::MANAGER_NOT_NAMED,
    shared::{
        bucket::{BUDGET, BURST, Spent, TOO_CLOSE, spent},
        writes::{Write, status_writes},
    },
    subjects::{Finding, Findings, Profiles},
    time::{Events, SECOND},
    who::{Doing, Hand},
};

/// `updates/status-writes-within-budget`
///
/// The status writes on each profile stay within its token bucket.
///
/// In the audit log those that change nothing count, too. What is proven to be somebody else's than the manager's, such as a
/// person's with kubectl, spends none of the manager's budget. A write by an unknown author does.
pub(in crate::rules) fn status_writes_within_budget(profiles: &Profiles, findings: &mut Findings) {
    let evidence = profiles.evidence();
    let who = Writers::of(evidence);
    let log = StatusLog::read(evidence, &who);
    let watched = was_watched(evidence);
    say_what_was_used(evidence, log.as_ref().map(|log| &log.all), findings);
    let mut excused = 0;
    let Some(log) = log else {
        if watched {
            for history in profiles.histories() {
                findings.examine();
                let seen = seen_to_spend(evidence, &who, history);
                excused += usize::from(seen.is_excused());
                let spans = || seen_spans(evidence, &who, history);
                judge(seen, || Finding::on(history.last(), TOO_OFTEN), spans, findings);
            }
        }
        note_excused(excused, findings);
        return;
    };
    let names = Names::of(evidence);
    let mut lacking = 0;
    for key in names.judged(&log.all) {
        findings.examine();
        let logged = log.spent(key);
        let mut is_excused = logged.is_excused();
        let is_overdrawn = logged.is_sure;
        let spans = || {
            let steps = steps_of(&names, key, |history| status_writes(evidence, history));
            Span::of_log(evidence, &who, (log.own(), key), &steps)
        };
        judge(
            logged,
            || Finding::on(names.reference(key), TOO_OFTEN),
            spans,
            findings,
        );
        if watched && !is_overdrawn {
            // The watch knows which object it saw, and the log may leave requests out: each may prove what the other cannot.
            let histories = names.histories(key);
            let seen = |history: &&ProfileHistory| status_writes(evidence, history).len();
            lacking += usize::from(!is_told_by(&log.all, key, histories.iter().map(seen).sum()));
            for history in histories {
                let seen = seen_to_spend(evidence, &who, history);
                is_excused |= seen.is_excused();
                let spans = || seen_spans(evidence, &who, history);
                judge(seen, || Finding::on(history.last(), TOO_OFTEN), spans, findings);
            }
        }
        excused += usize::from(is_excused);
    }
    note_excused(excused, findings);
    if lacking > 0 {
        findings.note(format!(
            "the audit log lacks changes of {lacking} profiles that the watch saw"
        ));
    }
}

fn note_excused(excused: usize, findings: &mut Findings) {
    findings.note_count(
        "",
        excused,
        " profiles exceed the budget only with writes of people and of programs that are proven not to be the manager: \
         these are left out",
    );
}

const TOO_OFTEN: &str = "the status is written more often than the budget allows";

/// What the watch tells of the bucket of a profile's status writes.
pub(super) fn seen_to_spend<'e>(
    evidence: &'e Evidence,
    who: &Writers<'e>,
    history: &'e ProfileHistory,
) -> Spendable {
    if !may_overdraw(history) {
        return Spendable::of(Spent::Kept, || Spent::Kept, || Spent::Kept);
    }
    let writes = status_writes(evidence, history);
    Spendable::of(
        spent(&moments(&writes), BUDGET),
        || spent(&moments(&own_writes(who, writes.clone())), BUDGET),
        || spent(&sure_writes(who, writes.clone()), BUDGET),
    )
}

/// The worst spans of the status writes that the watch saw on a profile, and that may be the manager's.
fn seen_spans<'e>(evidence: &'e Evidence, who: &Writers<'e>, history: &'e ProfileHistory) -> Vec<Span> {
    Span::of_steps(who, &own_writes(who, status_writes(evidence, history)), BUDGET)
}

/// Whether the watch saw enough writes of any kind to overdraw the bucket. Of nearly all profiles it did not.
pub(super) fn may_overdraw(history: &ProfileHistory) -> bool {
    i64::try_from(history.versions.len() - 1).is_ok_and(|writes| writes > BURST)
}

/// When writes took place.
pub(super) fn moments(writes: &[Write]) -> Events {
    writes.iter().map(|write| write.moment).collect()
}

/// Those that are not proven to be somebody else's than the manager's.
fn own_writes<'e>(who: &Writers<'e>, mut writes: Vec<Write<'e>>) -> Vec<Write<'e>> {
    writes.retain(|write| {
        let [step, moved] = doings(who, write);
        let is_untold = step.by.is_empty();
        step.hand != Hand::Other && !(is_untold && moved.hand == Hand::Other)
    });
    writes
}

/// When those took place, without those that may be a person's.
pub(super) fn sure_writes<'e>(who: &Writers<'e>, mut writes: Vec<Write<'e>>) -> Events {
    writes.retain(|write| {
        let mut doings = doings(who, write).into_iter();
        !doings.any(|doing| doing.hand == Hand::Other || doing.may_be_a_persons())
    });
    moments(&writes)
}

/// Whose a write is, and whose the entries are that it moved: what others wrote in a gap is theirs all the same.
fn doings<'e>(who: &Writers<'e>, write: &Write<'e>) -> [Doing<'e>; 2] {
    let (before, after) = (write.before, write.after);
    let (old, new) = (&before.object, &after.object);
    [who.step(old, (new, after.received())), who.moved(old, new)]
}

fn judge(
    spent: Spendable,
    finding: impl FnOnce() -> Finding,
    spans: impl FnOnce() -> Vec<Span>,
    findings: &mut Findings,
) {
    match spent.own {
        Spent::Overdrawn(found) if spent.is_sure => {
            let (expected, observed) = shown(&spans(), &found, "writes");
            let finding = finding().at("status");
            findings.report(finding.expected(expected).observed(observed));
        }
        Spent::Overdrawn(_) => findings.cannot_tell(MANAGER_NOT_NAMED.after(format_args!(
            "{}: {TOO_OFTEN}, if those who use people's programs are the manager",
            finding().object.path()
        ))),
        Spent::Doubtful => findings.cannot_tell(TOO_CLOSE),
        Spent::Kept => {}
    }
}

/// Whether the log has at least as many writes of an object as the watch saw: an audit policy may omit requests.
pub(super) fn is_told_by<'a>(log: &Log<'a>, key: Key<'a>, seen: usize) -> bool {
    let told: usize = log.lives(key).iter().map(|life| life.writes.len()).sum();
    log.covers_window && told >= seen
}

pub(super) fn was_watched(evidence: &Evidence) -> bool {
    *evidence.asked(Kind::Timeline) == Asked::Yes
}

/// Notes which evidence was used, and what it could have caught.
fn say_what_was_used(evidence: &Evidence, log: Option<&Log>, findings: &mut Findings) {
    let caught = |seconds: i64| {
        format!(
            "in {seconds} s, more than {BURST} at once or more than {} in all break the rule",
            BUDGET.allowed(seconds.saturating_mul(SECOND))
        )
    };
    let watched = evidence.header.window.filter(|_| was_watched(evidence));
    match (log, watched) {
        (Some(log), Some(window)) => findings.note(format!(
            "judged from the audit log, which has every status write, and from the watch, which shows those that change \
             something: {}",
            caught(log.seconds.max(window.seconds()))
        )),
        (Some(log), None) => findings.note(format!(
            "judged from the audit log, which has every status write: {}",
            caught(log.seconds)
        )),
        (None, Some(window)) => findings.note(format!(
            "judged from the watch, which shows status writes that change something: {}",
            caught(window.seconds())
        )),
        (None, None) => {}
    }
}
