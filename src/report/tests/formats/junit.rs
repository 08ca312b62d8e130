//! Numbers and texts of a JUnit report.

use std::collections::BTreeMap;

use judge::Verdict;
use serde_json::Value;

use super::support::{world::World, written_as};

#[test]
fn counts_agree_with_what_is_there_and_with_the_json_report() {
    let world = World::violating();
    for verdict in [
        Verdict::Fail,
        Verdict::Warn,
        Verdict::Waived,
        Verdict::Inconclusive,
        Verdict::Skipped,
    ] {
        assert!(world.count(&[verdict]) > 0, "nothing is {}", verdict.name());
    }
    let (text, json) = world.report(|report| (written_as("junit", report), written_as("json", report)));
    let read = junit_parser::from_reader(text.as_bytes()).expect("JUnit");
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let verdicts: BTreeMap<&str, &str> = json["verdicts"]
        .as_array()
        .expect("verdicts")
        .iter()
        .map(|verdict| {
            (
                verdict["rule"].as_str().expect("a rule"),
                verdict["verdict"].as_str().expect("a verdict"),
            )
        })
        .collect();
    let mut cases = 0;
    for suite in &read.suites {
        let count = |is: fn(&junit_parser::TestStatus) -> bool| {
            suite.cases.iter().filter(|case| is(&case.status)).count() as u64
        };
        assert_eq!(suite.tests, suite.cases.len() as u64, "{}", suite.name);
        assert_eq!(
            suite.failures,
            count(|status| status.is_failure()),
            "{}",
            suite.name
        );
        assert_eq!(suite.errors, count(|status| status.is_error()), "{}", suite.name);
        assert_eq!(
            suite.skipped,
            count(|status| status.is_skipped()),
            "{}",
            suite.name
        );
        let told = suite.system_out.as_deref().unwrap_or_default();
        for part in [
            "not conformant",
            "partial: stopped by a signal",
            "hub: context hub",
            "has expired on",
        ] {
            assert!(told.contains(part), "{part}: {told}");
        }
        let property = |name: &str| {
            let found = suite.properties.vec.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.as_str())
        };
        assert_eq!(property("decision"), json["decision"].as_str());
        assert_eq!(property("edition"), json["edition"].as_str());
        assert_eq!(property("hub"), Some("context hub"));
        for case in &suite.cases {
            cases += 1;
            let told = case
                .status
                .is_failure()
                .then_some("fail")
                .or_else(|| case.status.is_error().then_some("inconclusive"));
            let told = told.unwrap_or_else(|| {
                if case.status.is_skipped() {
                    &case.status.skipped_as_ref().skipped_type
                } else {
                    "pass"
                }
            });
            assert_eq!(verdicts[&*case.original_name], told, "{}", case.original_name);
        }
    }
    assert_eq!(cases, verdicts.len());
}

/// Of a case that did not pass each reader shows the message, the text or both: each says what is the matter.
#[test]
fn what_did_not_pass_says_so_wherever_it_is_looked_at() {
    let world = World::violating();
    let text = world.report(|report| written_as("junit", report));
    let read = junit_parser::from_reader(text.as_bytes()).expect("JUnit");
    let cases = || read.suites.iter().flat_map(|suite| &suite.cases);
    let waived = cases()
        .filter(|case| case.status.is_skipped())
        .map(|case| case.status.skipped_as_ref());
    let waived: Vec<_> = waived
        .filter(|skipped| skipped.skipped_type == "waived")
        .collect();
    assert_eq!(waived.len(), 1);
    for told in [&waived[0].message, &waived[0].text] {
        assert!(
            told.contains("waived: ") && told.contains("until 2027-01-01: legacy (https://issues.example/1)"),
            "{told}"
        );
    }
    let warned = cases()
        .filter(|case| case.status.is_skipped())
        .map(|case| case.status.skipped_as_ref())
        .filter(|skipped| skipped.skipped_type == "warn");
    let mut warnings = 0;
    for warning in warned {
        warnings += 1;
        assert!(
            warning.message.starts_with("warning: 1 finding"),
            "{}",
            warning.message
        );
        assert!(warning.text.contains("remedy: "), "{}", warning.text);
    }
    assert!(warnings > 0);
    for case in cases().filter(|case| case.status.is_failure()) {
        let failure = case.status.failure_as_ref();
        assert!(failure.message.contains("examined: "), "{}", failure.message);
        let class = case.classname.as_deref().unwrap_or_default();
        assert!(class.ends_with(&format!(".{}", failure.failure_type)), "{class}");
        for part in [&failure.message, "observed: ", "remedy: "] {
            assert!(failure.text.contains(part), "{part}: {}", failure.text);
        }
    }
    for case in cases().filter(|case| case.status.is_error()) {
        let error = case.status.error_as_ref();
        assert!(
            error.message.starts_with("inconclusive: ") && error.text.contains(&error.message),
            "{}",
            error.text
        );
    }
}

#[test]
fn a_should_counts_under_strict() {
    let mut world = World::violating();
    world.evidence.header.claim.strict = true;
    let strict = World::of(world.evidence);
    let text = strict.report(|report| written_as("junit", report));
    let read = junit_parser::from_reader(text.as_bytes()).expect("JUnit");
    let mut cases = read.suites.iter().flat_map(|suite| &suite.cases);
    assert!(
        cases.any(|case| case.status.is_failure() && case.status.failure_as_ref().failure_type == "SHOULD")
    );
}
