//! The format of conditions: the contract of `metav1.Condition`.

use evidence::{
    api::{
        ClusterProfile, Condition,
        syntax::{is_dns_subdomain, is_framed},
    },
    parse_time,
};

use crate::{
    engine::{Ahead, Answer, CLOCKS_APART, Hub, Seen},
    hash::HashSet,
    subjects::Finding,
    text::{ABSENT, redacted, redacted_or_absent},
    time::{Micros, SECOND, timestamp},
};

/// How far a transition time may be ahead: clocks may be 5 min apart, and a write may take the grace period of 2 min.
const FUTURE: Micros = CLOCKS_APART + 120 * SECOND;

/// Maximum lengths that the API allows.
const LONGEST_TYPE: usize = 316;
const LONGEST_REASON: usize = 1024;

/// `conditions/well-formed`: each condition has a type of its own and valid fields.
pub(in crate::rules) fn well_formed(profile: &ClusterProfile, _: &Hub) -> Answer {
    let mut types: HashSet<&str> = HashSet::default();
    Answer::each(profile.status.conditions.iter(), |condition| {
        let is_repeated = !types.insert(&condition.kind);
        let repeated = is_repeated.then(|| {
            invalid(condition, "", "two conditions have the same type")
                .expected("one condition of each type")
                .observed(&*condition.kind)
        });
        let fields = [
            invalid_type(condition),
            invalid_status(condition),
            invalid_reason(condition),
            invalid_generation(condition),
            invalid_time(condition),
        ];
        Answer::all(repeated.into_iter().chain(fields.into_iter().flatten()))
    })
}

/// `conditions/well-formed`: no transition time is more than 7 min ahead of its arrival.
pub(in crate::rules) fn transition_time_not_ahead(profile: &ClusterProfile, seen: Seen, _: &Hub) -> Answer {
    Answer::each(profile.status.conditions.iter(), |condition| {
        let text = condition.last_transition_time.as_deref().unwrap_or_default();
        let is_ahead = parse_time(text).is_some_and(|time| seen.is_ahead(time, FUTURE) == Ahead::Yes);
        Answer::broken_if(is_ahead, || {
            let now = timestamp(seen.hub_time().unwrap_or_default());
            invalid(
                condition,
                ".lastTransitionTime",
                "a condition's transition time is in the future",
            )
            .expected(format!("not after {now}, give or take 7 min"))
            .observed(text)
        })
    })
}

/// `conditions/observed-generation-not-ahead`
pub(in crate::rules) fn observed_generation_not_ahead(profile: &ClusterProfile, _: &Hub) -> Answer {
    each_observed_generation(profile, |condition, observed, generation| {
        Answer::broken_if(observed > generation, || {
            let message = "a condition has an observedGeneration that does not exist yet";
            invalid(condition, ".observedGeneration", message)
                .expected(format!("at most {generation}"))
                .observed(observed.to_string())
        })
    })
}

/// `conditions/observed-generation-current`
pub(in crate::rules) fn observed_generation_current(profile: &ClusterProfile, _: &Hub) -> Answer {
    each_observed_generation(profile, |condition, observed, generation| {
        // 0 says nothing about a generation.
        let is_behind = (1..generation).contains(&observed);
        Answer::broken_if(is_behind, || {
            invalid(
                condition,
                ".observedGeneration",
                "a condition is of an older generation of the profile",
            )
            .expected(generation.to_string())
            .observed(observed.to_string())
        })
    })
}

/// Checks each condition that has an observedGeneration, with the generation of the profile.
fn each_observed_generation(
    profile: &ClusterProfile,
    check: impl Fn(&Condition, i64, i64) -> Answer,
) -> Answer {
    let Some(generation) = profile.metadata.generation else {
        return Answer::NotApplicable;
    };
    Answer::each(profile.status.conditions.iter(), |condition| {
        let observed = condition.observed_generation;
        observed.map_or(Answer::NotApplicable, |observed| {
            check(condition, observed, generation)
        })
    })
}

fn invalid(condition: &Condition, field: &str, message: &str) -> Finding {
    Finding::at_path(
        format!("status.conditions[{}]{field}", redacted(&condition.kind)),
        message,
    )
}

fn invalid_type(condition: &Condition) -> Option<Finding> {
    (!is_type(&condition.kind)).then(|| {
        invalid(condition, ".type", "the type of a condition is invalid")
            .expected("CamelCase, with a DNS prefix and a slash before it if need be")
            .observed(quoted(&condition.kind))
    })
}

fn invalid_status(condition: &Condition) -> Option<Finding> {
    let is_valid = matches!(&*condition.status, "True" | "False" | "Unknown");
    (!is_valid).then(|| {
        invalid(condition, ".status", "the status of a condition is invalid")
            .expected("True, False or Unknown")
            .observed(quoted(&condition.status))
    })
}

fn invalid_reason(condition: &Condition) -> Option<Finding> {
    (!is_reason(&condition.reason)).then(|| {
        invalid(condition, ".reason", "a condition has no reason in CamelCase")
            .expected("a word in CamelCase")
            .observed(quoted(&condition.reason))
    })
}

fn invalid_generation(condition: &Condition) -> Option<Finding> {
    let generation = condition
        .observed_generation
        .filter(|generation| *generation < 0)?;
    let message = "a condition's observedGeneration is negative";
    Some(
        invalid(condition, ".observedGeneration", message)
            .expected("0 or more")
            .observed(generation.to_string()),
    )
}

fn invalid_time(condition: &Condition) -> Option<Finding> {
    let (message, observed) = match condition.last_transition_time.as_deref() {
        None => ("a condition has no transition time", ABSENT.to_owned()),
        Some(text) if parse_time(text).is_none() => {
            ("a condition's transition time is not in RFC 3339", quoted(text))
        }
        Some(_) => return None,
    };
    Some(
        invalid(condition, ".lastTransitionTime", message)
            .expected("a time in RFC 3339")
            .observed(observed),
    )
}

fn quoted(text: &str) -> String {
    redacted_or_absent(Some(text).filter(|text| !text.is_empty()))
}

/// Whether a text has the format of a reason: a letter, then letters, digits, `_`, `,` and `:`, but neither `,` nor
/// `:` at the end.
fn is_reason(text: &str) -> bool {
    let bytes = text.as_bytes();
    let word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return false;
    };
    text.len() <= LONGEST_REASON
        && first.is_ascii_alphabetic()
        && word(last)
        && bytes.iter().all(|byte| word(byte) || matches!(byte, b',' | b':'))
}

/// Whether a text has the format of a condition type: a qualified name.
fn is_type(text: &str) -> bool {
    let (prefix, name) = match text.rsplit_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    text.len() <= LONGEST_TYPE
        && prefix.is_none_or(is_dns_subdomain)
        && is_framed(name, u8::is_ascii_alphanumeric, b"-_.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_reasons_have_the_form_that_the_api_demands() {
        for good in ["Joined", "a", "example.com/Ready", "x-y.example/A.b-c_d"] {
            assert!(is_type(good), "{good}");
        }
        for bad in [
            "",
            "/",
            "-a",
            "a-",
            "Example.com/A",
            "a..b/C",
            "a b",
            "a/",
            "/a",
            "é",
        ] {
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
