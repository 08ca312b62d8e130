//! Objects in valid JSON or YAML that fit no schema.

use std::future;

use rstest::rstest;
use serde_json::{Value, json};

use super::{
    hub::{LaxHub, after},
    is_judged_as_alone, list, neighbour, odd, of_neighbour, profile, read, reported, reports_one,
};

/// The same object from every source: list, stream and documents of a dump, hub.
#[rstest]
#[case::a_number_for_a_list("/status/conditions", json!(7), "status.conditions: invalid type: integer")]
#[case::a_map_for_a_list("/status/properties", json!({"p": "v"}), "status.properties: invalid type: map")]
#[case::a_list_for_the_status("/status", json!([]), "status: invalid type: sequence, expected an object")]
#[case::a_list_for_a_condition("/status/conditions", json!([["Joined", "True"]]), "status.conditions[0]: invalid type: sequence")]
#[case::a_list_for_the_manager("/spec/clusterManager", json!(["m"]), "spec.clusterManager: invalid type: sequence")]
#[case::a_number_for_the_version("/status/version/kubernetes", json!(1.34), "status.version.kubernetes: invalid type")]
#[case::a_list_for_a_value("/status/properties/0/value", json!(["a"]), "status.properties[0].value: invalid type: sequence")]
#[case::a_null_among_conditions("/status/conditions", json!([null]), "status.conditions[0]: invalid type: null")]
#[case::a_generation_out_of_range("/status/conditions/0", json!({"type": "A", "observedGeneration": u64::MAX}), "status.conditions[0].observedGeneration: invalid value")]
#[case::a_number_for_a_server("/status/accessProviders/0/cluster/server", json!(443), "status.accessProviders[0].cluster.server: invalid type")]
#[tokio::test(start_paused = true)]
async fn an_object_that_does_not_fit(#[case] place: &str, #[case] value: Value, #[case] message: &str) {
    let (good, odd) = (neighbour(), odd(place, value));
    let expected = format!("ClusterProfile default/odd could not be read: {message}");
    let alone = read(good.to_string().as_bytes());
    for dump in [
        list(&[&odd, &good]),
        list(&[&good, &odd]),
        format!("{odd}\n{good}"),
        format!("---\n{good}\n---\n{odd}\n"),
        format!("[{odd},{good}]"),
    ] {
        let evidence = read(dump.as_bytes());
        reports_one(&evidence, &expected);
        assert_eq!(evidence.unreadable[0].object.uid, "uid-of-odd");
        is_judged_as_alone(&evidence, &alone);
    }

    let hub = LaxHub::new().await;
    hub.put(&good).await;
    after(600).await;
    for seconds in [0, 150] {
        let alone = hub.look(seconds, future::ready(())).await;
        hub.put(&odd).await;
        let evidence = hub.look(seconds, future::ready(())).await;
        reports_one(&evidence, &expected);
        is_judged_as_alone(&evidence, &alone);
        hub.delete("odd").await;
    }
}

/// A dump may hold what every hub refuses. An object that is strange and fits has no message.
#[rstest]
#[case::a_list_for_labels("/metadata/labels", json!(["a"]), "ClusterProfile default/odd could not be read: metadata.labels: invalid type: sequence")]
#[case::no_metadata("/metadata", json!(null), "a ClusterProfile could not be read: metadata.name is missing (")]
#[case::a_list_for_a_writer("/metadata/managedFields/0", json!(["m"]), "ClusterProfile default/odd could not be read: metadata.managedFields[0]: invalid type: sequence")]
#[case::a_number_for_a_name("/metadata/name", json!(7), "a ClusterProfile could not be read: metadata.name: invalid type: integer")]
#[case::a_list_for_a_namespace("/metadata/namespace", json!([]), "ClusterProfile odd could not be read: metadata.namespace: invalid type")]
#[case::a_generation_beyond_all_numbers("/metadata/generation", json!(1e300), "ClusterProfile default/odd could not be read: metadata.generation: invalid type")]
#[case::no_api_version("/apiVersion", json!(null), "ClusterProfile default/odd could not be read: apiVersion is missing")]
#[case::no_kind("/kind", json!(null), "an object could not be read: kind is missing")]
#[case::no_status("/status", json!(null), "")]
#[case::no_labels("/metadata/labels", json!(null), "")]
#[case::a_label_without_a_value("/metadata/labels", json!({"a": null}), "")]
#[case::fields_of_tomorrow("/status", json!({"tomorrow": [{"a": [1e308, -0.0, null, {"": ""}]}]}), "")]
#[case::a_thousand_labels("/metadata/labels", (0..1000).map(|n| (format!("l{n}"), json!("v"))).collect::<serde_json::Map<_, _>>().into(), "")]
#[case::a_large_annotation("/metadata", json!({"name": "odd", "namespace": "default", "annotations": {"a": "x".repeat(1 << 20)}}), "")]
#[case::ten_thousand_conditions("/status/conditions", (0..10_000).map(|n| json!({"type": format!("C{n}"), "status": "True"})).collect(), "")]
#[case::a_large_value("/status/properties/0/value", json!("[".repeat(1 << 20)), "")]
fn an_object_in_a_dump(#[case] place: &str, #[case] value: Value, #[case] message: &str) {
    let (good, odd) = (neighbour(), odd(place, value));
    let alone = read(good.to_string().as_bytes());
    for dump in [list(&[&odd, &good]), format!("{good}\n---\n{odd}\n")] {
        let evidence = read(dump.as_bytes());
        if message.is_empty() {
            assert_eq!(reported(&evidence), [""; 0]);
            assert_eq!(evidence.inventory().count(), 2);
            assert_eq!(of_neighbour(&evidence), of_neighbour(&alone));
        } else {
            reports_one(&evidence, message);
            is_judged_as_alone(&evidence, &alone);
        }
    }
}

/// Objects of other kinds that matter.
#[rstest]
#[case::a_namespace_without_a_name("Namespace", json!({"metadata": null}), "a Namespace could not be read: metadata.name is missing")]
#[case::labels_of_a_namespace("Namespace", json!({"metadata": {"name": "n", "labels": [1]}}), "Namespace n could not be read: metadata.labels: ")]
#[case::a_secret_without_a_name("Secret", json!({"metadata": {"labels": {"x-k8s.io/cluster-profile": "good"}}}), "a Secret could not be read: metadata.name is missing")]
#[case::labels_of_a_secret("Secret", json!({"metadata": {"name": "s", "labels": "canary"}}), "Secret s could not be read: metadata.labels is not a mapping")]
#[case::data_of_a_secret("Secret", json!({"metadata": {"name": "s", "labels": {"x-k8s.io/cluster-profile": "good"}}, "data": ["canary"]}), "Secret s could not be read: data is not a mapping")]
#[case::a_value_of_a_secret("Secret", json!({"metadata": {"name": "s", "labels": {"x-k8s.io/cluster-profile": "good"}}, "data": {"Config": {"canary": 1}}}), "Secret s could not be read: data has a value that is not a string")]
fn namespaces_and_secrets(#[case] kind: &str, #[case] mut odd: Value, #[case] message: &str) {
    let good = neighbour();
    let alone = read(good.to_string().as_bytes());
    odd["kind"] = json!(kind);
    odd["apiVersion"] = json!("v1");
    let fine = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "fine", "labels": {"x-k8s.io/cluster-profile": "good"}}});
    let evidence = read(list(&[&odd, &good, &fine]).as_bytes());
    let reported = reports_one(&evidence, message);
    assert!(!reported.contains("canary"), "{reported}");
    assert_eq!(evidence.namespaces.len() + evidence.secrets.len(), 1);
    assert_eq!(of_neighbour(&evidence), of_neighbour(&alone));
}

#[test]
fn objects_that_come_twice() {
    let good = neighbour();
    let alone = read(good.to_string().as_bytes());
    // Two names, one uid: two objects.
    let mut twin = profile("twin");
    twin["metadata"]["uid"] = good["metadata"]["uid"].clone();
    let evidence = read(list(&[&twin, &good]).as_bytes());
    assert_eq!(reported(&evidence), [""; 0]);
    assert_eq!(evidence.inventory().count(), 2);
    assert_eq!(of_neighbour(&evidence), of_neighbour(&alone));
    // Two versions of one name: the newer one is unknown.
    let mut newer = profile("odd");
    newer["metadata"]["resourceVersion"] = json!("8");
    for (one, other) in [(profile("odd"), newer.clone()), (newer, profile("odd"))] {
        let evidence = read(list(&[&one, &good, &other]).as_bytes());
        reports_one(
            &evidence,
            "ClusterProfile default/odd could not be read: it is in the dump twice",
        );
        is_judged_as_alone(&evidence, &alone);
    }
    // A list within a list is no hiding place.
    let within = json!({"kind": "List", "items": [{"kind": "List", "items": [profile("hidden")]}, [profile("deeper")]]});
    let evidence = read(format!("{good}\n{within}").as_bytes());
    assert_eq!(evidence.inventory().count(), 3);
}
