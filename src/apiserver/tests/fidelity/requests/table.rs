//! The known divergences: `fixtures/fidelity/divergences.yaml`.

use super::{
    compare::{CODE, Difference},
    script::{Script, folder},
};
use crate::divergences::{self, Divergence};

/// All known divergences.
pub struct Table(Vec<Divergence>);

/// Whether a difference is that of a step, and at a path or below it.
fn pins(step: &str, path: &str, difference: &Difference) -> bool {
    let below = difference.path.strip_prefix(path);
    difference.step == step && below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl Table {
    /// Reads the table.
    pub fn read(scripts: &[Script]) -> Self {
        Self(divergences::read(&folder(), |name| {
            let script = scripts.iter().find(|script| script.name == name);
            script.map(Script::step_names).unwrap_or_default()
        }))
    }

    /// Removes the known divergences of a script from `found`. Returns the others, and the places where nothing differs
    /// any more.
    pub fn split(&self, script: &str, found: Vec<Difference>) -> (Vec<Difference>, Vec<String>) {
        let places = self.0.iter().flat_map(|entry| &entry.places);
        let (mut left, mut stale) = (found, Vec::new());
        let mut known = Vec::new();
        for place in places.filter(|place| place.script == script) {
            for (step, path) in place
                .steps
                .iter()
                .flat_map(|step| place.paths.iter().map(move |path| (step, path)))
            {
                let (pinned, others): (Vec<_>, Vec<_>) = left
                    .into_iter()
                    .partition(|difference| pins(step, path, difference));
                left = others;
                if pinned.is_empty() && !known.iter().any(|difference| pins(step, path, difference)) {
                    stale.push(format!("{step} › {path}"));
                }
                known.extend(pinned);
            }
        }
        (left, stale)
    }

    /// Whether a step of a script is known to get another status code from this server than from a real one.
    pub fn has_other_code(&self, script: &str, step: &str) -> bool {
        let mut places = self.0.iter().flat_map(|entry| &entry.places);
        places.any(|place| {
            place.script == script
                && place.steps.iter().any(|named| named == step)
                && place.paths.iter().any(|path| path == CODE)
        })
    }

    /// True if this server is known to accept a step that a real one refuses.
    pub fn is_accepted(&self, script: &str, step: &str) -> bool {
        let entries = self.0.iter().filter(|entry| entry.accepts.is_some());
        let mut places = entries.flat_map(|entry| &entry.places);
        places.any(|place| place.script == script && place.steps.iter().any(|named| named == step))
    }

    /// The indexes of the entries that concern a script.
    pub fn entries(&self, script: &str) -> impl Iterator<Item = usize> {
        let concerns = move |entry: &Divergence| entry.places.iter().any(|place| place.script == script);
        let entries = self.0.iter().enumerate();
        entries
            .filter(move |(_, entry)| concerns(entry))
            .map(|(index, _)| index)
    }
}
