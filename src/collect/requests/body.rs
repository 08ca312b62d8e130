//! The parts of a profile or a slice that a request's body mentions.

use std::collections::BTreeSet;

use evidence::{
    RequestBody,
    api::{ObjectKind, names},
};
use serde_json::{Value, json};

/// Reads a body: an object, a merge patch or an apply patch, or the operations of a JSON patch. None when it is of
/// another shape.
pub(super) fn read(body: &Value, verb: &str, kind: ObjectKind) -> Option<RequestBody> {
    let mut parts = BTreeSet::new();
    if kind == ObjectKind::PlacementDecision {
        note_references(body, &mut parts);
    }
    let object = match body {
        Value::Object(_) => {
            note_parts(body, verb == "patch", &mut parts);
            body.clone()
        }
        Value::Array(operations) => read_operations(operations, &mut parts),
        _ => return None,
    };
    let metadata = &object["metadata"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    Some(RequestBody {
        name: text(&metadata["name"]).filter(|name| !name.is_empty()),
        manager_label: text(&metadata["labels"][names::LABEL_MANAGER]),
        manager: text(&object["spec"]["clusterManager"]["name"]),
        parts: parts.into_iter().collect(),
    })
}

/// Notes the keys of a slice's references, as `decisions.clusterProfileRef.name`: the hub prunes those that it does not
/// know.
fn note_references(body: &Value, parts: &mut BTreeSet<String>) {
    let operations = body.as_array().into_iter().flatten();
    let set = operations.map(|operation| &operation["value"]);
    let lists = set.chain([&body["decisions"]]);
    let decisions = lists.flat_map(|list| match list {
        Value::Array(decisions) => decisions.as_slice(),
        one => std::slice::from_ref(one),
    });
    for decision in decisions {
        let keys = decision["clusterProfileRef"].as_object().into_iter().flatten();
        parts.extend(keys.map(|(key, _)| format!("decisions.clusterProfileRef.{key}")));
    }
}

/// Notes the parts that an object holds. Clients write empty structs and nulls of what they do not mean to set; only
/// in a patch does a null say something.
fn note_parts(object: &Value, is_patch: bool, parts: &mut BTreeSet<String>) {
    let says_something = |value: &Value| match value {
        Value::Null => is_patch,
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    };
    for (key, value) in object.as_object().into_iter().flatten() {
        match (key.as_str(), value) {
            ("apiVersion" | "kind", _) => {}
            ("metadata", Value::Object(metadata)) => {
                let meaningful = metadata.iter().filter(|(_, value)| says_something(value));
                parts.extend(meaningful.map(|(key, _)| format!("metadata.{key}")));
            }
            _ if says_something(value) => _ = parts.insert(key.clone()),
            _ => {}
        }
    }
}

/// Notes the parts that a JSON patch's operations touch, and gathers what it sets as an object.
fn read_operations(operations: &[Value], parts: &mut BTreeSet<String>) -> Value {
    let mut object = Value::Null;
    for operation in operations {
        let text = |field: &str| operation[field].as_str().unwrap_or_default();
        let (verb, path, value) = (text("op"), text("path"), &operation["value"]);
        if verb == "test" {
            continue;
        }
        if verb == "move" {
            note_pointer(text("from"), value, parts);
        }
        note_pointer(path, value, parts);
        if matches!(verb, "add" | "replace") {
            put(&mut object, path, value);
        }
    }
    object
}

/// Notes the part that a JSON pointer leads into.
fn note_pointer(pointer: &str, value: &Value, parts: &mut BTreeSet<String>) {
    let mut steps = steps(pointer);
    match (steps.next().as_deref(), steps.next()) {
        (None, _) => note_parts(value, true, parts),
        (Some("apiVersion" | "kind"), _) => {}
        (Some("metadata"), Some(key)) => _ = parts.insert(format!("metadata.{key}")),
        (Some("metadata"), None) if value.is_object() => {
            note_parts(&json!({"metadata": value}), true, parts);
        }
        (Some(key), _) => _ = parts.insert(key.to_owned()),
    }
}

/// The manager's name and its label lie three steps deep; deeper ones are of no use here.
const DEEPEST: usize = 3;

/// Puts a value where a JSON pointer leads. Only an object can replace the whole.
fn put(object: &mut Value, pointer: &str, value: &Value) {
    let depth = steps(pointer).count();
    if depth > DEEPEST || (depth == 0 && !value.is_object()) {
        return;
    }
    let mut place = object;
    for step in steps(pointer) {
        if !place.is_object() {
            *place = json!({});
        }
        place = &mut place[step];
    }
    *place = value.clone();
}

/// The steps of a JSON pointer (RFC 6901).
fn steps(pointer: &str) -> impl Iterator<Item = String> {
    let steps = pointer.split('/').skip(1);
    steps.map(|step| step.replace("~1", "/").replace("~0", "~"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(body: Value, verb: &str) -> Vec<String> {
        read(&body, verb, ObjectKind::ClusterProfile)
            .expect("a body")
            .parts
    }

    #[test]
    fn an_object_tells_its_parts() {
        let body = json!({"apiVersion": "v", "kind": "ClusterProfile", "status": {}, "spec": {"clusterManager": {"name": "m"}},
            "metadata": {"name": "a", "labels": {"x-k8s.io/cluster-manager": "l"}, "creationTimestamp": null}});
        let read = read(&body, "create", ObjectKind::ClusterProfile).expect("a body");
        assert_eq!(read.name.as_deref(), Some("a"));
        assert_eq!(read.manager_label.as_deref(), Some("l"));
        assert_eq!(read.manager.as_deref(), Some("m"));
        // Go's clients send an empty status and a null time with every object.
        assert_eq!(read.parts, ["metadata.labels", "metadata.name", "spec"]);
        // In a merge patch a null removes.
        assert_eq!(
            parts(json!({"metadata": {"labels": null}, "status": {}}), "patch"),
            ["metadata.labels"]
        );
        assert_eq!(
            super::read(&json!("text"), "patch", ObjectKind::ClusterProfile),
            None
        );
    }

    #[test]
    fn a_slice_tells_what_its_references_hold() {
        let reference = json!({"clusterProfileRef": {"kind": "ClusterProfile", "name": "a"}});
        let of = |body: Value, verb: &str| {
            read(&body, verb, ObjectKind::PlacementDecision)
                .expect("a body")
                .parts
        };
        let expected = [
            "decisions",
            "decisions.clusterProfileRef.kind",
            "decisions.clusterProfileRef.name",
        ];
        assert_eq!(of(json!({"decisions": [reference]}), "update"), expected);
        let whole = json!([{"op": "replace", "path": "/decisions", "value": [reference]}]);
        assert_eq!(of(whole, "patch"), expected);
        let one = json!([{"op": "add", "path": "/decisions/-", "value": reference}]);
        assert_eq!(of(one, "patch"), expected);
        assert_eq!(of(json!({"schedulerName": "s"}), "patch"), ["schedulerName"]);
    }

    #[test]
    fn a_json_patch_tells_what_it_touches() {
        let body = json!([
            {"op": "test", "path": "/spec/displayName", "value": "x"},
            {"op": "replace", "path": "/metadata/labels/x-k8s.io~1cluster-manager", "value": "l"},
            {"op": "add", "path": "/spec/clusterManager", "value": {"name": "m"}},
            {"op": "remove", "path": "/status/conditions/0"},
            {"op": "move", "from": "/metadata/annotations/a", "path": "/metadata/finalizers"},
        ]);
        let read = read(&body, "patch", ObjectKind::ClusterProfile).expect("a body");
        assert_eq!(read.manager_label.as_deref(), Some("l"));
        assert_eq!(read.manager.as_deref(), Some("m"));
        assert_eq!(
            read.parts,
            [
                "metadata.annotations",
                "metadata.finalizers",
                "metadata.labels",
                "spec",
                "status"
            ]
        );
        let whole = json!([{"op": "replace", "path": "", "value": {"metadata": {"labels": {"a": "b"}}, "spec": {"a": 1}}}]);
        assert_eq!(parts(whole, "patch"), ["metadata.labels", "spec"]);
        let deep = json!([{"op": "add", "path": "/a".repeat(100_000), "value": 1}]);
        assert_eq!(parts(deep, "patch"), ["a"]);
    }

    #[test]
    fn no_operation_hides_an_earlier_one() {
        let path = "/metadata/labels/x-k8s.io~1cluster-manager";
        let label = json!({"op": "add", "path": path, "value": "l"});
        let read_both = |later: &Value| {
            let body = json!([label, later]);
            read(&body, "patch", ObjectKind::ClusterProfile).expect("a body")
        };
        for (later, more) in [
            (json!({"op": "add"}), None),
            (json!({"op": "replace", "path": "", "value": null}), None),
            (json!({"op": "remove", "path": ""}), None),
            (json!({"op": "copy", "from": "/spec", "path": ""}), None),
            (json!({"op": "move", "from": "/spec", "path": ""}), Some("spec")),
            (json!({"op": "move", "path": "/spec"}), Some("spec")),
            (json!({"op": "remove", "path": path}), None),
            (json!({"op": "remove", "path": "/metadata/labels"}), None),
        ] {
            let read = read_both(&later);
            assert_eq!(read.manager_label.as_deref(), Some("l"), "{later}");
            let expected: Vec<&str> = ["metadata.labels"].into_iter().chain(more).collect();
            assert_eq!(read.parts, expected, "{later}");
        }
        let replaced = read_both(&json!({"op": "replace", "path": "/metadata", "value": {"name": "a"}}));
        assert_eq!(replaced.manager_label, None);
        assert_eq!(replaced.parts, ["metadata.labels", "metadata.name"]);
    }
}
