//! HTML, as a browser reads it.

use quick_xml::{Reader, events::Event};

/// Elements nest, nothing runs or loads, ids are unique, and links lead to an id or to a cited document.
pub fn is_inert(page: &str) {
    assert!(page.starts_with("<!DOCTYPE html>"), "{}", &page[..40]);
    let mut reader = Reader::from_str(page);
    let mut ids = Vec::new();
    loop {
        let event = reader.read_event();
        match event.unwrap_or_else(|error| panic!("{error} at {}", reader.error_position())) {
            Event::Start(element) | Event::Empty(element) => {
                let forbidden = [
                    "script", "img", "link", "iframe", "object", "embed", "base", "image", "use",
                ];
                assert!(!forbidden.contains(&element.name().as_ref()), "{page}");
                for attribute in element.attributes() {
                    let attribute = attribute.expect("an attribute");
                    let (key, value) = (attribute.key.as_ref(), attribute.value);
                    assert!(!key.starts_with("on") && key != "style" && key != "src", "{key}");
                    let leads_on = match value.strip_prefix('#') {
                        Some(id) => page.contains(&format!("id=\"{id}\"")),
                        None => value.starts_with("https://github.com/") && value.contains("/blob/"),
                    };
                    assert!(key != "href" || leads_on, "leads nowhere: {value}");
                    if key == "id" {
                        assert!(!ids.contains(&value.to_string()), "two of {value}");
                        ids.push(value.to_string());
                    }
                }
            }
            Event::Eof => break,
            _ => {}
        }
    }
    assert!(!page.contains('\u{202e}') && !page.contains('\0'));
}
