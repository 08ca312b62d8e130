//! The scripts under `fixtures/kubectl/`, one file per subject.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::hubs::fixtures;
use crate::scripts;

/// The command lines of one subject, in a namespace of that name.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The file's name without its extension.
    #[serde(skip)]
    pub name: String,
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    pub commands: Vec<Step>,
}

/// A shell command, run in the folder of the files. `kubectl` is the hub's own; `$NS` is the namespace.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Step {
    Plain(String),
    Failing(Failing),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failing {
    pub run: String,
    /// The exit code with a real API server. Guards against a script that does not do what it means to.
    pub exit: i32,
}

impl Step {
    pub fn command(&self) -> &str {
        match self {
            Self::Plain(command) => command,
            Self::Failing(failing) => &failing.run,
        }
    }

    pub fn exit(&self) -> i32 {
        match self {
            Self::Plain(_) => 0,
            Self::Failing(failing) => failing.exit,
        }
    }
}

impl Script {
    pub fn all() -> Vec<Self> {
        let scripts = scripts::read_all(&fixtures()).into_iter();
        scripts.map(|(name, _, script)| Self { name, ..script }).collect()
    }
}
