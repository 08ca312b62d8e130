//! An example's slices of decisions.

use evidence::api::{Edition, PlacementDecision, names};
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::{
    conforming::{api_version, text, without_kind},
    staged::Staged,
    time::stamp,
};

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
        let owner = json!({
            "apiVersion": "example.com/v1", "kind": "Placement", "name": base,
            "uid": format!("uid-{namespace}-{base}"), "controller": true,
        });
        let created = stamp(created);
        let label = |key: &str| format!("metadata.labels[{key}]");
        json!({
            "apiVersion": format!("{}/{}", names::GROUP, api_version(edition)),
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": format!("uid-{namespace}-{name}"),
                "generation": 1,
                "creationTimestamp": created,
                "labels": {names::LABEL_DECISION_KEY: base, names::LABEL_DECISION_INDEX: index},
                "ownerReferences": [owner],
                "writers": [{
                    "manager": scheduler, "operation": "Update", "time": created,
                    "owns": ["decisions", label(names::LABEL_DECISION_INDEX), label(names::LABEL_DECISION_KEY), "schedulerName"],
                }],
            },
            "schedulerName": scheduler,
            "decisions": default_decisions(),
        })
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
