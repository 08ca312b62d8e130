//! The file as it is written.

use std::{fmt, path::Path};

use anyhow::anyhow;
use evidence::{
    About,
    api::UnknownName,
    user_file::{self, UserFileError},
};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::Value;
use serde_saphyr::Spanned;

use super::keys::{ABOUT, API_VERSION, KIND, Key, Kind, camel_case, is_for_one_call};
use crate::command::{flags::waivers::text, terminal::exit::Failure};

/// What a file says, each of its keys known.
#[derive(Debug)]
pub struct File {
    /// What it says of flags, in its order.
    pub settings: Vec<Setting>,
    /// What it says of the run, for the report to submit.
    pub about: About,
}

/// What it says of one flag.
#[derive(Debug)]
pub struct Setting {
    /// The key.
    pub key: Key,
    /// Where it stands.
    pub line: u64,
    /// The values: of a switch that is set, none.
    pub values: Vec<String>,
}

/// The text, with its keys as they stand there.
struct Text {
    api_version: Option<String>,
    kind: Option<String>,
    about: About,
    entries: Vec<(Spanned<String>, Value)>,
}

impl File {
    /// Reads it.
    ///
    /// # Errors
    /// When it cannot be read or used: names the file, the line and the key.
    pub fn read(path: &Path, keys: &[Key]) -> Result<Self, Failure> {
        let text = text("configuration", path)?;
        Self::parse(&text, keys).map_err(|error| unusable(path, &error.to_string()))
    }

    /// Reads its text.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn parse(text: &str, keys: &[Key]) -> Result<Self, ConfigError> {
        let text: Text = user_file::read(text)?;
        for (key, found, wanted) in [
            ("apiVersion", &text.api_version, API_VERSION),
            ("kind", &text.kind, KIND),
        ] {
            match found {
                Some(found) if found == wanted => {}
                Some(found) => {
                    return Err(ConfigError::OtherHead {
                        key,
                        found: found.clone(),
                        wanted,
                    });
                }
                None => return Err(ConfigError::NoHead { key, wanted }),
            }
        }
        let mut settings = Vec::new();
        for (name, value) in text.entries {
            let line = name.referenced.line();
            let at = |source| ConfigError::Key { line, source };
            let key = named(&name.value, keys).map_err(at)?;
            if let Some(values) = values(key, &value).map_err(at)? {
                settings.push(Setting {
                    key: key.clone(),
                    line,
                    values,
                });
            }
        }
        Ok(Self {
            settings,
            about: text.about,
        })
    }
}

/// What is wrong with a configuration file, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// It is no YAML of that shape.
    #[error(transparent)]
    Text(#[from] UserFileError),
    /// It is none of this suite's.
    #[error("its `{key}` is `{found}`: this suite reads `{wanted}`")]
    OtherHead {
        /// `apiVersion` or `kind`.
        key: &'static str,
        /// What it says.
        found: String,
        /// What it should say.
        wanted: &'static str,
    },
    /// It does not say what it is.
    #[error("it has no `{key}`: begin it with `{key}: {wanted}`")]
    NoHead {
        /// `apiVersion` or `kind`.
        key: &'static str,
        /// What it should say.
        wanted: &'static str,
    },
    /// A key, or its value, cannot be.
    #[error("line {line}: {source}")]
    Key {
        /// Where it stands.
        line: u64,
        /// What is wrong with it.
        source: KeyError,
    },
}

/// What is wrong with a key of a configuration file, or with its value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// It belongs to a single call of the command.
    #[error("`{0}` is no key: give it on the command line")]
    ForOneCall(String),
    /// There is none of that name; a slip gets the nearest one.
    #[error("{name}{}", if name.nearest.is_some() { "" } else { ": the keys are the flags of `run` in camelCase, `implementation`, `submittedBy` and `environment`" })]
    Unknown {
        /// The name, and the nearest known one.
        #[from]
        name: UnknownName,
    },
    /// It has no value.
    #[error("`{0}` says nothing: give it a value, or leave it out")]
    Empty(String),
    /// Its value is none of its type.
    #[error("`{key}` should be {expected}")]
    Type {
        /// The key.
        key: String,
        /// What its value should be, and what to do.
        expected: &'static str,
    },
}

/// An error that names the file.
pub fn unusable(path: &Path, flaw: &str) -> Failure {
    Failure::usage(anyhow!(
        "the configuration {} cannot be used: {flaw}",
        path.display()
    ))
}

fn named<'a>(name: &str, keys: &'a [Key]) -> Result<&'a Key, KeyError> {
    if let Some(key) = keys.iter().find(|key| key.name == name) {
        return Ok(key);
    }
    // The flag's own name is no slip worth a guess.
    let given = camel_case(name);
    if is_for_one_call(&name.replace('-', "_")) || ["printConfig"].contains(&name) {
        return Err(KeyError::ForOneCall(name.to_owned()));
    }
    let known = keys.iter().map(|key| &*key.name).chain(ABOUT);
    let mut error = UnknownName::among("key", &given, known);
    name.clone_into(&mut error.given);
    Err(error.into())
}

/// The values of a key; none where it says no more than its absence would.
fn values(key: &Key, value: &Value) -> Result<Option<Vec<String>>, KeyError> {
    let wrong = |expected| KeyError::Type {
        key: key.name.to_string(),
        expected,
    };
    let text = |value: &Value| match value {
        Value::String(text) => Ok(text.clone()),
        Value::Null => Err(KeyError::Empty(key.name.to_string())),
        _ => Err(wrong("text: put it in quotes")),
    };
    match (key.kind, value) {
        (Kind::Switch, Value::Bool(set)) => Ok(set.then(Vec::new)),
        (Kind::Switch, _) => Err(wrong("true or false")),
        (Kind::Number, value) => match value.as_u64() {
            Some(number) => Ok(Some(vec![number.to_string()])),
            None => Err(wrong("a whole number, 0 or more")),
        },
        (Kind::List, Value::Array(list)) => {
            let texts: Vec<String> = list.iter().map(text).collect::<Result<_, _>>()?;
            Ok((!texts.is_empty()).then_some(texts))
        }
        (Kind::Text, Value::Array(_)) => Err(wrong("one text, and no list")),
        (Kind::List | Kind::Text, value) => Ok(Some(vec![text(value)?])),
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "keys and values, such as `apiVersion: {API_VERSION}`")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Text, M::Error> {
                let mut text = Text {
                    api_version: None,
                    kind: None,
                    about: About::default(),
                    entries: Vec::new(),
                };
                while let Some(key) = map.next_key::<Spanned<String>>()? {
                    match &*key.value {
                        "apiVersion" => text.api_version = Some(map.next_value()?),
                        "kind" => text.kind = Some(map.next_value()?),
                        "implementation" => text.about.implementation = Some(map.next_value()?),
                        "submittedBy" => text.about.submitted_by = Some(map.next_value()?),
                        "environment" => text.about.environment = Some(map.next_value()?),
                        _ => text.entries.push((key, map.next_value()?)),
                    }
                }
                Ok(text)
            }
        }

        deserializer.deserialize_map(Entries)
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use proptest::prelude::*;

    use super::*;
    use crate::command::{cli::Cli, config::keys::keys};

    fn parse(text: &str) -> Result<File, ConfigError> {
        let whole = Cli::command();
        File::parse(text, &keys(whole.find_subcommand("run").expect("it is there")))
    }

    fn with(line: &str) -> String {
        format!("apiVersion: {API_VERSION}\nkind: {KIND}\n{line}\n")
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        for (text, told) in [
            ("", "begin it with `apiVersion:"),
            ("[]", "not the YAML"),
            ("kind: Configuration", "begin it with `apiVersion:"),
            (
                "apiVersion: conformance.clusterprofile/v1\nkind: Config",
                "`kind` is `Config`",
            ),
            ("apiVersion: v1\nkind: Configuration", "this suite reads"),
            (
                &with("cluster-manager: x"),
                "line 3: unknown key `cluster-manager`: did you mean `clusterManager`?",
            ),
            (&with("clean: true"), "line 3: `clean` is no key"),
            (&with("zzz: true"), "the flags of `run` in camelCase"),
            (&with("context: 5"), "`context` should be text"),
            (&with("context:"), "`context` says nothing"),
            (&with("context: [a]"), "one text, and no list"),
            (&with("namespace: [a, {}]"), "line 3: `namespace` should be text"),
            (&with("strict: yes"), "`strict` should be true or false"),
            (&with("nodeTolerance: -1"), "whole number"),
            (&with("strict: true\nstrict: true"), "`strict` is given twice"),
            (
                &with("implementation: {name: x}"),
                "line 3, column 18: unknown key `name`",
            ),
            (&with("a: ["), "not the YAML"),
        ] {
            let flaw = parse(text).expect_err(text).to_string();
            assert!(flaw.contains(told), "{text}: {flaw}");
        }
    }

    #[test]
    fn what_is_as_without_it_adds_nothing() {
        let file = parse(&with("strict: false\nskip: []\nnamespace: fleet")).expect("it fits");
        assert_eq!(file.settings.len(), 1);
        assert_eq!(file.settings[0].values, ["fleet"]);
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(
            text in "\\PC{0,80}",
            lines in proptest::collection::vec(("[a-zA-Z-]{1,12}|observe|members|implementation", "[ -~\n\t]{0,24}"), 0..4),
        ) {
            _ = parse(&text);
            let lines: Vec<String> = lines.into_iter().map(|(key, value)| format!("{key}: {value}")).collect();
            _ = parse(&with(&lines.join("\n")));
        }
    }
}
