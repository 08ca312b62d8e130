//! Hostile text in every format: harmless, readable, and whole for machines.

use proptest::prelude::*;
use report::escape;

use super::support::{
    formats,
    hostile::{HARMS, LONG, does_no_harm, harmful, long, world},
    written, written_as, xml,
};

#[test]
fn every_format_makes_hostile_text_harmless_and_keeps_it_readable() {
    for harm in HARMS {
        let text = harmful(harm);
        let world = world(std::slice::from_ref(&text));
        for format in &formats() {
            let output = world.report(|report| written(format, report));
            // What the annotations are made of is checked line by line.
            if format.name != "annotations" {
                does_no_harm(format.name, &output);
            }
            if format.reader.quotes {
                // Wrapped lines are one text for whoever reads them.
                let words = output.split_whitespace().collect::<Vec<_>>().join(" ");
                for word in ["begin", "end"] {
                    let word = format!("{word}-{}", harm.0);
                    assert!(words.contains(&word), "{}: {word} is gone: {output}", format.name);
                }
            }
        }
    }
}

#[test]
fn formats_for_people_cut_long_text() {
    let long = world(&[harmful(&HARMS[0]), long()]);
    for format in &formats() {
        let output = long.report(|report| written(format, report));
        if format.reader.for_people && format.name != "annotations" {
            does_no_harm(format.name, &output);
        }
        if format.reader.for_people {
            assert!(output.len() < 4 * LONG, "{}: {} bytes", format.name, output.len());
        }
        match (format.reader.for_people, format.reader.quotes) {
            (true, true) => assert!(output.contains(" more characters"), "{}", format.name),
            // A machine gets all.
            (false, _) => assert!(output.len() > LONG, "{}", format.name),
            _ => {}
        }
    }
}

#[test]
fn a_machine_gets_the_text_as_it_is() {
    for harm in HARMS {
        let text = harmful(harm);
        let output = world(std::slice::from_ref(&text)).report(|report| written_as("json", report));
        let report: serde_json::Value = serde_json::from_str(&output).expect("JSON");
        assert_eq!(report["verdicts"][0]["findings"][0]["observed"], text);
        assert_eq!(report["verdicts"][3]["reason"], text);
        assert_eq!(report["evidence"]["source"], text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(6) })]

    /// Whatever else a text may hold.
    #[test]
    fn no_text_gets_out_of_its_place(text in r"(?s)([\PC\pC]|[|`\\<>&\]\[:#\n-]|::error::|##\[x\]|\]\]>){0,40}") {
        let text = format!("begin-any {text} end-any");
        let world = world(std::slice::from_ref(&text));
        for format in &formats() {
            let output = world.report(|report| written(format, report));
            if format.name != "annotations" {
                does_no_harm(format.name, &output);
            }
        }
        // XML gives back what is shown elsewhere.
        let output = world.report(|report| written_as("junit", report));
        let root = xml::read(&output);
        let case = root.children[0].children.iter().find(|child| child.name == "testcase");
        let first = case.expect("a case").children[0].attributes["message"].clone();
        prop_assert!(first.ends_with(&*escape::line(&text)), "{first}");
    }
}
