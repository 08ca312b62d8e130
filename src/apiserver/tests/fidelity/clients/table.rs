//! The known divergences: `fixtures/kubectl/divergences.yaml`.

use regex::Regex;

use super::{hubs::fixtures, script::Script};
use crate::divergences::{self, Divergence};

/// All known divergences.
pub struct Table(Vec<Divergence>);

/// One command that is known to differ.
pub struct Pin<'a> {
    /// Its number within the script.
    pub index: usize,
    pub command: &'a str,
    pub lines: Option<Regex>,
    /// This server may accept what a real one refuses.
    pub accepts: bool,
}

impl Table {
    /// Reads the table.
    pub fn read(scripts: &[Script]) -> Self {
        Self(divergences::read(&fixtures(), |name| {
            let script = scripts.iter().find(|script| script.name == name);
            let commands = script.into_iter().flat_map(|script| &script.commands);
            commands.map(|step| step.command()).collect()
        }))
    }

    /// The commands of a script that are known to differ.
    pub fn pins<'a>(&'a self, script: &str) -> Vec<Pin<'a>> {
        let mut pins = Vec::new();
        for entry in &self.0 {
            for place in entry.places.iter().filter(|place| place.script == script) {
                for command in &place.steps {
                    pins.push(Pin {
                        index: pins.len(),
                        command,
                        lines: place
                            .lines
                            .as_deref()
                            .map(|lines| Regex::new(lines).expect("a pattern")),
                        accepts: entry.accepts.is_some(),
                    });
                }
            }
        }
        pins
    }
}
