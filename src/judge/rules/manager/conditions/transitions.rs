//! Transition times of conditions: the contract of `metav1.Condition`.

use std::cmp::Ordering;

use evidence::{
    Reason, ReasonId,
    api::{ClusterProfile, Condition},
    parse_time,
};

use super::pairs::{are_shared, only_of_type, pairs};
use crate::{
    engine::{Answer, Change, Hub},
    subjects::Finding,
    text::redacted,
    time::{Micros, SECOND},
};

/// Transition times are whole seconds: two changes within one second have the same time.
const SAME_TIME: Micros = 2 * SECOND;

const WENT_BACK: Reason = Reason::known(
    ReasonId::Unknown,
    "lastTransitionTime went back: a clock was set, or two replicas have different clocks",
);

/// `conditions/transition-time-kept`
pub(in crate::rules) fn transition_time_kept(change: &Change<'_, '_, ClusterProfile>, _: &Hub) -> Answer {
    let Some((before, after)) = change.both() else {
        return Answer::NotApplicable;
    };
    let pairs = pairs(before, after).into_iter();
    let same_status = pairs.filter(|(old, new)| old.status == new.status);
    Answer::each(same_status, |(old, new)| {
        let seconds = transition_second(old).zip(transition_second(new));
        Answer::broken_if(seconds.is_some_and(|(was, is)| was != is), || {
            finding(new, "lastTransitionTime moved though the status stayed the same")
                .expected(old.last_transition_time.as_deref().unwrap_or_default())
        })
    })
}

/// `conditions/transition-time-moves`
pub(in crate::rules) fn transition_time_moves(change: &Change<'_, '_, ClusterProfile>, _: &Hub) -> Answer {
    let Some((_, after)) = change.both().filter(|(before, after)| !are_shared(before, after)) else {
        return Answer::NotApplicable;
    };
    Answer::each(after.status.conditions.iter(), |new| {
        match only_of_type(after, &new.kind) {
            Some(_) => moves_with_status(change, new),
            None => Answer::NotApplicable,
        }
    })
}

/// Compares a condition with the last version in which its type occurred once.
fn moves_with_status(change: &Change<'_, '_, ClusterProfile>, new: &Condition) -> Answer {
    let status = |profile| only_of_type(profile, &new.kind).map(|condition| &condition.status);
    let earlier = change.last_with(status);
    let old = earlier.and_then(|(profile, held)| Some((only_of_type(profile, &new.kind)?, held)));
    let Some((old, held)) = old.filter(|(old, _)| old.status != new.status) else {
        return Answer::NotApplicable;
    };
    let Some((was, is)) = transition_second(old).zip(transition_second(new)) else {
        return Answer::NotApplicable;
    };
    match is.cmp(&was) {
        Ordering::Greater => Answer::Kept,
        Ordering::Less => Answer::Unknown(WENT_BACK),
        Ordering::Equal if held <= SAME_TIME => Answer::Kept,
        Ordering::Equal => Answer::broken(
            finding(
                new,
                "lastTransitionTime did not move forward when the status changed",
            )
            .expected(format!(
                "after {}",
                old.last_transition_time.as_deref().unwrap_or_default()
            )),
        ),
    }
}

/// The transition time in whole seconds, as most clients write it.
fn transition_second(condition: &Condition) -> Option<i64> {
    let time = parse_time(condition.last_transition_time.as_deref()?)?;
    Some(time.as_microsecond().div_euclid(SECOND))
}

fn finding(condition: &Condition, message: &str) -> Finding {
    let path = format!(
        "status.conditions[{}].lastTransitionTime",
        redacted(&condition.kind)
    );
    let time = condition.last_transition_time.as_deref();
    Finding::at_path(path, message).observed(time.unwrap_or_default())
}
