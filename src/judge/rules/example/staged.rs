//! The kinds of objects that examples put on the testbed, and the conforming slice of a decision.

use evidence::{
    Tracked,
    api::{Edition, PlacementDecision},
};
use jiff::SignedDuration;
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    conforming::{api_version, conforming, text, without_kind},
    time::stamp,
};

/// A kind of objects that examples put on the testbed.
pub(super) trait Staged: Tracked + Serialize {
    /// The name and namespace that an overlay gives to an object, or their defaults.
    fn key(overlay: &Value) -> (String, String);

    /// The object onto which `overlay` is merged: it keeps every rule.
    fn conforming(overlay: &Value, edition: Edition, created: SignedDuration) -> Value;

    /// The overlay with its short forms written out.
    fn expand(overlay: &Value) -> Value;

    /// Drops the field ownership.
    fn drop_writers(&mut self);
}

/// The scheduler of slices that do not name one.
pub(super) const SCHEDULER: &str = "s";

/// The name of a slice that has none.
const NAME: &str = "web-0";

impl Staged for PlacementDecision {
    fn key(overlay: &Value) -> (String, String) {
        let name = text(overlay, &["metadata", "name"]).unwrap_or(NAME);
        let namespace = text(overlay, &["metadata", "namespace"]).unwrap_or("default");
        (name.to_owned(), namespace.to_owned())
    }

    /// Its decision is what the name says before the number, which is its index. Its placement owns it.
    fn conforming(overlay: &Value, edition: Edition, created: SignedDuration) -> Value {
        let (name, namespace) = Self::key(overlay);
        let scheduler = text(overlay, &["schedulerName"]).unwrap_or(SCHEDULER);
        let numbered = name
            .rsplit_once('-')
            .filter(|(_, index)| index.parse::<u32>().is_ok());
        let (base, index) = numbered.unwrap_or((&name, "0"));
        conforming(
            include_str!("conforming/slice.json"),
            &[
                ("version", api_version(edition)),
                ("name", &name),
                ("namespace", &namespace),
                ("decision", base),
                ("index", index),
                ("scheduler", scheduler),
                ("created", &stamp(created)),
            ],
        )
    }

    /// A decision may be a profile's name, or its namespace and name; a number of decisions stands for `c0`, `c1` and so on.
    fn expand(overlay: &Value) -> Value {
        let mut overlay = without_kind(overlay);
        let decisions = match &overlay["decisions"] {
            Value::Number(count) => {
                let names = (0..count.as_u64().unwrap_or_default()).map(|number| format!("c{number}"));
                names.map(|name| reference(&name)).collect()
            }
            Value::Array(list) => list.iter().map(decision).collect(),
            _ => return overlay,
        };
        overlay["decisions"] = Value::Array(decisions);
        overlay
    }

    fn drop_writers(&mut self) {
        self.metadata.common.writers = None;
    }
}

fn decision(given: &Value) -> Value {
    given.as_str().map_or_else(|| given.clone(), reference)
}

/// The decisions of a slice that lists none.
pub(super) fn default_decisions() -> Value {
    json!([reference("a")])
}

fn reference(path: &str) -> Value {
    let reference = match path.split_once('/') {
        Some((namespace, name)) => json!({"name": name, "namespace": namespace}),
        None => json!({"name": path}),
    };
    json!({"clusterProfileRef": reference})
}

/// The overlays of the profiles that a slice refers to.
pub(super) fn profiles_of(overlay: &Value) -> Vec<Value> {
    let (_, own) = PlacementDecision::key(overlay);
    let whole = PlacementDecision::expand(overlay);
    let default = default_decisions();
    let decisions = whole.get("decisions").unwrap_or(&default);
    let references = decisions.as_array().into_iter().flatten();
    let references = references.filter_map(|decision| {
        let reference = &decision["clusterProfileRef"];
        let name = reference["name"].as_str().filter(|name| !name.is_empty())?;
        let namespace = reference["namespace"].as_str().filter(|name| !name.is_empty());
        Some(json!({"metadata": {"name": name, "namespace": namespace.unwrap_or(&own)}}))
    });
    references.collect()
}
