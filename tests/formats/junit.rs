//! JUnit, by what its readers' schemas ask: that of Jenkins's xunit plugin, version 10, which the plugin holds reports
//! against, and that of Surefire, version 3.0.2.

use std::collections::BTreeMap;

use judge::Verdict;
use serde_json::Value;

use super::{
    format,
    world::World,
    written,
    xml::{self, Element},
};

/// What a schema says of an element: its attributes, those that it must have, and the elements inside of it, in this
/// order where there is one.
struct Known {
    name: &'static str,
    attributes: &'static [&'static str],
    required: &'static [&'static str],
    children: &'static [&'static str],
    /// Whether text stands inside.
    text: bool,
    ordered: bool,
}

const JENKINS: &[Known] = &[
    Known {
        name: "testsuites",
        attributes: &["name", "time", "tests", "failures", "errors"],
        required: &[],
        children: &["testsuite"],
        text: false,
        ordered: false,
    },
    Known {
        name: "testsuite",
        attributes: &[
            "name",
            "tests",
            "failures",
            "errors",
            "group",
            "time",
            "skipped",
            "timestamp",
            "hostname",
            "id",
            "package",
            "file",
            "log",
            "url",
            "version",
        ],
        required: &["name", "tests", "failures", "errors"],
        children: &["testsuite", "properties", "testcase", "system-out", "system-err"],
        text: false,
        ordered: false,
    },
    Known {
        name: "testcase",
        attributes: &["name", "time", "classname", "group"],
        required: &["name"],
        children: &[
            "skipped",
            "error",
            "failure",
            "rerunFailure",
            "rerunError",
            "flakyFailure",
            "flakyError",
            "system-out",
            "system-err",
        ],
        text: false,
        ordered: false,
    },
    outcome("failure"),
    outcome("error"),
    outcome("skipped"),
    text("system-out"),
];

/// Without a root of many suites, which Surefire writes into files of their own.
const SUREFIRE: &[Known] = &[
    Known {
        name: "testsuite",
        attributes: &[
            "version",
            "name",
            "time",
            "timestamp",
            "tests",
            "errors",
            "skipped",
            "failures",
            "flakes",
            "group",
        ],
        required: &["name", "tests", "errors", "skipped", "failures"],
        // It has no `system-out` of a suite's own; its readers pass over what they do not know.
        children: &["properties", "testcase", "system-out"],
        text: false,
        ordered: true,
    },
    Known {
        name: "testcase",
        attributes: &["name", "classname", "group", "time", "timestamp"],
        required: &["name", "time"],
        children: &[
            "failure",
            "rerunFailure",
            "flakyFailure",
            "skipped",
            "error",
            "rerunError",
            "flakyError",
            "system-out",
            "system-err",
        ],
        text: false,
        ordered: true,
    },
    outcome("failure"),
    outcome("error"),
    // It has no `type` there: the crate that writes it does.
    outcome("skipped"),
    text("system-out"),
];

const fn outcome(name: &'static str) -> Known {
    Known {
        name,
        attributes: &["type", "message"],
        required: &[],
        children: &[],
        text: true,
        ordered: false,
    }
}

const fn text(name: &'static str) -> Known {
    Known {
        name,
        attributes: &[],
        required: &[],
        children: &[],
        text: true,
        ordered: false,
    }
}

/// Reads a report as a parser and both schemas do.
pub fn is_junit(text: &str) {
    let root = xml::read(text);
    assert_eq!(root.name, "testsuites");
    keeps(&root, JENKINS);
    for suite in &root.children {
        keeps(suite, SUREFIRE);
    }
    junit_parser::from_reader(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
}

fn keeps(element: &Element, schema: &[Known]) {
    let name = &element.name;
    let known = schema.iter().find(|known| known.name == name);
    let known = known.unwrap_or_else(|| panic!("an unknown element: {name}"));
    for attribute in element.attributes.keys() {
        assert!(known.attributes.contains(&&**attribute), "{name} has {attribute}");
    }
    for attribute in known.required {
        assert!(
            element.attributes.contains_key(*attribute),
            "{name} has no {attribute}"
        );
    }
    assert!(
        known.text || element.text.trim().is_empty(),
        "{name} has text: {}",
        element.text
    );
    let places: Vec<usize> = element
        .children
        .iter()
        .map(|child| {
            let place = known.children.iter().position(|known| *known == child.name);
            place.unwrap_or_else(|| panic!("{name} has {}", child.name))
        })
        .collect();
    assert!(!known.ordered || places.is_sorted(), "the order inside of {name}");
    for count in ["tests", "failures", "errors", "skipped"] {
        if let Some(count) = element.attributes.get(count) {
            count.parse::<usize>().expect("a number");
        }
    }
    if let Some(time) = element.attributes.get("time") {
        // Jenkins takes no more than three digits behind the point.
        assert_eq!(time, "0");
    }
    if let Some(time) = element.attributes.get("timestamp") {
        time.parse::<jiff::Timestamp>().expect("a time");
    }
    for child in &element.children {
        keeps(child, schema);
    }
}

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
    let (text, json) =
        world.report(|report| (written(format("junit"), report), written(format("json"), report)));
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
        for case in &suite.cases {
            cases += 1;
            let told = case
                .status
                .is_failure()
                .then_some("fail")
                .or_else(|| case.status.is_error().then_some("inconclusive"));
            let told = told.unwrap_or_else(|| match case.status.is_skipped() {
                true => &case.status.skipped_as_ref().skipped_type,
                false
                    if case
                        .system_out
                        .as_ref()
                        .is_some_and(|out| out.starts_with("warning: ")) =>
                {
                    "warn"
                }
                false => "pass",
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
    let text = world.report(|report| written(format("junit"), report));
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
    let text = strict.report(|report| written(format("junit"), report));
    let read = junit_parser::from_reader(text.as_bytes()).expect("JUnit");
    let mut cases = read.suites.iter().flat_map(|suite| &suite.cases);
    assert!(
        cases.any(|case| case.status.is_failure() && case.status.failure_as_ref().failure_type == "SHOULD")
    );
}
