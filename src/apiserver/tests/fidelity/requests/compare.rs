//! Finds differences between two answers, and separates the known ones (`fixtures/fidelity/divergences.yaml`).

use std::{collections::BTreeSet, fmt};

use serde_json::{Value, json};

use crate::{
    requests::{
        player::Answer,
        script::{Script, folder},
    },
    scripts::{Divergence, read_divergences},
};

/// The path of a different status code. The values are code and body.
pub const CODE: &str = "/code";

#[derive(Debug)]
pub struct Difference {
    pub step: String,
    /// A JSON pointer into the answer: `/body/metadata/name`.
    pub path: String,
    /// `None` if only the real API server has it.
    pub ours: Option<Value>,
    /// `None` if only this server has it.
    pub real: Option<Value>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), Value::to_string);
        let (step, path) = (&self.step, &self.path);
        let (ours, real) = (shown(&self.ours), shown(&self.real));
        write!(f, "{step} › {path}\n    ours:  {ours}\n    real: {real}")
    }
}

pub fn differences(ours: &[Answer], real: &[Answer]) -> Vec<Difference> {
    assert_eq!(ours.len(), real.len(), "both hubs play the same steps");
    let mut found = Vec::new();
    for (ours, real) in ours.iter().zip(real) {
        assert_eq!(ours.step, real.step, "both hubs play the steps in the same order");
        if ours.code != real.code {
            // Nothing else can agree then: the bodies only explain the codes.
            let code_and_body = |answer: &Answer| Some(json!([answer.code, answer.value["body"]]));
            found.push(Difference {
                step: real.step.clone(),
                path: CODE.to_owned(),
                ours: code_and_body(ours),
                real: code_and_body(real),
            });
            continue;
        }
        let (ours, theirs) = (Some(&ours.value), Some(&real.value));
        walk(&real.step, String::new(), ours, theirs, &mut found);
    }
    found
}

fn walk(step: &str, path: String, ours: Option<&Value>, real: Option<&Value>, found: &mut Vec<Difference>) {
    match (ours, real) {
        (Some(Value::Object(left)), Some(Value::Object(right))) => {
            let keys: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
            for key in keys {
                let path = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
                walk(step, path, left.get(key), right.get(key), found);
            }
        }
        (Some(Value::Array(left)), Some(Value::Array(right))) => {
            for index in 0..left.len().max(right.len()) {
                let path = format!("{path}/{index}");
                walk(step, path, left.get(index), right.get(index), found);
            }
        }
        _ if ours == real => {}
        _ => found.push(Difference {
            step: step.to_owned(),
            path,
            ours: ours.cloned(),
            real: real.cloned(),
        }),
    }
}

pub struct Table(Vec<Divergence>);

/// Whether a difference is that of a step, and at a path or below it.
fn pins(step: &str, path: &str, difference: &Difference) -> bool {
    let below = difference.path.strip_prefix(path);
    difference.step == step && below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl Table {
    pub fn read(scripts: &[Script]) -> Self {
        Self(read_divergences(&folder(), |name| {
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
            let steps = place.steps.iter();
            for (step, path) in steps.flat_map(|step| place.paths.iter().map(move |path| (step, path))) {
                let is_pinned = |difference: &Difference| pins(step, path, difference);
                let (pinned, others): (Vec<_>, Vec<_>) = left.into_iter().partition(is_pinned);
                left = others;
                if pinned.is_empty() && !known.iter().any(is_pinned) {
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
}
