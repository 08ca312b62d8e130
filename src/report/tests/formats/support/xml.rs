//! XML, read whole.

use std::collections::BTreeMap;

use quick_xml::{
    Reader, XmlVersion,
    escape::resolve_predefined_entity,
    events::{BytesStart, Event},
};

/// An element with all that is in it.
#[derive(Clone, Debug, Default)]
pub struct Element {
    pub name: String,
    pub attributes: BTreeMap<String, String>,
    pub children: Vec<Element>,
    /// The text right inside of it.
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
            other => panic!("nobody has written this: {other:?}"),
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
