//! Searches texts and documents for credentials.
//!
//! This file and `finds.rs` call each other, and have to: a document holds texts, and a text may hold base64 of another
//! document. [`DEEPEST`] bounds the recursion.

use serde_json::Value;

use super::{Grade, Leak, finds::finds_within, keys::named, patterns::may_hold};
use crate::digest::read_yaml;

/// How many documents in one another are looked into.
pub(super) const DEEPEST: usize = 6;

/// How many leaks of one text are told.
const MOST: usize = 20;

/// How much of a key a place shows.
const SHOWN: usize = 60;

/// The credentials in a text, surer ones than such that are only shaped so.
pub fn leaks_in_text(text: &str) -> Vec<Leak> {
    leaks_within(text, 0)
}

/// The same for the text of a field with that name.
pub fn leaks_under(key: &str, text: &str) -> Vec<Leak> {
    let mut found = Found::default();
    found.text(Some(key), text, 0);
    found.leaks
}

/// The same for a document.
pub fn leaks_in_value(value: &Value) -> Vec<Leak> {
    let mut found = Found::default();
    found.value(None, value, 0);
    found.leaks
}

/// The same for a text that was found so deep in another.
pub(super) fn leaks_within(text: &str, depth: usize) -> Vec<Leak> {
    let mut found = Found::default();
    found.text(None, text, depth);
    found.leaks
}

/// What was found, and where the search is.
#[derive(Default)]
struct Found {
    leaks: Vec<Leak>,
    place: String,
}

impl Found {
    fn text(&mut self, key: Option<&str>, text: &str, depth: usize) {
        let before = self.leaks.len();
        if may_hold(text) {
            self.inside(text, depth);
        }
        let is_told = self.leaks[before..]
            .iter()
            .any(|leak| leak.grade == Grade::Certain);
        if let Some((kind, grade)) = key.and_then(|key| named(key, text))
            && !is_told
        {
            self.leaks.truncate(before);
            self.add(Leak {
                kind,
                grade,
                length: text.len(),
                place: self.place.clone(),
                encoded: false,
            });
        }
    }

    /// A document is searched value by value, any other text as it is.
    fn inside(&mut self, text: &str, depth: usize) {
        match document(text, depth) {
            Some(Document::Json(value)) => return self.value(None, &value, depth + 1),
            Some(Document::Yaml(value)) => {
                let before = self.leaks.len();
                self.value(None, &value, depth + 1);
                if self.leaks.len() > before {
                    return;
                }
            }
            None => {}
        }
        for find in finds_within(text, depth) {
            if find.grade > Grade::Shaped {
                self.add(Leak {
                    kind: find.kind,
                    grade: find.grade,
                    length: find.length,
                    place: self.place.clone(),
                    encoded: find.encoded,
                });
            }
        }
    }

    fn value(&mut self, key: Option<&str>, value: &Value, depth: usize) {
        match value {
            Value::String(text) => self.text(key, text, depth),
            Value::Array(items) => {
                let mut option = None;
                for (index, item) in items.iter().enumerate() {
                    // Behind an option stands its value.
                    self.within(&format!("[{index}]"), |found| {
                        found.value(option.or(key), item, depth)
                    });
                    option = item
                        .as_str()
                        .filter(|item| item.starts_with('-') && !item.contains('='))
                        .map(|item| item.trim_start_matches('-'));
                }
            }
            Value::Object(fields) => {
                // The list of variables that a container or a plugin is given.
                let variable = fields.get("name").and_then(Value::as_str);
                for (name, value) in fields {
                    let known_as = match (name.as_str(), variable) {
                        ("value", Some(variable)) => variable,
                        (name, _) => name,
                    };
                    self.within(&format!(".{}", short(name)), |found| {
                        found.text(None, name, depth);
                        found.value(Some(known_as), value, depth);
                    });
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn within(&mut self, step: &str, search: impl FnOnce(&mut Self)) {
        if self.leaks.len() >= MOST {
            return;
        }
        let length = self.place.len();
        self.place.push_str(step);
        search(self);
        self.place.truncate(length);
    }

    fn add(&mut self, leak: Leak) {
        if self.leaks.len() < MOST {
            self.leaks.push(leak);
        }
    }
}

enum Document {
    Json(Value),
    Yaml(Value),
}

/// The text as a mapping or a list, where it is one.
fn document(text: &str, depth: usize) -> Option<Document> {
    if depth >= DEEPEST {
        return None;
    }
    let is_some = |value: &Value| value.is_object() || value.is_array() || value.is_string();
    if text.trim_start().starts_with(['{', '[', '"'])
        && let Ok(value) = serde_json::from_str(text)
    {
        return Some(value).filter(is_some).map(Document::Json);
    }
    // On one line, a colon is as likely one of a sentence.
    let may_be_yaml = text.trim().contains('\n') && text.contains(':');
    let value = may_be_yaml.then(|| read_yaml(text).ok()).flatten()?;
    Some(value)
        .filter(|value| value.is_object() || value.is_array())
        .map(Document::Yaml)
}

fn short(key: &str) -> String {
    match key.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &key[..end]),
        None => key.to_owned(),
    }
}
