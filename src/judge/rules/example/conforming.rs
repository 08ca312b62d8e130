//! The kinds of objects in examples, and the defaults for what examples leave out: objects that keep every rule.

use evidence::{
    ObjectKey, ObjectRef, Tracked,
    api::{ClusterProfile, Edition, PlacementDecision, names},
};
use jiff::SignedDuration;
use serde::Serialize;
use serde_json::{Value, json};

use super::time::{ca_data, stamp};

/// The manager of profiles that do not name one.
pub(super) const MANAGER: &str = "m";

/// A string in a tree of objects.
pub(super) fn text<'a>(value: &'a Value, path: &[&str]) -> Option<&'a str> {
    path.iter().try_fold(value, |value, key| value.get(key))?.as_str()
}

/// The name and namespace that an overlay gives to a profile, or their defaults.
pub(super) fn key(overlay: &Value) -> (String, String) {
    let name = text(overlay, &["metadata", "name"]).unwrap_or("a");
    let namespace = text(overlay, &["metadata", "namespace"]).unwrap_or("default");
    (name.to_owned(), namespace.to_owned())
}

/// The API version of an edition.
pub(super) fn api_version(edition: Edition) -> &'static str {
    match edition {
        Edition::Standard | Edition::Y2026M07 | Edition::Placement2025M09 | Edition::Consumer2026M07 => {
            "v1alpha1"
        }
        Edition::Y2026M09 | Edition::Placement2026M09 | Edition::Consumer2026M09 => "v1alpha2",
    }
}

/// Reads a file of the folder `conforming`, with values for its placeholders such as `<name>`.
pub(super) fn conforming(template: &str, values: &[(&str, &str)]) -> Value {
    let filled = values
        .iter()
        .fold(template.to_owned(), |text, (placeholder, value)| {
            let quoted = Value::from(*value).to_string();
            text.replace(&format!("<{placeholder}>"), &quoted[1..quoted.len() - 1])
        });
    // The files are compiled in.
    serde_json::from_str(&filled).expect("JSON")
}

impl Staged for ClusterProfile {
    fn key(overlay: &Value) -> (String, String) {
        key(overlay)
    }

    /// It has the overlay's name, namespace and manager.
    fn conforming(overlay: &Value, edition: Edition, created: SignedDuration) -> Value {
        let (name, namespace) = key(overlay);
        let manager = text(overlay, &["spec", "clusterManager", "name"]).unwrap_or(MANAGER);
        let mut profile = conforming(
            include_str!("conforming/profile.json"),
            &[
                ("version", api_version(edition)),
                ("name", &name),
                ("namespace", &namespace),
                ("manager", manager),
                ("created", &stamp(created)),
                ("host", &format!("{name}.{namespace}.example:6443")),
                ("ca", &ca_data("current").unwrap_or_default()),
            ],
        );
        // A name of one letter begins with no prefix: only advice on names minds.
        let prefix = &name[..name.char_indices().next_back().map_or(0, |(last, _)| last)];
        let prefix = Some(prefix).filter(|prefix| !prefix.is_empty() && !name.starts_with(manager));
        profile["metadata"]["generateName"] = prefix.into();
        profile
    }

    fn expand(overlay: &Value) -> Value {
        without_kind(overlay)
    }

    fn drop_writers(&mut self) {
        self.metadata.writers = None;
    }
}

pub(super) fn without_kind(overlay: &Value) -> Value {
    let mut overlay = overlay.clone();
    if let Some(overlay) = overlay.as_object_mut() {
        overlay.remove("kind");
    }
    overlay
}

/// A namespace. One with consumers' Secrets belongs to the consumer of the same name.
pub(super) fn namespace(name: &str, holds_secrets: bool) -> Value {
    let mut labels = json!({});
    if holds_secrets {
        labels[names::LABEL_CONSUMER] = name.into();
    }
    json!({"name": name, "uid": format!("uid-{name}"), "resourceVersion": "1", "labels": labels})
}

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

/// A name, or a namespace and a name.
pub(super) fn path_key(path: &str) -> ObjectKey {
    let (namespace, name) = path.split_once('/').unwrap_or(("default", path));
    ObjectKey {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}

/// A reference to a profile of the example.
pub(super) fn profile_reference(namespace: &str, name: &str) -> ObjectRef {
    ObjectRef {
        kind: names::KIND.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        uid: format!("uid-{namespace}-{name}"),
        resource_version: String::new(),
    }
}
