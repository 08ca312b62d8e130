//! The format of conditions: the contract of `metav1.Condition`.

use evidence::{
    Evidence,
    api::{
        ClusterProfile, Condition,
        syntax::{is_dns_subdomain, is_framed},
    },
    parse_time,
};

use crate::rules::{
    answer::to_the_second,
    finding::{Finding, Findings},
    text::{self, ABSENT, redacted_or_absent},
    write_time::{CLOCKS_APART, Micros, SECOND, end, skew, timestamp},
};

/// One day.
const DAY: Micros = 86_400 * SECOND;

/// Maximum lengths that the API allows.
const LONGEST_TYPE: usize = 316;
const LONGEST_REASON: usize = 1024;

/// `conditions/well-formed`
///
/// Every condition is a valid `metav1.Condition`, with a transition time that is not in the future.
pub(in crate::rules) fn well_formed(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable("no profile has conditions");
    let latest = Latest::of(evidence);
    if latest.is_none() {
        findings
            .note("the time of the evidence is unknown: lastTransitionTime was not checked for the future");
    }
    for profile in evidence.inventory() {
        if profile.status.conditions.is_empty() {
            continue;
        }
        findings.examine();
        for (index, condition) in profile.status.conditions.iter().enumerate() {
            judge(profile, index, condition, latest.as_ref(), findings);
        }
    }
}

/// The latest time that a manager can have written.
struct Latest {
    time: Micros,
    /// The time, for a finding.
    expected: String,
}

impl Latest {
    /// By the hub's clock at the end of a run or, for a dump, by the day on which it was read.
    fn of(evidence: &Evidence) -> Option<Self> {
        if let Some(end) = end(evidence) {
            let now = end.saturating_add(skew(evidence));
            return Some(Self {
                time: now.saturating_add(CLOCKS_APART),
                expected: format!("not after {}, give or take 5 min", timestamp(now)),
            });
        }
        let read = evidence.header.read_at?;
        Some(Self {
            time: read.as_microsecond().saturating_add(DAY),
            expected: format!(
                "not after {}, when the dump was read, give or take a day",
                to_the_second(read)
            ),
        })
    }
}

/// Judges one condition.
fn judge(
    profile: &ClusterProfile,
    index: usize,
    condition: &Condition,
    latest: Option<&Latest>,
    findings: &mut Findings,
) {
    let mut report = |field: &str, message: &str, expected: &str, observed: &str| {
        findings.report(
            Finding::on(profile, message)
                .at(format!(
                    "status.conditions[{}]{field}",
                    text::redacted(&condition.kind)
                ))
                .expected(expected)
                .observed(observed),
        );
    };
    let earlier = &profile.status.conditions[..index];
    if earlier.iter().any(|other| other.kind == condition.kind) {
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
    let path = ".lastTransitionTime";
    let Some(text) = condition.last_transition_time.as_deref() else {
        report(
            path,
            "a condition has no transition time",
            "a time in RFC 3339",
            ABSENT,
        );
        return;
    };
    let Some(time) = parse_time(text).map(|time| time.as_microsecond()) else {
        report(
            path,
            "a condition's transition time is not in RFC 3339",
            "a time in RFC 3339",
            &redacted(text),
        );
        return;
    };
    if let Some(latest) = latest.filter(|latest| time > latest.time) {
        report(
            path,
            "a condition's transition time is in the future",
            &latest.expected,
            text,
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
pub(in crate::rules) fn observed_generation_not_ahead(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable("no condition tells the generation that it was set upon");
    for profile in evidence.inventory() {
        let Some(generation) = profile.metadata.generation else {
            continue;
        };
        let mut examined = false;
        for condition in profile.status.conditions.iter() {
            let Some(observed) = condition.observed_generation else {
                continue;
            };
            examined = true;
            if observed > generation {
                findings.report(
                    Finding::on(
                        profile,
                        "a condition has an observedGeneration that does not exist yet",
                    )
                    .at(format!(
                        "status.conditions[{}].observedGeneration",
                        condition.kind
                    ))
                    .expected(format!("at most {generation}"))
                    .observed(observed.to_string()),
                );
            }
        }
        if examined {
            findings.examine();
        }
    }
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
