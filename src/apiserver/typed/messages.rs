//! Reads `messages.txt`, the table of Go types.

use std::{collections::HashMap, sync::LazyLock};

/// The type of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    String,
    Int32,
    Int64,
    Bool,
    /// Base64 in JSON.
    Bytes,
    /// With seconds.
    Time,
    /// With microseconds.
    MicroTime,
    Quantity,
    /// Raw JSON: the fields of `managedFields`.
    FieldsV1,
    /// A list of strings with a Go type of its own.
    Extra,
    Message(&'static str),
    List(Merge, Box<Kind>),
    Map(Box<Kind>),
}

/// How two lists are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Merge {
    Atomic,
    Set,
    ByKey(&'static str),
    /// Atomic, but strategic patches merge it by a key.
    PatchedByKey(&'static str),
}

/// When a field is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    Always,
    WhenSent,
    UnlessEmpty,
}

#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) told: Told,
    pub(super) kind: Kind,
}

/// A type with its fields.
#[derive(Debug)]
pub(crate) struct Message {
    pub(super) name: &'static str,
    /// It is atomic: owned as a whole.
    pub(super) atomic: bool,
    pub(super) fields: Vec<Field>,
}

static MESSAGES: LazyLock<HashMap<&'static str, Message>> = LazyLock::new(|| {
    let mut messages: Vec<Message> = Vec::new();
    let lines = include_str!("messages.txt").lines();
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        // An indented line continues the message before it.
        let (start, fields) = line.split_once(": ").unwrap_or(("", line));
        if !start.is_empty() {
            messages.push(Message {
                name: start.trim_end_matches('*'),
                atomic: start.ends_with('*'),
                fields: Vec::new(),
            });
        }
        let fields = fields.split(',').map(str::trim).filter(|field| !field.is_empty());
        let message = messages.last_mut().expect("the table begins with a message");
        message.fields.extend(fields.map(read_field));
    }
    messages
        .into_iter()
        .map(|message| (message.name, message))
        .collect()
});

fn read_field(text: &'static str) -> Field {
    let mut words = text.split(' ');
    let [name, kind] = [(); 2].map(|()| words.next().expect("a field has a name and a kind"));
    let (name, told) = match (name.strip_suffix('!'), name.strip_suffix('?')) {
        (Some(name), _) => (name, Told::Always),
        (_, Some(name)) => (name, Told::WhenSent),
        (None, None) => (name, Told::UnlessEmpty),
    };
    Field {
        name,
        told,
        kind: read_kind(kind),
    }
}

fn read_kind(text: &'static str) -> Kind {
    if let Some(values) = text.strip_prefix("{}") {
        return Kind::Map(Box::new(read_kind(values)));
    }
    if let Some((merge, items)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let merge = match (merge, merge.strip_prefix('~')) {
            ("", _) => Merge::Atomic,
            ("=", _) => Merge::Set,
            (_, Some(key)) => Merge::PatchedByKey(key),
            (key, None) => Merge::ByKey(key),
        };
        return Kind::List(merge, Box::new(read_kind(items)));
    }
    match text {
        "string" => Kind::String,
        "int32" => Kind::Int32,
        "int64" => Kind::Int64,
        "bool" => Kind::Bool,
        "bytes" => Kind::Bytes,
        "Time" => Kind::Time,
        "MicroTime" => Kind::MicroTime,
        "Quantity" => Kind::Quantity,
        "FieldsV1" => Kind::FieldsV1,
        "Extra" => Kind::Extra,
        name => Kind::Message(name),
    }
}

/// The message of this name. The table must have it.
pub(super) fn known(name: &str) -> &'static Message {
    MESSAGES.get(name).expect("a name within the table")
}

/// The message of a built-in kind, or of request options, if the table has it.
pub(crate) fn message_of(group: &str, kind: &str) -> Option<&'static Message> {
    let message = match (group, kind) {
        ("events.k8s.io", "Event") => known("events.Event"),
        _ => MESSAGES.get(kind)?,
    };
    let mut fields = message.fields.iter();
    (kind == "DeleteOptions" || fields.any(|field| field.name == "metadata")).then_some(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each type that a field names exists, and names are unique.
    #[test]
    fn the_table_is_whole() {
        fn check(kind: &Kind) {
            match kind {
                Kind::Message(name) => assert!(MESSAGES.contains_key(name), "{name}"),
                Kind::List(_, items) | Kind::Map(items) => check(items),
                _ => {}
            }
        }
        for message in MESSAGES.values() {
            assert!(!message.fields.is_empty(), "{}", message.name);
            for field in &message.fields {
                check(&field.kind);
                let alike = |other: &&Field| other.name == field.name;
                assert_eq!(
                    message.fields.iter().filter(alike).count(),
                    1,
                    "{} {}",
                    message.name,
                    field.name
                );
            }
        }
    }
}
