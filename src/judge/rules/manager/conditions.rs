//! The suite `conditions`: what a profile reports (KEP-4322 › Status › Conditions), and the contract of `metav1.Condition`.

use std::{cmp::Ordering, sync::Arc};

use evidence::api::{
    Condition,
    syntax::{is_dns_subdomain, is_framed},
};

use crate::{engine::CLOCKS_APART, rules::prelude::*};

/// How far a transition time may be ahead: clocks may be 5 min apart, and a write may take the grace period of 2 min.
const FUTURE: Micros = CLOCKS_APART + 120 * SECOND;

/// Maximum lengths that the API allows.
const LONGEST_TYPE: usize = 316;
const LONGEST_REASON: usize = 1024;

/// `conditions/control-plane-healthy-reported`
pub(crate) fn control_plane_healthy_reported(profile: &ClusterProfile, _: &Hub) -> Answer {
    reported(profile, CONDITION_HEALTHY)
}

/// `conditions/joined-reported`
pub(crate) fn joined_reported(profile: &ClusterProfile, _: &Hub) -> Answer {
    reported(profile, CONDITION_JOINED)
}

fn reported(profile: &ClusterProfile, kind: &str) -> Answer {
    Answer::broken_if(profile.condition(kind).is_none(), || {
        Finding::at_field(format!("status.conditions[{kind}]"), ABSENT)
    })
}

/// Whether a profile has the condition ControlPlaneHealthy.
pub(crate) fn reports_health(profile: &ClusterProfile) -> bool {
    profile.condition(CONDITION_HEALTHY).is_some()
}

/// `conditions/healthy-needs-joined`
pub(crate) fn healthy_needs_joined(profile: &ClusterProfile, _: &Hub) -> Answer {
    if !reports_health(profile) || profile.condition(CONDITION_JOINED).is_none() {
        return Answer::NotApplicable;
    }
    let is_healthy = has_status(profile, CONDITION_HEALTHY, "True");
    let has_left = has_status(profile, CONDITION_JOINED, "False");
    Answer::broken_if(is_healthy && has_left, || {
        Finding::at_field(condition_path(CONDITION_HEALTHY, "status"), "True")
    })
}

/// `conditions/status-follows-joined`
pub(crate) fn status_follows_joined(profile: &ClusterProfile, _: &Hub) -> Answer {
    if !has_status(profile, CONDITION_JOINED, "True") {
        return Answer::NotApplicable;
    }
    let version = profile.status.version.kubernetes.as_deref();
    let has_version = version.is_some_and(|version| !version.is_empty());
    let lacking = match (has_version, reports_health(profile)) {
        (true, true) => return Answer::Kept,
        (false, true) => "version.kubernetes",
        (true, false) => "conditions[ControlPlaneHealthy]",
        (false, false) => "version.kubernetes and conditions[ControlPlaneHealthy]",
    };
    // One path for both fields: one may be filled when the other is emptied.
    Answer::broken(Finding::at_field("status", format!("{ABSENT}: {lacking}")))
}

/// `conditions/well-formed`: each condition has a type of its own and valid fields.
pub(crate) fn well_formed(profile: &ClusterProfile, _: &Hub) -> Answer {
    let mut types: HashSet<&str> = HashSet::default();
    Answer::each(profile.status.conditions.iter(), |condition| {
        let once = (
            types.insert(&condition.kind),
            "",
            "two conditions have the same type",
            "one condition of each type",
            &*condition.kind,
        );
        let generation = condition.observed_generation.unwrap_or_default();
        let positive = (
            generation >= 0,
            ".observedGeneration",
            "a condition's observedGeneration is negative",
            "0 or more",
            &*generation.to_string(),
        );
        let checks = field_checks(condition).into_iter().chain([once, positive]);
        let wrong = checks.filter(|(is_valid, ..)| !is_valid);
        Answer::all(wrong.map(|(_, field, message, expected, observed)| {
            let observed = Some(observed).filter(|observed| !observed.is_empty());
            let finding = Finding::at_path(field_path(condition, field), message).expected(expected);
            finding.observed(redacted_or_absent(observed))
        }))
    })
}

/// Whether each text of a condition is valid, its field, the message if it is not, what is expected, and the text.
fn field_checks(condition: &Condition) -> [(bool, &str, &str, &str, &str); 4] {
    let time = condition.last_transition_time.as_deref();
    [
        (
            is_type(&condition.kind),
            ".type",
            "the type of a condition is invalid",
            "CamelCase, with a DNS prefix and a slash before it if need be",
            &condition.kind,
        ),
        (
            matches!(&*condition.status, "True" | "False" | "Unknown"),
            ".status",
            "the status of a condition is invalid",
            "True, False or Unknown",
            &condition.status,
        ),
        (
            is_reason(&condition.reason),
            ".reason",
            "a condition has no reason in CamelCase",
            "a word in CamelCase",
            &condition.reason,
        ),
        (
            time.is_some_and(|time| parse_time(time).is_some()),
            ".lastTransitionTime",
            match time {
                Some(_) => "a condition's transition time is not in RFC 3339",
                None => "a condition has no transition time",
            },
            "a time in RFC 3339",
            time.unwrap_or_default(),
        ),
    ]
}

/// `conditions/well-formed`: no transition time is more than 7 min ahead of its arrival.
pub(crate) fn transition_time_not_ahead(profile: &ClusterProfile, arrival: ArrivalTime, _: &Hub) -> Answer {
    Answer::each(profile.status.conditions.iter(), |condition| {
        let text = condition.last_transition_time.as_deref().unwrap_or_default();
        let is_ahead = parse_time(text).is_some_and(|time| arrival.is_ahead(time, FUTURE));
        Answer::broken_if(is_ahead && arrival.is_clock_known, || {
            let now = timestamp(arrival.hub_time);
            wrong_time(condition).expected(format!("not after {now}, give or take 7 min"))
        })
    })
}

/// `conditions/observed-generation-not-ahead`
pub(crate) fn observed_generation_not_ahead(profile: &ClusterProfile, _: &Hub) -> Answer {
    each_observed_generation(profile, |condition, observed, generation| {
        Answer::broken_if(observed > generation, || {
            let finding =
                Finding::at_field(field_path(condition, ".observedGeneration"), observed.to_string());
            finding.expected(format!("at most {generation}"))
        })
    })
}

/// `conditions/observed-generation-current`
pub(crate) fn observed_generation_current(profile: &ClusterProfile, _: &Hub) -> Answer {
    each_observed_generation(profile, |condition, observed, generation| {
        // 0 says nothing about a generation.
        Answer::broken_if((1..generation).contains(&observed), || {
            let finding =
                Finding::at_field(field_path(condition, ".observedGeneration"), observed.to_string());
            finding.expected(generation.to_string())
        })
    })
}

fn each_observed_generation(
    profile: &ClusterProfile,
    check: impl Fn(&Condition, i64, i64) -> Answer,
) -> Answer {
    Answer::each(profile.status.conditions.iter(), |condition| {
        match (condition.observed_generation, profile.metadata.generation) {
            (Some(observed), Some(generation)) => check(condition, observed, generation),
            _ => Answer::NotApplicable,
        }
    })
}

fn field_path(condition: &Condition, field: &str) -> String {
    format!("status.conditions[{}]{field}", redacted(&condition.kind))
}

/// Whether a text has the format of a reason: a letter, then letters, digits, `_`, `,` and `:`, but neither `,` nor
/// `:` at the end.
fn is_reason(text: &str) -> bool {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    text.len() <= LONGEST_REASON
        && text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.as_bytes().last().is_some_and(is_word)
        && text
            .bytes()
            .all(|byte| is_word(&byte) || matches!(byte, b',' | b':'))
}

/// Whether a text has the format of a condition type: a qualified name.
fn is_type(text: &str) -> bool {
    let (is_prefixed, name) = match text.rsplit_once('/') {
        Some((prefix, name)) => (is_dns_subdomain(prefix), name),
        None => (true, text),
    };
    text.len() <= LONGEST_TYPE && is_prefixed && is_framed(name, u8::is_ascii_alphanumeric, b"-_.")
}

/// Transition times are whole seconds: two changes within one second have the same time.
const SAME_TIME: Micros = 2 * SECOND;

const WENT_BACK: Reason =
    Reason::unknown("lastTransitionTime went back: a clock was set, or two replicas have different clocks");

type ProfileChange<'c, 'e> = Change<'c, 'e, ClusterProfile>;

/// `conditions/transition-time-kept`
pub(crate) fn transition_time_kept(change: &ProfileChange, _: &Hub) -> Answer {
    let Some((before, after)) = change.both() else {
        return Answer::NotApplicable;
    };
    let pairs = after.status.conditions.iter().filter_map(|condition| {
        let old = only_of_type(before, &condition.kind)?;
        Some((old, only_of_type(after, &condition.kind)?))
    });
    let same_status = pairs.filter(|(old, new)| old.status == new.status);
    Answer::each(same_status, |(old, new)| {
        let seconds = transition_second(old).zip(transition_second(new));
        Answer::broken_if(seconds.is_some_and(|(was, is)| was != is), || {
            wrong_time(new).expected(old.last_transition_time.as_deref().unwrap_or_default())
        })
    })
}

/// `conditions/transition-time-moves`
pub(crate) fn transition_time_moves(change: &ProfileChange, _: &Hub) -> Answer {
    // Nearly all successive versions share the memory of their conditions.
    let are_shared = |before: &ClusterProfile, after: &ClusterProfile| {
        Arc::ptr_eq(&before.status.conditions, &after.status.conditions)
    };
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
fn moves_with_status(change: &ProfileChange, new: &Condition) -> Answer {
    let status = |profile| only_of_type(profile, &new.kind).map(|condition| &condition.status);
    let earlier = change.last_with(status);
    let old = earlier.and_then(|(profile, span)| Some((only_of_type(profile, &new.kind)?, span)));
    let Some((old, span)) = old.filter(|(old, _)| old.status != new.status) else {
        return Answer::NotApplicable;
    };
    let Some((was, is)) = transition_second(old).zip(transition_second(new)) else {
        return Answer::NotApplicable;
    };
    match is.cmp(&was) {
        Ordering::Greater => Answer::Kept,
        Ordering::Less => Answer::Unknown(WENT_BACK),
        Ordering::Equal => Answer::broken_if(span > SAME_TIME, || {
            let old_time = old.last_transition_time.as_deref().unwrap_or_default();
            wrong_time(new).expected(format!("after {old_time}"))
        }),
    }
}

/// The condition of a type that occurs exactly once.
fn only_of_type<'a>(profile: &'a ClusterProfile, kind: &str) -> Option<&'a Condition> {
    let conditions = profile.status.conditions.iter();
    let mut of_type = conditions.filter(|condition| *condition.kind == *kind);
    of_type.next().filter(|_| of_type.next().is_none())
}

/// The transition time in whole seconds, as most clients write it.
fn transition_second(condition: &Condition) -> Option<i64> {
    let time = parse_time(condition.last_transition_time.as_deref()?)?;
    Some(time.as_microsecond().div_euclid(SECOND))
}

fn wrong_time(condition: &Condition) -> Finding {
    let time = condition.last_transition_time.as_deref();
    Finding::at_field(
        field_path(condition, ".lastTransitionTime"),
        time.unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_reasons_have_the_form_that_the_api_demands() {
        for good in ["Joined", "a", "example.com/Ready", "x-y.example/A.b-c_d"] {
            assert!(is_type(good), "{good}");
        }
        for bad in "|/|-a|a-|Example.com/A|a..b/C|a b|a/|/a|é".split('|') {
            assert!(!is_type(bad), "{bad}");
        }
        for good in ["A", "AsExpected", "a1_", "A,b:c"] {
            assert!(is_reason(good), "{good}");
        }
        for bad in ["", "1A", "A:", "A,", "As Expected", "as-expected", "é"] {
            assert!(!is_reason(bad), "{bad}");
        }
    }
}
