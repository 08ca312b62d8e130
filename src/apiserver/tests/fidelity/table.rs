//! The known divergences: `fixtures/fidelity/divergences.yaml`.

use serde::Deserialize;

use super::{
    compare::Difference,
    script::{Script, folder},
};

/// All known divergences.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct Table(Vec<Divergence>);

/// A known divergence, and why it is accepted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Divergence {
    reason: String,
    /// Where it shows. Each place has to differ, or the entry is no longer true.
    places: Vec<Place>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    script: String,
    /// Names of steps of the script.
    steps: Vec<String>,
    /// JSON pointers into the answers to these steps; what is below them may differ too.
    paths: Vec<String>,
}

impl Place {
    fn pins(&self, step: &str, path: &str, difference: &Difference) -> bool {
        let below = difference.path.strip_prefix(path);
        difference.step == step && below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl Table {
    /// Reads the table; each entry has a reason and names steps that there are.
    pub fn read(scripts: &[Script]) -> Self {
        let path = folder().join("divergences.yaml");
        let text = std::fs::read_to_string(&path).expect("the table of divergences is readable");
        let table: Self =
            serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for entry in &table.0 {
            assert!(!entry.reason.is_empty() && !entry.places.is_empty(), "{entry:?}");
            for place in &entry.places {
                let script = scripts.iter().find(|script| script.name == place.script);
                let names = script.map(Script::step_names).unwrap_or_default();
                for step in &place.steps {
                    let known = names.contains(&step.as_str());
                    assert!(
                        known,
                        "divergences.yaml: there is no step {} › {step}",
                        place.script
                    );
                }
            }
        }
        table
    }

    /// Takes the known divergences of a script from what was found. Returns what is left, and the places where
    /// nothing differs any more.
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
                    .partition(|difference| place.pins(step, path, difference));
                left = others;
                if pinned.is_empty() && !known.iter().any(|difference| place.pins(step, path, difference)) {
                    stale.push(format!("{step} › {path}"));
                }
                known.extend(pinned);
            }
        }
        (left, stale)
    }

    /// How many entries concern a script.
    pub fn entries(&self, script: &str) -> impl Iterator<Item = usize> {
        let concerns = move |entry: &Divergence| entry.places.iter().any(|place| place.script == script);
        let entries = self.0.iter().enumerate();
        entries
            .filter(move |(_, entry)| concerns(entry))
            .map(|(index, _)| index)
    }
}
