//! XML, and JUnit by the schemas of its readers: that of Jenkins's xunit plugin, version 10, and that of Surefire,
//! version 3.0.2.

use std::collections::BTreeMap;

use quick_xml::{
    Reader, XmlVersion,
    escape::resolve_predefined_entity,
    events::{BytesStart, Event},
};

/// A line for each element: its name, its attributes (`!`: required), and its content: elements in any order, `text`, or
/// elements in this order after `in order:`.
const JENKINS: &str = "
testsuites | name time tests failures errors | testsuite
testsuite | name! tests! failures! errors! group time skipped timestamp hostname id package file log url version | testsuite properties testcase system-out system-err
testcase | name! time classname group | skipped error failure rerunFailure rerunError flakyFailure flakyError system-out system-err
";

/// Surefire writes one file per suite. It has no `system-out` of a suite and no `type` of a skipped case; its readers
/// ignore unknown ones.
const SUREFIRE: &str = "
testsuite | version name! time timestamp tests! errors! skipped! failures! flakes group | in order: properties testcase system-out
testcase | name! classname group time! timestamp | in order: failure rerunFailure flakyFailure skipped error rerunError flakyError system-out system-err
";

/// The elements that both schemas share.
const COMMON: &str = "
failure | type message | text
error | type message | text
skipped | type message | text
system-out | type message | text
properties | | property
property | name! value! |
";

/// Reads a report as a parser and both schemas do.
pub fn is_junit(text: &str) {
    let root = read(text);
    assert_eq!(root.name, "testsuites");
    keeps(&root, JENKINS);
    for suite in &root.children {
        keeps(suite, SUREFIRE);
    }
    junit_parser::from_reader(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
}

fn keeps(element: &Element, schema: &str) {
    let name = &element.name;
    let start = format!("{name} |");
    let mut lines = schema.lines().chain(COMMON.lines());
    let known = lines.find_map(|line| line.strip_prefix(&start)?.split_once('|'));
    let (attributes, content) = known.unwrap_or_else(|| panic!("an unknown element: {name}"));
    let attributes: Vec<&str> = attributes.split_whitespace().collect();
    for attribute in element.attributes.keys() {
        let mut known = attributes.iter().map(|known| known.trim_end_matches('!'));
        assert!(known.any(|known| known == attribute), "{name} has {attribute}");
    }
    for required in attributes.iter().filter_map(|known| known.strip_suffix('!')) {
        let is_there = element.attributes.contains_key(required);
        assert!(is_there, "{name} has no {required}");
    }
    let content = content.trim();
    let text = element.text.trim();
    assert!(content == "text" || text.is_empty(), "{name} has text: {text}");
    let (is_ordered, content) = match content.strip_prefix("in order: ") {
        Some(content) => (true, content),
        None => (false, content),
    };
    let place = |child: &Element| content.split(' ').position(|known| known == child.name);
    let place = |child: &Element| place(child).unwrap_or_else(|| panic!("{name} has {}", child.name));
    let places: Vec<usize> = element.children.iter().map(place).collect();
    assert!(!is_ordered || places.is_sorted(), "the order inside of {name}");
    for count in ["tests", "failures", "errors", "skipped"] {
        if let Some(count) = element.attributes.get(count) {
            count.parse::<usize>().expect("a number");
        }
    }
    if let Some(time) = element.attributes.get("time") {
        // Jenkins accepts only three digits after the point.
        assert_eq!(time, "0");
    }
    if let Some(time) = element.attributes.get("timestamp") {
        time.parse::<jiff::Timestamp>().expect("a time");
    }
    for child in &element.children {
        keeps(child, schema);
    }
}

#[derive(Clone, Debug, Default)]
pub struct Element {
    pub name: String,
    pub attributes: BTreeMap<String, String>,
    pub children: Vec<Element>,
    pub text: String,
}

/// Reads a document; fails on one that is not well-formed.
pub fn read(text: &str) -> Element {
    let mut reader = Reader::from_str(text);
    let mut open: Vec<Element> = vec![Element::default()];
    loop {
        let at = reader.buffer_position();
        let event = reader
            .read_event()
            .unwrap_or_else(|error| panic!("at {at}: {error}"));
        let place = open.len() - 1;
        match event {
            Event::Start(start) => open.push(element(&start)),
            Event::Empty(start) => open[place].children.push(element(&start)),
            Event::End(_) => {
                let closed = open.pop().expect("the reader checks that");
                open.last_mut().expect("the document").children.push(closed);
            }
            Event::Text(text) => {
                assert!(!text.contains("]]>"), "a section's end outside of any");
                open[place].text += &text;
            }
            Event::CData(section) => open[place].text += &section,
            Event::GeneralRef(reference) => {
                let character = reference
                    .resolve_char_ref()
                    .expect("a reference")
                    .map(String::from);
                let known = character.or_else(|| resolve_predefined_entity(&reference).map(str::to_owned));
                open[place].text += &known.unwrap_or_else(|| panic!("an unknown reference: {reference:?}"));
            }
            Event::Decl(_) => assert_eq!(at, 0, "a declaration in the middle"),
            Event::Eof => break,
            other => panic!("unexpected: {other:?}"),
        }
    }
    assert_eq!(open.len(), 1, "an element that is never closed");
    let mut roots = open.remove(0).children;
    assert_eq!(roots.len(), 1, "one element holds all");
    roots.remove(0)
}

fn element(start: &BytesStart) -> Element {
    let attributes = start.attributes().map(|attribute| {
        let attribute = attribute.expect("an attribute");
        assert!(!attribute.value.contains('<'), "an angle in an attribute");
        let value = attribute
            .normalized_value(XmlVersion::Explicit1_0)
            .expect("its value");
        (attribute.key.0.to_owned(), value.into_owned())
    });
    Element {
        name: start.name().0.to_owned(),
        attributes: attributes.collect(),
        ..Element::default()
    }
}
