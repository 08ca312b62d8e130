//! The format of conditions: the contract of `metav1.Condition`.

use evidence::{
    Evidence,
    api::{
        ClusterProfile, Condition,
        syntax::{is_dns_subdomain, is_framed},
    },
    parse_time,
};
use jiff::Timestamp;

use crate::{
    hash::HashSet,
    shared::{
        answer::to_the_second,
        clocks::HUB_CLOCK_UNKNOWN,
        state::{Fault, State, each_state, same_conditions},
    },
    subjects::{Finding, Findings, Profiles},
    text,
    text::{ABSENT, redacted_or_absent},
    time::{ManagerClock, Micros, SECOND, end, timestamp},
};

/// One day.
const DAY: Micros = 86_400 * SECOND;

/// Maximum lengths that the API allows.
const LONGEST_TYPE: usize = 316;
const LONGEST_REASON: usize = 1024;

/// `conditions/well-formed`
///
/// Every condition is a valid `metav1.Condition`, with a transition time that is not in the future.
pub(in crate::rules) fn well_formed(profiles: &Profiles, findings: &mut Findings) {
    let evidence = profiles.evidence();
    findings.not_applicable("no profile has conditions");
    if evidence.header.window.is_none() && evidence.header.read_at.is_none() {
        findings
            .note("the time of the evidence is unknown: lastTransitionTime was not checked for the future");
    }
    each_state(profiles, findings, OF_CONDITIONS, |profile| {
        let conditions = &profile.status.conditions;
        if conditions.is_empty() {
            return None;
        }
        let mut faults = Vec::new();
        let mut types = HashSet::default();
        for condition in conditions.iter() {
            let time = condition.last_transition_time.as_deref().and_then(parse_time);
            let is_repeated = !types.insert(&condition.kind);
            judge(profile, condition, is_repeated, time, &mut faults);
            faults.extend(match end(evidence) {
                Some(end) => in_future(evidence, profile, condition, time, end),
                None => after_reading(evidence, profile, condition, time),
            });
        }
        Some(faults)
    });
}

const OF_CONDITIONS: State = State {
    same: Some(same_conditions),
    called_by: &[],
    filled_later: false,
};

/// A fault for as long as a condition's transition time is in the future, if the window saw any of that.
fn in_future(
    evidence: &Evidence,
    profile: &ClusterProfile,
    condition: &Condition,
    time: Option<Timestamp>,
    end: Micros,
) -> Option<Fault> {
    let text = condition.last_transition_time.as_deref()?;
    let time = time?.as_microsecond();
    let begin = evidence.header.window?.from.as_microsecond();
    let clock = ManagerClock::of(evidence);
    if time <= clock.latest(begin) {
        return None;
    }
    let passes = time.saturating_sub(clock.latest(0));
    let now = timestamp(clock.shows_at_most(end.min(passes)));
    let finding = Finding::on(profile, "a condition's transition time is in the future")
        .at(path(condition, ".lastTransitionTime"))
        .expected(format!("not after {now}, give or take 5 min"))
        .observed(text);
    let doubt = (!clock.is_known()).then_some(HUB_CLOCK_UNKNOWN);
    Some(Fault::until(finding, passes).doubtful(doubt))
}

/// A fault if a condition's transition time in a dump is later than the day on which the dump was read.
fn after_reading(
    evidence: &Evidence,
    profile: &ClusterProfile,
    condition: &Condition,
    time: Option<Timestamp>,
) -> Option<Fault> {
    let read = evidence.header.read_at?;
    let text = condition.last_transition_time.as_deref()?;
    let time = time?.as_microsecond();
    let is_later = time > read.as_microsecond().saturating_add(DAY);
    is_later.then(|| {
        Finding::on(profile, "a condition's transition time is in the future")
            .at(path(condition, ".lastTransitionTime"))
            .expected(format!(
                "not after {}, when the dump was read, give or take a day",
                to_the_second(read)
            ))
            .observed(text)
            .into()
    })
}

fn path(condition: &Condition, field: &str) -> String {
    format!("status.conditions[{}]{field}", text::redacted(&condition.kind))
}

/// Judges the form of one condition. `is_repeated` says whether an earlier one has its type; `time` is its transition time; none if that is absent or unreadable.
fn judge(
    profile: &ClusterProfile,
    condition: &Condition,
    is_repeated: bool,
    time: Option<Timestamp>,
    faults: &mut Vec<Fault>,
) {
    let mut report = |field: &str, message: &str, expected: &str, observed: &str| {
        let finding = Finding::on(profile, message)
            .at(path(condition, field))
            .expected(expected)
            .observed(observed);
        faults.push(finding.into());
    };
    if is_repeated {
        report(
            "",
            "two conditions have the same type",
            "one condition of each type",
            &condition.kind,
        );
    }
    if !is_type(&condition.kind) {
        report(
            ".type",
            "the type of a condition is invalid",
            "CamelCase, with a DNS prefix and a slash before it if need be",
            &redacted(&condition.kind),
        );
    }
    if !matches!(&*condition.status, "True" | "False" | "Unknown") {
        report(
            ".status",
            "the status of a condition is invalid",
            "True, False or Unknown",
            &redacted(&condition.status),
        );
    }
    if !is_reason(&condition.reason) {
        report(
            ".reason",
            "a condition has no reason in CamelCase",
            "a word in CamelCase",
            &redacted(&condition.reason),
        );
    }
    if let Some(generation) = condition.observed_generation.filter(|generation| *generation < 0) {
        report(
            ".observedGeneration",
            "a condition's observedGeneration is negative",
            "0 or more",
            &generation.to_string(),
        );
    }
    let field = ".lastTransitionTime";
    let Some(text) = condition.last_transition_time.as_deref() else {
        report(
            field,
            "a condition has no transition time",
            "a time in RFC 3339",
            ABSENT,
        );
        return;
    };
    if time.is_none() {
        report(
            field,
            "a condition's transition time is not in RFC 3339",
            "a time in RFC 3339",
            &redacted(text),
        );
    }
}

/// Quotes text from the hub, or marks its absence.
fn redacted(text: &str) -> String {
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

/// `conditions/observed-generation-not-ahead`
///
/// No condition has an `observedGeneration` greater than the object's generation.
pub(in crate::rules) fn observed_generation_not_ahead(profiles: &Profiles, findings: &mut Findings) {
    findings.not_applicable("no condition has an observedGeneration");
    each_state(profiles, findings, OF_CONDITIONS, |profile| {
        let generation = profile.metadata.generation?;
        let conditions = profile.status.conditions.iter();
        let told = conditions.filter_map(|condition| Some((condition, condition.observed_generation?)));
        let mut examined = false;
        let mut faults = Vec::new();
        for (condition, observed) in told {
            examined = true;
            if observed > generation {
                let message = "a condition has an observedGeneration that does not exist yet";
                let finding = Finding::on(profile, message)
                    .at(format!(
                        "status.conditions[{}].observedGeneration",
                        condition.kind
                    ))
                    .expected(format!("at most {generation}"))
                    .observed(observed.to_string());
                faults.push(finding.into());
            }
        }
        examined.then_some(faults)
    });
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
