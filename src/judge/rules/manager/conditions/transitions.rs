//! Transitions of conditions: the contract of `metav1.Condition`.

use std::cell::LazyCell;

use evidence::{
    Evidence, ProfileHistory, Version,
    api::{ClusterProfile, Condition},
    parse_time,
};
use jiff::Timestamp;

use super::pairs::{are_shared, came_or_stayed, has_any, pairs};
use crate::{
    hash::{HashMap, HashSet},
    shared::{
        held_against::{CONDITIONS, changed_conditions, is_held_against},
        writes::status_writes,
    },
    subjects::{Finding, Findings, Profiles, name},
    text::redacted,
    time::{
        Event as WriteTime, Known, ManagerClock, Micros, SECOND, SERVERS_APART, Why, is_after_gap,
        on_our_clock,
    },
    who::{Hand, Who},
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
        .nothing_happened("no change of a profile that was watched left the status of a condition as it was");
    for history in profiles.histories() {
        let mut examined = false;
        let mut reported: HashSet<&str> = HashSet::default();
        for (before, after) in history.steps() {
            let (was, is) = (&before.object, &after.object);
            // The missed part may contain a change of the status and its reversal.
            if is_after_gap::<ClusterProfile>(evidence, name(is), after.received()) {
                continue;
            }
            examined = examined || (are_shared(was, is) && has_any(is));
            for (old, new) in pairs(was, is) {
                if old.status != new.status {
                    continue;
                }
                examined = true;
                let moved = times(old, new).is_some_and(|(was, is)| !is_same(was, is));
                if moved && !reported.contains(&*new.kind) {
                    let message = "lastTransitionTime moved though the status stayed the same";
                    let finding = Finding::on(is, message)
                        .at(path(&new.kind))
                        .expected(old.last_transition_time.as_deref().unwrap_or_default())
                        .observed(new.last_transition_time.as_deref().unwrap_or_default());
                    let step = Step { before, after, new };
                    if step.hold_against(&who, history, finding, findings) {
                        reported.insert(&new.kind);
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
/// what the manager puts back, is not held against it. A time that its arrival contradicts bounds no later one: the clock
/// that told it was set, or two replicas have two clocks.
pub(in crate::rules) fn transition_time_moves(profiles: &Profiles, findings: &mut Findings) {
    let evidence = profiles.evidence();
    let who = Who::of(evidence);
    findings.nothing_happened("no condition changed its status while it was watched");
    for history in profiles.histories() {
        let mut examined = false;
        let mut reported: HashSet<&str> = HashSet::default();
        let mut transitions = Transitions::of(evidence, history);
        for write in status_writes(evidence, history) {
            let (before, after) = (write.before, write.after);
            let missed = LazyCell::new(|| {
                is_after_gap::<ClusterProfile>(evidence, name(&after.object), after.received())
            });
            for (old, new) in came_or_stayed(&before.object, &after.object) {
                let earlier = transitions.note(old, new, write.moment);
                let Some((old, earlier)) = old.zip(earlier).filter(|(old, _)| old.status != new.status)
                else {
                    continue;
                };
                examined = true;
                let Some((was, is)) = times(old, new).filter(|_| !reported.contains(&*new.kind)) else {
                    continue;
                };
                let stood_still = is_same(was, is) && earlier.is_long_before(write.moment) && !*missed;
                if !stood_still && !is_before(is, was) {
                    continue;
                }
                let message = "lastTransitionTime did not move forward when the status changed";
                let finding = Finding::on(&after.object, message)
                    .at(path(&new.kind))
                    .expected(format!("after {was}"))
                    .observed(new.last_transition_time.as_deref().unwrap_or_default());
                let step = Step { before, after, new };
                let is_doubtful = if stood_still {
                    !earlier.is_surely_long_before(write.moment)
                } else {
                    transitions.may_be_clocks(&earlier, (was, is), write.moment)
                };
                if is_doubtful {
                    step.doubt_clocks(&who, &finding, findings);
                } else if step.hold_against(&who, history, finding, findings) {
                    reported.insert(&new.kind);
                }
            }
        }
        if examined {
            findings.examine();
        }
    }
}

/// What is known of the last transitions of a profile's conditions.
struct Transitions<'e> {
    evidence: &'e Evidence,
    clock: ManagerClock,
    first: &'e Version,
    /// By type, those that have come or changed.
    last: HashMap<&'e str, Transition>,
}

/// The last transition of a condition.
#[derive(Clone, Copy)]
struct Transition {
    /// When the condition got its status, at the latest.
    since: Micros,
    /// The same, if one API server stamped all writes.
    since_by_stamp: Micros,
    /// The last transition time that its arrival did not contradict.
    believed: Option<Timestamp>,
}

impl Transition {
    /// Whether a change came so long after it that its time must differ, if one API server stamped both.
    fn is_long_before(&self, change: WriteTime) -> bool {
        change.by_stamp().earliest - self.since_by_stamp >= SURELY_LATER
    }

    /// The same, whichever servers stamped them.
    fn is_surely_long_before(&self, change: WriteTime) -> bool {
        change.earliest - self.since >= SURELY_LATER
    }
}

impl<'e> Transitions<'e> {
    fn of(evidence: &'e Evidence, history: &'e ProfileHistory) -> Self {
        Self {
            evidence,
            clock: ManagerClock::of(evidence),
            first: &history.versions[0],
            last: HashMap::default(),
        }
    }

    /// Takes note of a condition that came or may have changed, and returns what was known of it before.
    fn note(
        &mut self,
        old: Option<&'e Condition>,
        new: &'e Condition,
        moment: WriteTime,
    ) -> Option<Transition> {
        let known = self.last.get(&*new.kind).copied();
        let before = old.map(|old| known.unwrap_or_else(|| self.listed(old)));
        let told = time(new).filter(|told| self.may_be_told(*told, moment.latest));
        let is_new = old.is_none_or(|old| old.status != new.status);
        let transition = Transition {
            since: match before {
                Some(before) if !is_new => before.since,
                _ => moment.latest,
            },
            since_by_stamp: match before {
                Some(before) if !is_new => before.since_by_stamp,
                _ => moment.by_stamp().latest,
            },
            believed: told.or(before.and_then(|before| before.believed)),
        };
        self.last.insert(&new.kind, transition);
        before
    }

    /// What is known of a condition that has not changed since the profile was first seen.
    fn listed(&self, condition: &Condition) -> Transition {
        let seen = WriteTime::seen(self.first.received()).earliest;
        let text = condition.last_transition_time.as_deref();
        let told = text.and_then(|text| on_our_clock(self.evidence, text));
        let arrival = self.first.received().as_microsecond();
        let since = told.map_or(seen, |told| told.min(seen));
        Transition {
            since,
            since_by_stamp: since,
            believed: time(condition).filter(|told| self.may_be_told(*told, arrival)),
        }
    }

    /// Whether a clock that is right may have told a time that arrived then.
    fn may_be_told(&self, time: Timestamp, arrival: Micros) -> bool {
        time.as_microsecond() <= self.clock.shows(arrival).saturating_add(SECOND)
    }

    /// Whether a time that moved back from one to another may come from a clock that was set right, or from the clocks of
    /// two replicas.
    fn may_be_clocks(
        &self,
        earlier: &Transition,
        (was, is): (Timestamp, Timestamp),
        moment: WriteTime,
    ) -> bool {
        if earlier.believed != Some(was) {
            return earlier.believed.is_none_or(|believed| !is_before(is, believed));
        }
        let is_close = was.as_microsecond() - is.as_microsecond() <= SERVERS_APART;
        is_close && self.clock.shows(moment.earliest) <= is.as_microsecond() + SERVERS_APART
    }
}

/// A step in which a condition broke its contract.
struct Step<'e> {
    before: &'e Version,
    after: &'e Version,
    new: &'e Condition,
}

impl<'e> Step<'e> {
    /// Says that the clock that stamped the condition may have been set, unless somebody else than the manager wrote it.
    fn doubt_clocks(&self, who: &Who<'e, ClusterProfile>, finding: &Finding, findings: &mut Findings) {
        if !matches!(
            changed_conditions(who, self.before, self.after).hand,
            Hand::Run | Hand::Other
        ) {
            findings.cannot_tell(format!(
                "{}: lastTransitionTime of {} did not move forward, but the clocks that stamped the times may differ",
                finding.object.path(),
                redacted(&self.new.kind)
            ));
        }
    }

    /// Reports what was found if it is the manager's doing, and says if that is unknown. Returns whether it was reported.
    fn hold_against(
        &self,
        who: &Who<'e, ClusterProfile>,
        history: &'e ProfileHistory,
        finding: Finding,
        findings: &mut Findings,
    ) -> bool {
        let doing = changed_conditions(who, self.before, self.after);
        if !is_held_against::<ClusterProfile>(&doing, &finding, true, findings) {
            return false;
        }
        match self.puts_back(who, history) {
            Known::Yes => false,
            Known::No => {
                findings.report(finding);
                true
            }
            Known::Unknown(_) => {
                findings.cannot_tell(format!(
                    "{}: {}, and it may have put back what somebody else had changed",
                    finding.object.path(),
                    finding.message
                ));
                false
            }
        }
    }

    /// Whether the step takes back what somebody else than the manager did to the condition.
    fn puts_back(&self, who: &Who<'e, ClusterProfile>, history: &'e ProfileHistory) -> Known {
        let state =
            |condition: &Condition| (condition.status.clone(), condition.last_transition_time.clone());
        let of = |version: &'e Version| version.object.condition(&self.new.kind).map(state);
        let steps: Vec<_> = history
            .steps()
            .filter(|(before, after)| !are_shared(&before.object, &after.object))
            .take_while(|(_, after)| {
                after.received() <= self.before.received() && !std::ptr::eq(*after, self.after)
            })
            .filter(|(before, after)| of(before) != of(after))
            .collect();
        let mut earliest = self.before;
        for (before, after) in steps.into_iter().rev() {
            match changed_conditions(who, before, after).hand {
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
/// The transition times of two conditions, if both can be read.
fn times(old: &Condition, new: &Condition) -> Option<(Timestamp, Timestamp)> {
    time(old).zip(time(new))
}

fn time(condition: &Condition) -> Option<Timestamp> {
    condition.last_transition_time.as_deref().and_then(parse_time)
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

fn path(kind: &str) -> String {
    format!("status.conditions[{}].lastTransitionTime", redacted(kind))
}
