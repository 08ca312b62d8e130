//! A rule file's examples, parsed on demand: judging needs none, and they are most of the file.

use std::{ops::Deref, sync::OnceLock};

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::Value;

/// The last key of a file, which begins the examples.
const KEY: &str = "\nexamples:\n";

/// The examples of a rule, as its file gives them.
#[derive(Clone, Debug, Default)]
pub struct Examples {
    /// YAML: one key, `examples`.
    text: String,
    read: OnceLock<Vec<Value>>,
}

/// Reads YAML of a rule's file.
pub(super) fn read_yaml<T: DeserializeOwned>(text: &str) -> Result<T, serde_saphyr::Error> {
    // Otherwise a bare `n` or `y` in an example would be a boolean.
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(text, options)
}

impl Examples {
    /// Cuts the examples off a rule's file. Leaves them if they are not the last top-level key.
    pub(super) fn cut(file: &str) -> (&str, Option<Self>) {
        let Some(place) = file.find(KEY) else {
            return (file, None);
        };
        let (facts, examples) = file.split_at(place + 1);
        // Keeps the line numbers of the file in errors.
        let text = "\n".repeat(facts.lines().count()) + examples;
        let read = OnceLock::new();
        (facts, Some(Self { text, read }))
    }

    /// Whether the file has no examples, not even an empty list.
    pub(super) fn are_missing(&self) -> bool {
        self.text.is_empty() && self.read.get().is_none()
    }

    fn parse(&self) -> Vec<Value> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Only {
            examples: Vec<Value>,
        }
        let read: Result<Only, _> = read_yaml(&self.text);
        // The files are compiled in, and a test parses each of them.
        read.unwrap_or_else(|error| panic!("failed to read examples: {error}"))
            .examples
    }
}

impl Deref for Examples {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        self.read.get_or_init(|| self.parse())
    }
}

impl<'de> Deserialize<'de> for Examples {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let examples = Vec::deserialize(deserializer)?;
        Ok(Self {
            text: String::new(),
            read: OnceLock::from(examples),
        })
    }
}
