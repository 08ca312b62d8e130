//! Transitions of conditions: the contract of `metav1.Condition`.

use evidence::{
    ProfileHistory, Version,
    api::{ClusterProfile, Condition},
    parse_time,
};
use jiff::Timestamp;

use crate::{
    reasons::MANAGER_NOT_NAMED,
    rules::{
        bucket::whole_seconds,
        finding::{Finding, Findings},
        text::{by, redacted},
        write_time::{Micros, SECOND, WriteTime, missed_since, on_our_clock, status_writes},
    },
    subjects::Profiles,
    time::{AtMost, Events, Excess, Known, Why},
    who::{Doing, Hand, Who},
};

/// Transition times are whole seconds: a condition that changes back within one second keeps the same time. From two
/// seconds on the time must differ.
const SURELY_LATER: Micros = 2 * SECOND;

/// `conditions/transition-time-kept`
///
/// The transition time of a condition does not change while its status stays the same. What a person changed, and what
/// the manager puts back, is not held against it.
pub(in crate::rules) fn transition_time_kept(profiles: &Profiles, findings: &mut Findings) {
    let evidence = profiles.evidence();
    let who = Who::of(evidence);
    findings
        .not_applicable("no change of a profile that was watched left the status of a condition as it was");
    for history in profiles.histories() {
        let mut examined = false;
        let mut reported: Vec<&str> = Vec::new();
        for (before, after) in history.steps() {
            // The missed part may contain a change of the status and its reversal.
            if missed_since(evidence, before, after).is_some() {
                continue;
            }
            for (old, new) in pairs(&before.object, &after.object) {
                if old.status != new.status {
                    continue;
                }
                examined = true;
                let (was, is) = (&old.last_transition_time, &new.last_transition_time);
                let time = |text: Option<&str>| text.and_then(parse_time);
                let moved = matches!((time(was.as_deref()), time(is.as_deref())), (Some(was), Some(is)) if !is_same(was, is));
                if moved && !reported.contains(&&*new.kind) {
                    let finding = Finding::on(
                        &after.object,
                        "lastTransitionTime moved though the status stayed the same",
                    )
                    .at(path(&new.kind))
                    .expected(was.as_deref().unwrap_or_default())
                    .observed(is.as_deref().unwrap_or_default());
                    let step = Step { before, after, new };
                    if step.hold_against(&who, history, finding, findings) {
                        reported.push(&new.kind);
                    }
                }
            }
        }
        if examined {
            findings.examine();
        }
    }
}

/// `conditions/transition-time-moves`
///
/// The transition time of a condition moves forward when its status changes, and never back. What a person changed, and
/// what the manager puts back, is not held against it.
pub(in crate::rules) fn transition_time_moves(profiles: &Profiles, findings: &mut Findings) {
    let evidence = profiles.evidence();
    let who = Who::of(evidence);
    findings.not_applicable("no condition changed its status while it was watched");
    for history in profiles.histories() {
        let mut examined = false;
        let mut reported: Vec<&str> = Vec::new();
        // For each condition that has come or changed, when it got its present status.
        let mut since: Vec<(&str, Micros)> = Vec::new();
        for write in status_writes(evidence, history) {
            let missed = missed_since(evidence, write.before, write.after).is_some();
            let is_new = |condition: &&Condition| write.before.object.condition(&condition.kind).is_none();
            for new in write.after.object.status.conditions.iter().filter(is_new) {
                since.retain(|(known, _)| *known != &*new.kind);
                since.push((&new.kind, write.moment.by_stamp().latest));
            }
            for (old, new) in pairs(&write.before.object, &write.after.object) {
                if old.status == new.status {
                    continue;
                }
                examined = true;
                let kind = &*new.kind;
                let known = since.iter().find(|(known, _)| *known == kind).map(|(_, at)| *at);
                let old_since = known.unwrap_or_else(|| {
                    let first = WriteTime::seen(history.versions[0].at).earliest;
                    let told = old.last_transition_time.as_deref();
                    let told = told.and_then(|text| on_our_clock(evidence, text));
                    told.map_or(first, |told| told.min(first))
                });
                since.retain(|(known, _)| *known != kind);
                since.push((kind, write.moment.by_stamp().latest));

                let time =
                    |condition: &Condition| condition.last_transition_time.as_deref().and_then(parse_time);
                let (Some(was), Some(is)) = (time(old), time(new)) else {
                    continue;
                };
                let later = write.moment.by_stamp().earliest - old_since >= SURELY_LATER;
                let stood_still = is_same(was, is) && later && !missed;
                if (is_before(is, was) || stood_still) && !reported.contains(&kind) {
                    let finding = Finding::on(
                        &write.after.object,
                        "lastTransitionTime did not move forward when the status changed",
                    )
                    .at(path(kind))
                    .expected(format!("after {was}"))
                    .observed(new.last_transition_time.as_deref().unwrap_or_default());
                    let step = Step {
                        before: write.before,
                        after: write.after,
                        new,
                    };
                    if step.hold_against(&who, history, finding, findings) {
                        reported.push(kind);
                    }
                }
            }
        }
        if examined {
            findings.examine();
        }
    }
}

/// A step in which a condition broke its contract.
struct Step<'e> {
    before: &'e Version,
    after: &'e Version,
    new: &'e Condition,
}

impl<'e> Step<'e> {
    /// Reports what was found if it is the manager's doing, and says if that is unknown. Returns whether it was reported.
    fn hold_against(
        &self,
        who: &Who<'e, ClusterProfile>,
        history: &'e ProfileHistory,
        finding: Finding,
        findings: &mut Findings,
    ) -> bool {
        let doing = doing(who, self.before, self.after);
        let found = format!("{}: {}", finding.object.path(), finding.message);
        match doing.hand {
            Hand::Producer { .. } => match self.puts_back(who, history) {
                Known::Yes => {}
                Known::No => {
                    findings.report(finding);
                    return true;
                }
                Known::Unknown(_) => findings.cannot_tell(format!(
                    "{found}, and it may have put back what somebody else had changed"
                )),
            },
            Hand::Run => {}
            Hand::Other => findings.note(format!("{found}{}, which is not the manager", by(&doing.by))),
            Hand::Unknown if doing.by.is_empty() => {
                findings.cannot_tell(format!("{found}, and nothing tells by whom"));
            }
            Hand::Unknown => findings.cannot_tell(format!(
                "{found}{}, which may be the manager or somebody else: {MANAGER_NOT_NAMED}",
                by(&doing.by)
            )),
        }
        false
    }

    /// Whether the step takes back what somebody else than the manager did to the condition.
    fn puts_back(&self, who: &Who<'e, ClusterProfile>, history: &'e ProfileHistory) -> Known {
        let state =
            |condition: &Condition| (condition.status.clone(), condition.last_transition_time.clone());
        let of = |version: &'e Version| version.object.condition(&self.new.kind).map(state);
        let steps: Vec<_> = history
            .steps()
            .take_while(|(_, after)| after.at <= self.before.at && !std::ptr::eq(*after, self.after))
            .filter(|(before, after)| of(before) != of(after))
            .collect();
        let mut earliest = self.before;
        for (before, after) in steps.into_iter().rev() {
            match doing(who, before, after).hand {
                Hand::Producer { .. } => return Known::No,
                Hand::Unknown => break,
                Hand::Other | Hand::Run if of(before) == Some(state(self.new)) => return Known::Yes,
                Hand::Other | Hand::Run => earliest = before,
            }
        }
        // Nobody saw who set that. If the manager alone owns it, nobody else did.
        match who.owners(&earliest.object, CONDITIONS).is_producer() {
            Known::Yes => Known::No,
            _ => Known::unknown(Why::Hand),
        }
    }
}

/// The part that holds the conditions, as managedFields name it.
const CONDITIONS: &str = "status.conditions";

/// Whose doing a change of the conditions is.
fn doing<'e>(who: &Who<'e, ClusterProfile>, before: &'e Version, after: &'e Version) -> Doing<'e> {
    who.published((&before.object, before.at), (&after.object, after.at), CONDITIONS)
}

/// Whether two times are one: a writer that keeps whole seconds cuts the fraction that another one wrote.
fn is_same(one: Timestamp, other: Timestamp) -> bool {
    let is_whole = |time: Timestamp| time.subsec_nanosecond() == 0;
    one == other || ((is_whole(one) || is_whole(other)) && whole(one) == whole(other))
}

/// Whether a time is before another one, not counting a fraction that was cut.
fn is_before(one: Timestamp, other: Timestamp) -> bool {
    one < other && !is_same(one, other)
}

/// The whole second of a time, rounded down.
fn whole(time: Timestamp) -> i64 {
    time.as_microsecond().div_euclid(SECOND)
}

/// More changes than these are flapping (the ledger's 6 in 5 min).
const CALM: AtMost = AtMost {
    count: 6,
    within: 300 * SECOND,
};

/// The reason for no verdict where a condition seems to flap, and may have changed more slowly.
const TOO_CLOSE: &str = "more than 6 changes were seen in about 5 min, but their times are not exact enough to tell whether they took longer";

/// `conditions/not-flapping`
///
/// No condition changes its status more often than six times in five minutes.
pub(in crate::rules) fn not_flapping(profiles: &Profiles, findings: &mut Findings) {
    let evidence = profiles.evidence();
    findings.not_applicable("no profile has conditions");
    for history in profiles.histories() {
        if history
            .versions
            .iter()
            .all(|version| version.object.status.conditions.is_empty())
        {
            continue;
        }
        findings.examine();
        if history.versions.len() - 1 <= CALM.count {
            continue;
        }
        let mut changes: Vec<(&str, Events)> = Vec::new();
        for write in status_writes(evidence, history) {
            for (old, new) in pairs(&write.before.object, &write.after.object) {
                if old.status == new.status {
                    continue;
                }
                match changes.iter_mut().find(|(kind, _)| **kind == *new.kind) {
                    Some((_, moments)) => moments.push(write.moment),
                    None => changes.push((&new.kind, Events::from(vec![write.moment]))),
                }
            }
        }
        for (kind, moments) in changes {
            let found = match moments.excess(&CALM) {
                Excess::Sure(found) => found,
                Excess::Doubtful => {
                    findings.cannot_tell(TOO_CLOSE);
                    continue;
                }
                Excess::None => continue,
            };
            let seconds = whole_seconds(found.last.reported - found.first.reported);
            findings.report(
                Finding::on(history.last(), "a condition changes its status too often")
                    .at(format!("status.conditions[{}].status", redacted(kind)))
                    .expected("at most 6 changes in 5 min")
                    .observed(format!("{} changes in {seconds} s", found.count)),
            );
        }
    }
}

/// The conditions that two versions of a profile share, without types that occur twice in either.
fn pairs<'a>(
    before: &'a ClusterProfile,
    after: &'a ClusterProfile,
) -> impl Iterator<Item = (&'a Condition, &'a Condition)> {
    let once = |profile: &ClusterProfile, kind: &str| {
        let conditions = profile.status.conditions.iter();
        conditions.filter(|condition| &*condition.kind == kind).count() == 1
    };
    after
        .status
        .conditions
        .iter()
        .filter(move |new| once(before, &new.kind) && once(after, &new.kind))
        .filter_map(|new| Some((before.condition(&new.kind)?, new)))
}

fn path(kind: &str) -> String {
    format!("status.conditions[{}].lastTransitionTime", redacted(kind))
}
