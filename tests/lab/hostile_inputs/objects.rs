//! Objects in valid JSON or YAML that fit no schema, in a dump.

use serde_json::{Value, json};

use super::{is_judged_as_alone, list, neighbour_alone, of_neighbour, profile, read, reported, reports_one};
use crate::command::table;

/// A place in the profile default/odd (a JSON pointer), the value there, and the message, without its start if that names
/// the profile. The tests of `evidence` have more misfits.
const MISFITS: &str = r#"
/status/conditions | 7 | status.conditions: invalid type: integer
/status | [] | status: invalid type: sequence, expected an object
/status/conditions | [["Joined", "True"]] | status.conditions[0]: invalid type: sequence
/status/conditions | [null] | status.conditions[0]: invalid type: null
/status/conditions/0/observedGeneration | 18446744073709551615 | status.conditions[0].observedGeneration: invalid value
/status/accessProviders/0/cluster/server | 443 | status.accessProviders[0].cluster.server: invalid type
/spec/clusterManager | ["m"] | spec.clusterManager: invalid type: sequence
/metadata/managedFields/0 | ["m"] | metadata.managedFields[0]: invalid type: sequence
/metadata/namespace | [] | ClusterProfile odd could not be read: metadata.namespace: invalid type
/metadata/generation | 1e300 | metadata.generation: invalid type
/metadata/name | 7 | a ClusterProfile could not be read: metadata.name: invalid type: integer
/metadata | null | a ClusterProfile could not be read: metadata.name is missing (
/apiVersion | null | apiVersion is missing
/kind | null | an object could not be read: kind is missing
"#;

/// Unusual values that fit.
const FITS: &str = r#"
/status | null
/metadata/labels | null
/metadata/labels | {"a": null}
/status | {"tomorrow": [{"a": [1e308, -0.0, null, {"": ""}]}]}
"#;

/// A profile with another value in one place (a JSON pointer).
fn odd(place: &str, value: Value) -> Value {
    let mut odd = profile("odd");
    let (parent, key) = place.rsplit_once('/').expect("a place");
    match odd.pointer_mut(parent).expect("the place") {
        Value::Array(items) => items[key.parse::<usize>().expect("a number")] = value,
        parent => parent[key] = value,
    }
    odd
}

#[test]
fn misfit_is_reported() {
    let (good, alone) = neighbour_alone();
    for row in table(MISFITS) {
        let odd = odd(row[0], serde_json::from_str(row[1]).expect("JSON"));
        let is_whole = row[2].contains("could not be read");
        let start = if is_whole {
            ""
        } else {
            "ClusterProfile default/odd could not be read: "
        };
        let message = format!("{start}{}", row[2]);
        for dump in [
            list(&[&odd, &good]),
            list(&[&good, &odd]),
            format!("{odd}\n{good}"),
            format!("---\n{good}\n---\n{odd}\n"),
            format!("[{odd},{good}]"),
        ] {
            let evidence = read(dump.as_bytes());
            reports_one(&evidence, &message);
            is_judged_as_alone(&evidence, &alone);
        }
    }
}

#[test]
fn unusual_object_that_fits_is_judged() {
    let (good, alone) = neighbour_alone();
    let rows = table(FITS).map(|row| odd(row[0], serde_json::from_str(row[1]).expect("JSON")));
    let labels = (0..1000).map(|number| (format!("l{number}"), json!("v")));
    let conditions = (0..10_000).map(|number| json!({"type": format!("C{number}"), "status": "True"}));
    let large = [
        odd("/metadata/labels", Value::Object(labels.collect())),
        odd("/metadata/annotations", json!({"a": "x".repeat(1 << 20)})),
        odd("/status/conditions", conditions.collect()),
        odd("/status/properties/0/value", json!("[".repeat(1 << 20))),
    ];
    for odd in rows.chain(large) {
        let evidence = read(list(&[&odd, &good]).as_bytes());
        assert_eq!(reported(&evidence), [""; 0]);
        assert_eq!(evidence.inventory().count(), 2);
        assert_eq!(of_neighbour(&evidence), of_neighbour(&alone));
    }
}

/// Objects of other kinds, and the message. Only labelled Secrets are read.
const OTHER_KINDS: &str = r#"
Namespace | {"metadata": null} | a Namespace could not be read: metadata.name is missing
Namespace | {"metadata": {"name": "n", "labels": [1]}} | Namespace n could not be read: metadata.labels:
Secret | {"metadata": {"labels": {"x-k8s.io/cluster-profile": "good"}}} | a Secret could not be read: metadata.name is missing
Secret | {"metadata": {"name": "s", "labels": "canary"}} | Secret s could not be read: metadata.labels is not a mapping
Secret | {"metadata": FINE, "data": ["canary"]} | Secret fine could not be read: data is not a mapping
Secret | {"metadata": FINE, "data": {"C": {"canary": 1}}} | Secret fine could not be read: data has a value that is not a string
"#;

#[test]
fn misfit_of_another_kind_is_reported() {
    let (good, alone) = neighbour_alone();
    for row in table(OTHER_KINDS) {
        let metadata = json!({"name": "fine", "labels": {"x-k8s.io/cluster-profile": "good"}});
        let odd = row[1].replace("FINE", &metadata.to_string());
        let mut odd: Value = serde_json::from_str(&odd).expect("JSON");
        odd["kind"] = json!(row[0]);
        odd["apiVersion"] = json!("v1");
        let mut fine = json!({"apiVersion": "v1", "kind": row[0], "metadata": metadata});
        fine["metadata"]["namespace"] = json!("default");
        let evidence = read(list(&[&odd, &good, &fine]).as_bytes());
        let reported = reports_one(&evidence, row[2]);
        assert!(!reported.contains("canary"), "{reported}");
        assert_eq!(evidence.namespaces.len() + evidence.secrets.len(), 1);
        assert_eq!(of_neighbour(&evidence), of_neighbour(&alone));
    }
}

/// An unknown object may be a Secret, a Namespace, or a duplicate of the neighbour.
#[test]
fn unknown_object_is_reported() {
    let (good, alone) = neighbour_alone();
    let lists = format!("{}[]{}", "{\"items\": [".repeat(50), "]}".repeat(50));
    let list = r#"{"kind": "List", "apiVersion": "v1", "items": "#;
    let profiles = r#"{"kind": "ClusterProfileList", "apiVersion": "multicluster.x-k8s.io/v1alpha1"}"#;
    for (text, message) in [
        ("hello", "is not a Kubernetes object"),
        (&format!(r#"{list}[7, "canary"]}}"#), "is not a Kubernetes object"),
        (&format!(r#"{list}{{"a": "canary"}}}}"#), "is a malformed list"),
        (profiles, "is a malformed list"),
        (&lists, "is a malformed list"),
    ] {
        for dump in [format!("{good}\n---\n{text}\n"), format!("{text}\n---\n{good}\n")] {
            let evidence = read(dump.as_bytes());
            let all = reported(&evidence);
            assert!(!all.is_empty(), "{dump}");
            for reported in all {
                let is_unknown = reported.starts_with("an object could not be read: ");
                assert!(is_unknown && reported.contains(message), "{reported}");
                assert!(!reported.contains("canary"), "{reported}");
            }
            is_judged_as_alone(&evidence, &alone);
            assert!(evidence.may_be_unread("Secret", "any") && evidence.may_be_unread("Namespace", "any"));
        }
    }
}

#[test]
fn duplicate_hides_no_object() {
    let (good, alone) = neighbour_alone();
    // Two names, one uid: two objects.
    let mut duplicate = profile("duplicate");
    duplicate["metadata"]["uid"] = good["metadata"]["uid"].clone();
    let evidence = read(list(&[&duplicate, &good]).as_bytes());
    assert_eq!(reported(&evidence), [""; 0]);
    assert_eq!(evidence.inventory().count(), 2);
    assert_eq!(of_neighbour(&evidence), of_neighbour(&alone));
    // Two versions of one name: the newer one is unknown.
    let mut newer = profile("odd");
    newer["metadata"]["resourceVersion"] = json!("8");
    for (one, other) in [(profile("odd"), newer.clone()), (newer, profile("odd"))] {
        let evidence = read(list(&[&one, &good, &other]).as_bytes());
        let message = "ClusterProfile default/odd could not be read: it is in the dump twice";
        reports_one(&evidence, message);
        is_judged_as_alone(&evidence, &alone);
    }
    // Objects of a list within a list are read.
    let within = json!({"kind": "List", "items": [{"kind": "List", "items": [profile("hidden")]}, [profile("deeper")]]});
    let evidence = read(format!("{good}\n{within}").as_bytes());
    assert_eq!(evidence.inventory().count(), 3);
}
