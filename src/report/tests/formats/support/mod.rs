//! The formats, each with what reads it, and the hubs that they report on. The root package's tests share it.

pub mod agreement;
pub mod hostile;
pub mod junit;
pub mod markdown;
pub mod sarif;
pub mod world;
pub mod xml;

use std::io;

use anstream::adapter::strip_str;
use report::{
    COMMAND, Report, badge, github, html, json, junit as junit_report, markdown as markdown_report,
    sarif as sarif_report, submitted, terminal, termination_message,
};

/// A format, and what reads it.
pub struct Format {
    pub name: &'static str,
    pub write: fn(&Report, &mut Vec<u8>) -> io::Result<()>,
    /// Reads it as its readers do, and fails where they would.
    pub read: fn(&str),
    /// Whether it is for people, who read no long texts: those are cut there.
    pub for_people: bool,
    /// Whether it quotes what comes from the hub.
    pub quotes: bool,
}

/// All of them. A new format is a new line.
pub const FORMATS: &[Format] = &[
    Format {
        name: "terminal",
        write: |report, into| {
            io::Write::write_all(
                into,
                strip_str(&terminal::after_list(report, COMMAND, Some(80)))
                    .to_string()
                    .as_bytes(),
            )
        },
        read: |_| {},
        for_people: true,
        quotes: true,
    },
    Format {
        name: "annotations",
        write: |report, into| io::Write::write_all(into, github::annotations(report).as_bytes()),
        read: hostile::is_annotations,
        for_people: true,
        quotes: true,
    },
    Format {
        name: "json",
        write: |report, into| json::write(report, into),
        read: is_json,
        for_people: false,
        quotes: true,
    },
    Format {
        name: "junit",
        write: |report, into| junit_report::write(report, into),
        read: junit::is_junit,
        for_people: true,
        quotes: true,
    },
    Format {
        name: "markdown",
        write: |report, into| markdown_report::write(report, into),
        read: markdown::is_markdown,
        for_people: true,
        quotes: true,
    },
    Format {
        name: "sarif",
        write: |report, into| sarif_report::write(report, into),
        read: sarif::is_sarif,
        for_people: true,
        quotes: true,
    },
    Format {
        name: "badge",
        write: |report, into| badge::write(report, into),
        read: |text| drop(xml::read(text)),
        for_people: true,
        quotes: false,
    },
    Format {
        name: "termination message",
        write: |report, into| termination_message::write(report, into),
        read: |text| assert!(text.len() <= 4096, "Kubernetes would cut {text}"),
        for_people: true,
        quotes: false,
    },
    Format {
        name: "html",
        write: |report, into| html::write(report, into),
        read: is_html,
        for_people: true,
        quotes: true,
    },
    Format {
        name: "submitted",
        write: |report, into| submitted::write(report, None, into),
        read: |text| drop(submitted::Document::parse(text).unwrap_or_else(|error| panic!("{error}"))),
        for_people: true,
        quotes: false,
    },
    Format {
        name: "matrix",
        write: |report, into| submitted::write_matrix(report, into),
        read: |text| {
            drop(serde_saphyr::from_str::<serde_json::Value>(text).unwrap_or_else(|error| panic!("{error}")))
        },
        for_people: true,
        quotes: false,
    },
];

/// The report in a format, read by what reads it.
pub fn written(format: &Format, report: &Report) -> String {
    let mut bytes = Vec::new();
    (format.write)(report, &mut bytes).expect("a vector takes all");
    let text = String::from_utf8(bytes).unwrap_or_else(|error| panic!("{}: {error}", format.name));
    (format.read)(&text);
    text
}

/// The format of that name.
pub fn format(name: &str) -> &'static Format {
    FORMATS
        .iter()
        .find(|format| format.name == name)
        .expect("a format")
}

/// Nothing in it comes from elsewhere, and nothing runs but what is its own.
fn is_html(text: &str) {
    assert!(text.starts_with("<!DOCTYPE html>"), "{}", &text[..40]);
    assert_eq!(
        text.matches("<script").count(),
        1,
        "the page has one script, its own"
    );
    for element in ["<img", "<iframe", "<object", "<embed", "<link", "<base"] {
        assert!(!text.contains(element), "{element}");
    }
}

fn is_json(text: &str) {
    serde_json::from_str::<serde_json::Value>(text).unwrap_or_else(|error| panic!("{error}"));
}
