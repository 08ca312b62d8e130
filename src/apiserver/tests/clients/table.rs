//! The known divergences: `fixtures/kubectl/divergences.yaml`.

use regex::Regex;
use serde::Deserialize;

use super::{hubs::fixtures, script::Script};

/// All known divergences.
pub struct Table(Vec<Divergence>);

/// A known divergence of kubectl's output, and why it is accepted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Divergence {
    reason: String,
    /// Where it shows. Each command has to differ, or the entry is no longer true.
    places: Vec<Place>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    script: String,
    commands: Vec<String>,
    /// A pattern for the lines that are no matter; all that the command prints, and how it ends, where there is none.
    #[serde(default)]
    lines: Option<String>,
    #[serde(skip)]
    pattern: Option<Regex>,
}

/// One command that is known to differ.
pub struct Pin<'a> {
    /// Tells it from the others of the script.
    pub index: usize,
    pub command: &'a str,
    pub lines: Option<&'a Regex>,
}

impl Table {
    /// Reads the table; each entry has a reason and names commands that there are.
    pub fn read(scripts: &[Script]) -> Self {
        let path = fixtures().join("divergences.yaml");
        let text = std::fs::read_to_string(&path).expect("the table of divergences is readable");
        let mut entries: Vec<Divergence> =
            serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for entry in &mut entries {
            assert!(!entry.reason.is_empty() && !entry.places.is_empty(), "{entry:?}");
            for place in &mut entry.places {
                let script = scripts.iter().find(|script| script.name == place.script);
                let steps = script.map_or(&[][..], |script| &script.commands);
                for command in &place.commands {
                    let known = steps.iter().any(|step| step.command() == command);
                    assert!(
                        known,
                        "divergences.yaml: {} does not run: {command}",
                        place.script
                    );
                }
                let pattern = place.lines.as_deref();
                place.pattern = pattern.map(|lines| Regex::new(lines).expect("a pattern"));
            }
        }
        Self(entries)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// What is known to differ in a script.
    pub fn pins<'a>(&'a self, script: &str) -> Vec<Pin<'a>> {
        let places = self.0.iter().flat_map(|entry| &entry.places);
        let commands = places
            .filter(|place| place.script == script)
            .flat_map(|place| place.commands.iter().map(move |command| (place, command)));
        commands
            .enumerate()
            .map(|(index, (place, command))| Pin {
                index,
                command,
                lines: place.pattern.as_ref(),
            })
            .collect()
    }
}
