//! The object of a finding as YAML, with the offending lines marked.

use evidence::{
    Evidence, ObjectRef, Tracked,
    api::{ClusterProfile, PlacementDecision, names},
    redact::{redact_value, without_credentials},
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{
    story::named,
    text::{
        difference::leads,
        escape,
        yaml::{self, YamlLine},
    },
};

/// How many characters of a value are shown.
const VALUE: usize = 160;

/// An object of at most so many lines is shown whole.
const WHOLE: usize = 16;

/// How many lines are shown around a marked one.
const AROUND: usize = 3;

/// How many marked lines are shown.
const MARKED: usize = 6;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ExcerptLine {
    Text {
        text: String,
        /// Whether it is an offending line.
        marked: bool,
    },
    /// How many lines are omitted.
    Gap(usize),
}

/// The object in the given version, or in its last one, without credentials and values of Secrets. `None` if the
/// evidence does not have it.
pub(super) fn object(evidence: &Evidence, object: &ObjectRef) -> Option<Value> {
    let is_object = |namespace: &str, name: &str| (namespace, name) == (&object.namespace, &object.name);
    let mut value = match &*object.kind {
        names::KIND => in_full::<ClusterProfile>(evidence, object)?,
        names::PLACEMENT_KIND => in_full::<PlacementDecision>(evidence, object)?,
        "Namespace" => {
            let namespace = evidence.namespaces.iter().find(|one| *one.name == *object.name)?;
            json!({
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": namespace.name, "labels": namespace.labels},
            })
        }
        "Secret" => {
            let secret = evidence
                .secrets
                .iter()
                .find(|one| is_object(&one.namespace, &one.name))?;
            let data = secret
                .keys
                .iter()
                .map(|key| (key.clone(), json!("(never shown)")));
            json!({
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": secret.name, "namespace": secret.namespace, "labels": secret.labels},
                "data": data.collect::<Map<_, _>>(),
            })
        }
        _ => return None,
    };
    redact_value(&mut value);
    Some(value)
}

fn in_full<T: Tracked + Serialize>(evidence: &Evidence, object: &ObjectRef) -> Option<Value> {
    let histories = named(T::histories(evidence), object);
    let versions = histories.iter().flat_map(|history| &history.versions);
    // Of those that are as near to the finding's version, this is the last.
    let version = versions.max_by_key(|version| {
        let reference = version.object.object_ref();
        (reference.uid == object.uid, reference == *object)
    })?;
    let mut value = serde_json::to_value(&version.object).ok()?;
    value["kind"] = json!(T::KIND);
    if let Some(metadata) = value["metadata"].as_object_mut() {
        // A digest of `managedFields`, which the object does not contain.
        metadata.remove("writers");
    }
    Some(value)
}

/// The part of an object around a field, and whether the field exists. If not, the marked line is the one that the
/// field belongs under.
pub(super) fn around(object: &Value, path: &str) -> (Vec<ExcerptLine>, bool) {
    let lines = yaml::lines(object, leaf);
    let marked = offending(&lines, path);
    let begins = |place: &usize| lines[*place].paths.iter().any(|line_path| line_path == path);
    let exists = marked.iter().any(begins) || path.is_empty();
    (shown(&lines, &marked), exists)
}

/// The lines whose path is the longest one that leads to the field.
fn offending(lines: &[YamlLine], path: &str) -> Vec<usize> {
    let length = |line: &YamlLine| {
        let leading = line.paths.iter().filter(|line_path| leads(line_path, path));
        leading.map(String::len).max()
    };
    let Some(longest) = lines.iter().filter_map(length).max() else {
        return Vec::new();
    };
    let places = 0..lines.len();
    places
        .filter(|place| length(&lines[*place]) == Some(longest))
        .collect()
}

/// The marked lines with their neighbors and everything that contains them.
fn shown(lines: &[YamlLine], marked: &[usize]) -> Vec<ExcerptLine> {
    let mut keep = vec![lines.len() <= WHOLE; lines.len()];
    if marked.is_empty() {
        keep.iter_mut().take(WHOLE).for_each(|keep| *keep = true);
    }
    for place in marked.iter().take(MARKED) {
        let until = (place + AROUND + 1).min(lines.len());
        keep[place.saturating_sub(AROUND)..until].fill(true);
        let mut depth = lines[*place].depth;
        for (above, line) in lines[..*place].iter().enumerate().rev() {
            if line.depth < depth {
                keep[above] = true;
                depth = line.depth;
            }
        }
    }
    let mut excerpt = Vec::new();
    let mut place = 0;
    for run in keep.chunk_by(|one, other| one == other) {
        let until = place + run.len();
        // One line is as short as the words for it.
        if run[0] || run.len() <= 1 {
            excerpt.extend((place..until).map(|place| ExcerptLine::Text {
                text: format!(
                    "{}{}",
                    "  ".repeat(lines[place].depth),
                    escape::line(&lines[place].text)
                ),
                marked: marked.contains(&place),
            }));
        } else {
            excerpt.push(ExcerptLine::Gap(run.len()));
        }
        place = until;
    }
    excerpt
}

/// Hub text as YAML: redacted, shortened, escaped.
fn leaf(text: &str) -> String {
    let clean = without_credentials(text);
    match escape::cut(&clean, VALUE) {
        // The count is not part of the value.
        Some((start, more)) => format!("{} # {more}", yaml::scalar(start)),
        None => yaml::scalar(&clean),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excerpt(object: &Value, path: &str) -> (String, bool) {
        let (lines, exists) = around(object, path);
        let lines = lines.into_iter().map(|line| match line {
            ExcerptLine::Text { text, marked: true } => format!("> {text}\n"),
            ExcerptLine::Text { text, .. } => format!("  {text}\n"),
            ExcerptLine::Gap(number) => format!("⋮ {number} lines\n"),
        });
        (lines.collect(), exists)
    }

    fn profile() -> Value {
        let condition = |kind: &str, message: &str| json!({"type": kind, "status": "True", "reason": "Ready", "message": message});
        json!({
            "apiVersion": "multicluster.x-k8s.io/v1alpha1",
            "kind": "ClusterProfile",
            "metadata": {"name": "a", "namespace": "fleet", "labels": {"x-k8s.io/cluster-manager": "m", "tier": "1"}},
            "spec": {"clusterManager": {"name": "m"}},
            "status": {
                "conditions": [condition("Joined", "all is well"), condition("ControlPlaneHealthy", "failing")],
                "properties": [{"name": "a.b", "value": "1"}, {"name": "a.b", "value": "2"}, {"name": "c", "value": "3"}],
            },
        })
    }

    #[test]
    fn the_lines_of_the_path_are_marked() {
        let label = "metadata.labels[x-k8s.io/cluster-manager]";
        let message = "status.conditions[ControlPlaneHealthy].message";
        let values = ["      value: \"1\"", "      value: \"2\""];
        for (path, wanted, is_there) in [
            (label, &["    x-k8s.io/cluster-manager: m"][..], true),
            ("metadata.labels[other]", &["  labels:"], false),
            ("spec.clusterManager.name", &["    name: m"], true),
            (message, &["      message: failing"], true),
            ("status.conditions[Joined]", &["    - type: Joined"], true),
            ("status.properties[a.b].value", &values, true),
            ("status", &["status:"], true),
        ] {
            let (text, exists) = excerpt(&profile(), path);
            let marked: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("> ")).collect();
            assert_eq!((&marked[..], exists), (wanted, is_there), "{path}: {text}");
        }
        let (text, _) = excerpt(&profile(), "status.conditions[ControlPlaneHealthy].status");
        assert_eq!(
            text,
            "⋮ 11 lines\n  status:\n    conditions:\n⋮ 4 lines\n      - type: ControlPlaneHealthy\n        \
             message: failing\n        reason: Ready\n>       status: \"True\"\n    properties:\n      - name: a.b\n        \
             value: \"1\"\n⋮ 4 lines\n"
        );
    }

    #[test]
    fn credentials_and_long_values_are_not_shown() {
        let object = json!({
            "a": "https://user:hunter2@host", "b": "x".repeat(1 << 20), "c": "\u{202e}<script>",
        });
        let (text, _) = excerpt(&object, "b");
        assert!(!text.contains("hunter2") && text.len() < 500, "{text}");
        assert!(text.contains("1,048,416 more characters"), "{text}");
        assert!(text.contains("\\U0000202e"), "{text}");
    }
}
