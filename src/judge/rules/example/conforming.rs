//! Defaults for what examples leave out: a profile, a slice and a Secret that keep every rule.

use evidence::api::{ClusterProfile, Edition, names};
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::{certificates::ca_data, staged::Staged, time::stamp};

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
