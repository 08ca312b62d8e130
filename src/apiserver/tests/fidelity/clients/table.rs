//! The known divergences: `fixtures/kubectl/divergences.yaml`.

use regex::Regex;
use serde::Deserialize;

use super::{hubs::fixtures, script::Script};
use crate::divergences::{self, Divergence, Place};

/// All known divergences.
pub struct Table(Vec<Divergence<Spot>>);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Spot {
    script: String,
    commands: Vec<String>,
    /// A pattern for the lines to ignore. Without one, the whole output and the exit code are ignored.
    #[serde(default)]
    lines: Option<String>,
    #[serde(skip)]
    pattern: Option<Regex>,
}

impl Place for Spot {
    fn script(&self) -> &str {
        &self.script
    }

    fn steps(&self) -> &[String] {
        &self.commands
    }
}

/// One command that is known to differ.
pub struct Pin<'a> {
    /// Its number within the script.
    pub index: usize,
    pub command: &'a str,
    pub lines: Option<&'a Regex>,
    /// This server may accept what a real one refuses.
    pub accepts: bool,
}

impl Table {
    /// Reads the table.
    pub fn read(scripts: &[Script]) -> Self {
        let mut entries: Vec<Divergence<Spot>> = divergences::read(&fixtures(), |name| {
            let script = scripts.iter().find(|script| script.name == name);
            let commands = script.into_iter().flat_map(|script| &script.commands);
            commands.map(|step| step.command()).collect()
        });
        for place in entries.iter_mut().flat_map(|entry| &mut entry.places) {
            let pattern = place.lines.as_deref();
            place.pattern = pattern.map(|lines| Regex::new(lines).expect("a pattern"));
        }
        Self(entries)
    }

    /// The commands of a script that are known to differ.
    pub fn pins<'a>(&'a self, script: &str) -> Vec<Pin<'a>> {
        let mut pins = Vec::new();
        for entry in &self.0 {
            for place in entry.places.iter().filter(|place| place.script == script) {
                for command in &place.commands {
                    pins.push(Pin {
                        index: pins.len(),
                        command,
                        lines: place.pattern.as_ref(),
                        accepts: entry.accepts.is_some(),
                    });
                }
            }
        }
        pins
    }
}
