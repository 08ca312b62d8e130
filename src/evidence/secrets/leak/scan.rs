//! Searches texts and documents for credentials. A text may hold base64 of another document, up to [`DEEPEST`].

use std::iter;

use serde_json::{Map, Value};

use super::{
    Grade, Leak,
    finds::finds_within,
    keys::{grade_field, grade_number},
    patterns::may_hold,
};
use crate::secrets::digest::read_yaml;

/// The deepest nesting of documents to search.
pub(super) const DEEPEST: usize = 6;

/// The largest number of leaks to report for one text.
const MOST: usize = 20;

/// The length of the text around a credential, in bytes, from which on a find gives the place where the credential begins.
const LONG: usize = 80;

/// The longest key in a path, in characters.
const LONGEST_KEY: usize = 60;

/// Returns the credentials in a text, without those of grade [`Grade::Shaped`].
pub fn leaks_in_text(text: &str) -> Vec<Leak> {
    leaks_within(text, 0)
}

/// Returns the credentials in the text of a field with this name.
pub fn leaks_under(key: &str, text: &str) -> Vec<Leak> {
    let mut search = Search::default();
    search.text(Some(key), text, 0);
    search.leaks
}

#[cfg(test)]
pub(super) fn leaks_in_value(value: &Value) -> Vec<Leak> {
    let mut search = Search::default();
    search.value(None, value, 0);
    search.leaks
}

/// Returns the credentials in a text that is this deep within another one.
pub(super) fn leaks_within(text: &str, depth: usize) -> Vec<Leak> {
    let mut search = Search::default();
    search.text(None, text, depth);
    search.leaks
}

/// The leaks so far, and the current path.
#[derive(Default)]
struct Search {
    leaks: Vec<Leak>,
    place: String,
}

impl Search {
    fn text(&mut self, key: Option<&str>, text: &str, depth: usize) {
        let before = self.leaks.len();
        if may_hold(text) {
            self.inside(text, depth);
        }
        let is_certain = self.leaks[before..]
            .iter()
            .any(|leak| leak.grade == Grade::Certain);
        let by_key = key.and_then(|key| grade_field(key, text));
        if let Some((kind, grade)) = by_key
            && !is_certain
        {
            self.leaks.truncate(before);
            self.add_value(key, text, kind, grade);
        }
    }

    fn number(&mut self, key: Option<&str>, number: &str) {
        if let Some((kind, grade)) = key.and_then(|key| grade_number(key, number)) {
            self.add_value(key, number, kind, grade);
        }
    }

    /// Adds a value as a whole, which its key gave away.
    fn add_value(&mut self, key: Option<&str>, value: &str, kind: &'static str, grade: Grade) {
        self.add(Leak {
            kind,
            grade,
            length: value.len(),
            place: self.place.clone(),
            encoded: false,
            key: key.map(short),
            at: None,
        });
    }

    /// Searches a document value by value, and other text as a whole.
    fn inside(&mut self, text: &str, depth: usize) {
        match document(text, depth) {
            Some(EmbeddedDocument::Json(value)) => return self.value(None, &value, depth + 1),
            Some(EmbeddedDocument::Yaml(value)) => {
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
                    key: find.key.map(|key| short(&text[key])),
                    at: (text.len() - find.range.len() > LONG)
                        .then(|| text[..find.range.start].chars().count() + 1),
                });
            }
        }
    }

    fn value(&mut self, key: Option<&str>, value: &Value, depth: usize) {
        match value {
            Value::String(text) => self.text(key, text, depth),
            Value::Array(items) => {
                for ((index, item), option) in items.iter().enumerate().zip(options(items)) {
                    self.within(&format!("[{index}]"), |search| {
                        search.value(option.or(key), item, depth)
                    });
                }
            }
            Value::Object(fields) => {
                for (name, value) in fields {
                    self.within(&format!(".{}", short(name)), |search| {
                        search.text(None, name, depth);
                        search.value(Some(variable(fields, name)), value, depth);
                    });
                }
            }
            Value::Number(number) => self.number(key, &number.to_string()),
            Value::Null | Value::Bool(_) => {}
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

/// For each item of an array, the option before it: an option's value follows it.
pub(crate) fn options(items: &[Value]) -> impl Iterator<Item = Option<&str>> {
    let names = items.iter().map(|item| {
        let option = item
            .as_str()
            .filter(|item| item.starts_with('-') && !item.contains('='));
        option.map(|option| option.trim_start_matches('-'))
    });
    iter::once(None).chain(names)
}

/// The name of a field's value: that of the field or, in a list of environment variables, the variable's.
pub(crate) fn variable<'v>(fields: &'v Map<String, Value>, name: &'v str) -> &'v str {
    match (name, fields.get("name").and_then(Value::as_str)) {
        ("value", Some(variable)) => variable,
        (name, _) => name,
    }
}

enum EmbeddedDocument {
    Json(Value),
    Yaml(Value),
}

/// Parses a text that is a mapping or a list.
fn document(text: &str, depth: usize) -> Option<EmbeddedDocument> {
    if depth >= DEEPEST {
        return None;
    }
    let is_searchable = |value: &Value| value.is_object() || value.is_array() || value.is_string();
    if text.trim_start().starts_with(['{', '[', '"'])
        && let Ok(value) = serde_json::from_str(text)
    {
        return Some(value).filter(is_searchable).map(EmbeddedDocument::Json);
    }
    // On a single line, a colon may be punctuation.
    let may_be_yaml = text.trim().contains('\n') && text.contains(':');
    let value = may_be_yaml.then(|| read_yaml(text).ok()).flatten()?;
    Some(value)
        .filter(|value| value.is_object() || value.is_array())
        .map(EmbeddedDocument::Yaml)
}

fn short(key: &str) -> String {
    match key.char_indices().nth(LONGEST_KEY) {
        Some((end, _)) => format!("{}…", &key[..end]),
        None => key.to_owned(),
    }
}
