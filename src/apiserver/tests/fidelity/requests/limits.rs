//! Shows both hubs requests and objects on either side of each limit. They are too large for a file.

use serde_json::{Value, json};

use super::script::Script;

/// A mebibyte.
const MIB: usize = 1024 * 1024;
const MERGE_PATCH: &str = "application/merge-patch+json";
const JSON_PATCH: &str = "application/json-patch+json";

/// The script.
pub fn script() -> Script {
    let steps = [bodies(), objects(), operations(), copies(), depths()];
    Script::made("limits", steps.into_iter().flatten().collect())
}

/// Creates a widget with a text of that length in a field without a schema.
fn create(name: &str, length: usize, expect: u16) -> Value {
    json!({
        "name": format!("creates {name}"), "request": "POST ${widgets}", "expect": expect,
        "only": if expect < 300 { vec!["/metadata/name"] } else { Vec::new() },
        "body": {
            "apiVersion": "fidelity.example/v1", "kind": "Widget",
            "metadata": {"name": name}, "spec": {"color": "red", "free": {"text": "x".repeat(length)}},
        },
    })
}

/// Patches a widget. Of the answer, a success is not compared: it is large.
fn patch(name: &str, of: &str, kind: &str, body: Value, expect: u16) -> Value {
    json!({
        "name": name, "request": format!("PATCH ${{widgets}}/{of}"), "expect": expect, "contentType": kind,
        "only": if expect < 300 { vec!["/metadata/name"] } else { Vec::new() },
        "body": body,
    })
}

/// Requests of up to 3 MiB are read.
fn bodies() -> Vec<Value> {
    let text = |length: usize| json!({"spec": {"free": {"text": "x".repeat(length)}}});
    let frame = text(0).to_string().len();
    let dry = |name: &str, length: usize, expect: u16| {
        json!({
            "name": name, "request": "PATCH ${widgets}/small?dryRun=All", "expect": expect, "contentType": MERGE_PATCH,
            "only": if expect < 300 { vec!["/metadata/name"] } else { Vec::new() },
            "body": text(length - frame),
        })
    };
    vec![
        create("small", 1, 201),
        dry("a request of 3 MiB", 3 * MIB, 200),
        dry("a request of 3 MiB and a byte", 3 * MIB + 1, 413),
    ]
}

/// Storage takes objects of up to 1.5 MiB, and answers in other words from 2 MiB on.
fn objects() -> Vec<Value> {
    let large = MIB + MIB / 2;
    let text = |length: usize| json!({"spec": {"free": {"text": "x".repeat(length)}}});
    let annotated = |length: usize| json!({"metadata": {"annotations": {"a": "x".repeat(length)}}});
    vec![
        create("a", large - 8192, 201),
        create("b", large + 8192, 500),
        create("c", 2 * MIB + 8192, 500),
        patch(
            "grows within the limit",
            "a",
            MERGE_PATCH,
            json!({"spec": {"free": {"more": "x".repeat(4096)}}}),
            200,
        ),
        patch(
            "grows beyond the limit",
            "a",
            MERGE_PATCH,
            json!({"spec": {"free": {"more": "x".repeat(16384)}}}),
            500,
        ),
        patch(
            "becomes much too large",
            "a",
            MERGE_PATCH,
            text(2 * MIB + 8192),
            500,
        ),
        json!({
            "name": "a dry run stores nothing", "request": "PATCH ${widgets}/a?dryRun=All", "expect": 200,
            "contentType": MERGE_PATCH, "only": ["/metadata/name"], "body": text(2 * MIB),
        }),
        patch("shrinks", "a", MERGE_PATCH, text(1), 200),
        json!({
            "name": "a definition that is too large",
            "request": "PATCH /apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.fidelity.example",
            "expect": 500, "contentType": MERGE_PATCH,
            "body": {"spec": {"names": {"categories": (0..200_000).map(|n| format!("c{n}")).collect::<Vec<_>>()}}},
        }),
        json!({
            "name": "a role that is too large", "request": "POST ${roles}", "expect": 500,
            "body": {
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "large"},
                "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": ["x".repeat(large + 8192)]}],
            },
        }),
        json!({
            "name": "a role that fits as it is stored", "request": "POST ${roles}", "expect": 201, "only": ["/metadata/name"],
            "body": {
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "fits"},
                "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": ["x".repeat(large - 8192)]}],
            },
        }),
        json!({
            "name": "a role of many words", "request": "POST ${roles}", "expect": 201, "only": ["/metadata/name"],
            "body": {
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "words"},
                "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"],
                    "resourceNames": (0..176_000).map(|n| format!("{n:06}")).collect::<Vec<_>>()}],
            },
        }),
        patch(
            "annotations that are too long",
            "small",
            MERGE_PATCH,
            annotated(256 * 1024),
            422,
        ),
    ]
}

/// A JSON patch has up to 10,000 operations.
fn operations() -> Vec<Value> {
    let add = |count: usize| {
        Value::from(vec![
            json!({"op": "add", "path": "/spec/mode", "value": "x"});
            count
        ])
    };
    vec![
        patch("10,000 operations", "small", JSON_PATCH, add(10_000), 200),
        patch("10,001 operations", "small", JSON_PATCH, add(10_001), 413),
    ]
}

/// A JSON patch copies up to 3 MiB in all.
fn copies() -> Vec<Value> {
    let copy =
        |to: usize| json!({"op": "copy", "from": "/spec/free/text", "path": format!("/spec/free/c{to}")});
    let copies = |count: usize| Value::from((0..count).map(copy).collect::<Vec<_>>());
    let double =
        |n: usize| json!({"op": "copy", "from": "/spec/free", "path": format!("/spec/free/again{n}")});
    let replaced = json!([
        {"op": "add", "path": "/spec/free/text", "value": "x".repeat(MIB - 2)},
        {"op": "copy", "from": "/spec/free/text", "path": "/spec/mode"},
        {"op": "copy", "from": "/spec/free/text", "path": "/spec/mode"},
        {"op": "copy", "from": "/spec/free/text", "path": "/spec/mode"},
        {"op": "remove", "path": "/spec/free/text"},
    ]);
    let mut one_more = replaced.clone();
    let name = json!({"op": "copy", "from": "/metadata/name", "path": "/spec/mode"});
    one_more.as_array_mut().expect("operations").push(name);
    vec![
        patch(
            "a text",
            "small",
            MERGE_PATCH,
            json!({"spec": {"free": {"text": "x".repeat(1000)}}}),
            200,
        ),
        patch("copies within the limit", "small", JSON_PATCH, copies(1000), 200),
        patch(
            "without copies",
            "small",
            MERGE_PATCH,
            json!({"spec": {"free": null}}),
            200,
        ),
        patch(
            "with a field",
            "small",
            MERGE_PATCH,
            json!({"spec": {"free": {}}}),
            200,
        ),
        patch("copies 3 MiB", "small", JSON_PATCH, replaced, 200),
        patch("copies more than 3 MiB", "small", JSON_PATCH, one_more, 422),
        patch(
            "doubles again and again",
            "small",
            JSON_PATCH,
            (0..22).map(double).collect(),
            422,
        ),
    ]
}

/// Copies may lie within each other, but not as deep as this server could not read again.
fn depths() -> Vec<Value> {
    let nest = |count: usize| {
        Value::from(vec![
            json!({"op": "copy", "from": "/spec/free", "path": "/spec/free/a"});
            count
        ])
    };
    vec![
        patch(
            "empties",
            "small",
            MERGE_PATCH,
            json!({"spec": {"free": null}}),
            200,
        ),
        patch(
            "an empty field",
            "small",
            MERGE_PATCH,
            json!({"spec": {"free": {}}}),
            200,
        ),
        patch(
            "copies within each other 50 times",
            "small",
            JSON_PATCH,
            nest(50),
            200,
        ),
        patch(
            "copies within each other 500 times",
            "small",
            JSON_PATCH,
            nest(500),
            200,
        ),
    ]
}
