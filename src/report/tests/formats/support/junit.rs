//! JUnit, by what its readers' schemas ask: that of Jenkins's xunit plugin, version 10, which the plugin holds reports
//! against, and that of Surefire, version 3.0.2.

use super::xml::{self, Element};

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
    PROPERTIES,
    PROPERTY,
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
    // It has no `type` there; its readers pass over what they do not know.
    outcome("skipped"),
    text("system-out"),
    PROPERTIES,
    PROPERTY,
];

const PROPERTIES: Known = Known {
    name: "properties",
    attributes: &[],
    required: &[],
    children: &["property"],
    text: false,
    ordered: false,
};

const PROPERTY: Known = Known {
    name: "property",
    attributes: &["name", "value"],
    required: &["name", "value"],
    children: &[],
    text: false,
    ordered: false,
};

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
