//! Objects that fit no schema, from a dump, an evidence file and a hub: none stops a run, each is reported, and the good
//! neighbour is judged as if it were alone.

use std::{collections::BTreeSet, fs, future, path::Path, process::Command, time::Duration};

use clusterprofile_conformance::{
    clock::Clock,
    collect::{Plan, Quiet, Wish, collect},
    evidence::{Claim, Evidence, Kind, Scope, file, read_input},
    hub::Hub,
    judge::{Selection, Verdict, judge},
};
use http::{Method, Request, header};
use kube::Client;
use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

const PROFILES: &str = "/apis/multicluster.x-k8s.io/v1alpha1/namespaces/default/clusterprofiles";
const CRD: &str =
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/clusterprofiles.multicluster.x-k8s.io";

/// A profile whose label names another manager, so that rules have something to say of it.
fn neighbour() -> Value {
    let mut good = profile("good");
    good["metadata"]["labels"]["x-k8s.io/cluster-manager"] = json!("other");
    good
}

/// A profile with something in every part.
fn profile(name: &str) -> Value {
    json!({
        "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
        "metadata": {
            "name": name, "namespace": "default", "uid": format!("uid-of-{name}"), "resourceVersion": "7", "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"x-k8s.io/cluster-manager": "m"},
            "managedFields": [{"manager": "m", "operation": "Update", "fieldsV1": {"f:spec": {"f:clusterManager": {}}}}],
        },
        "spec": {"displayName": name, "clusterManager": {"name": "m"}},
        "status": {
            "version": {"kubernetes": "v1.34.0"},
            "properties": [{"name": "cluster-endpoints.k8s.io", "value": format!("[\"https://{name}.example\"]")}],
            "conditions": [
                {"type": "Joined", "status": "True", "reason": "Joined", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"},
            ],
            "accessProviders": [{"name": "p", "cluster": {
                "server": format!("https://{name}.example"), "extensions": [{"name": "e", "extension": {"a": 1}}],
            }}],
        },
    })
}

/// A profile with another value in one place (a JSON pointer).
fn odd(place: &str, value: Value) -> Value {
    let mut odd = profile("odd");
    *odd.pointer_mut(place).expect("the place") = value;
    odd
}

/// Rules that compare profiles: what another profile is like may well be said of the neighbour.
const COMPARING: [&str; 5] = [
    "identity/manager-unique",
    "identity/member-id-unique",
    "identity/name-unique",
    "identity/one-manager-per-profile",
    "identity/one-profile-per-cluster",
];

/// The same, but for what comes of comparing.
fn of_neighbour_itself(evidence: &Evidence) -> BTreeSet<String> {
    let mut told = of_neighbour(evidence);
    told.retain(|told| !COMPARING.iter().any(|rule| told.starts_with(rule)));
    told
}

/// What is said of the good neighbour.
fn of_neighbour(evidence: &Evidence) -> BTreeSet<String> {
    let judgement = judge(evidence, &Selection::default());
    let verdicts = judgement.verdicts.iter();
    let told = verdicts.flat_map(|verdict| {
        let findings = verdict
            .findings
            .iter()
            .filter(|finding| finding.object.name == "good");
        findings.map(|finding| {
            let parts = (&finding.path, &finding.message, &finding.expected);
            format!("{} {parts:?} {}", verdict.rule.id, finding.advisory)
        })
    });
    told.collect()
}

/// The neighbour is judged as in `alone`, and the only difference is doubt.
fn is_judged_as_alone(evidence: &Evidence, alone: &Evidence) {
    assert!(
        evidence
            .everyone()
            .any(|profile| &*profile.metadata.name == "good"),
        "it is there"
    );
    assert_eq!(of_neighbour(evidence), of_neighbour(alone));
    assert!(!of_neighbour(alone).is_empty());
    let verdicts = |evidence| judge(evidence, &Selection::default()).verdicts;
    for (with, without) in verdicts(evidence).iter().zip(&verdicts(alone)) {
        let broken = [Verdict::Fail, Verdict::Warn].contains(&without.verdict);
        let as_before = with.verdict == without.verdict;
        assert!(
            as_before || (with.verdict == Verdict::Inconclusive && !broken),
            "{}: {:?} turns into {:?}",
            with.rule.id,
            without.verdict,
            with.verdict
        );
        // What could not be read was not examined: nothing that needs the profiles passes.
        let needs_profiles = with.rule.facts.needs.contains(&Kind::Inventory);
        assert!(
            with.verdict != Verdict::Pass || !needs_profiles,
            "{} passes",
            with.rule.id
        );
    }
}

/// Which objects are reported, and what does not fit.
fn reported(evidence: &Evidence) -> Vec<String> {
    evidence.unreadable.iter().map(ToString::to_string).collect()
}

fn read(bytes: &[u8]) -> Evidence {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("dump");
    fs::write(&path, bytes).expect("written");
    read_input(&path).expect("a dump").evidence
}

fn list(items: &[&Value]) -> String {
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

/// The same object from every source: list, stream and documents of a dump, evidence file, hub.
#[rstest]
#[case::a_number_for_a_list("/status/conditions", json!(7), "status.conditions: invalid type: integer")]
#[case::a_map_for_a_list("/status/properties", json!({"p": "v"}), "status.properties: invalid type: map")]
#[case::a_text_for_the_status("/status", json!("fine"), "status: invalid type: string")]
#[case::a_list_for_the_status("/status", json!([1]), "status")]
#[case::a_number_for_the_spec("/spec", json!(7), "spec: invalid type: integer")]
#[case::a_text_for_the_manager("/spec/clusterManager", json!("m"), "spec.clusterManager: invalid type: string")]
#[case::a_text_for_the_version("/status/version", json!("v1"), "status.version: invalid type: string")]
#[case::a_number_for_the_version("/status/version/kubernetes", json!(1.34), "status.version.kubernetes: invalid type")]
#[case::a_list_for_a_value("/status/properties/0/value", json!(["a"]), "status.properties[0].value: invalid type: sequence")]
#[case::a_boolean_for_a_status("/status/conditions/0/status", json!(true), "status.conditions[0].status: invalid type: boolean")]
#[case::a_null_among_conditions("/status/conditions", json!([null]), "status.conditions[0]: invalid type: null")]
#[case::a_number_for_a_time("/status/conditions/0/lastTransitionTime", json!(0), "status.conditions[0].lastTransitionTime: invalid type")]
#[case::a_generation_out_of_range("/status/conditions/0", json!({"type": "A", "observedGeneration": u64::MAX}), "status.conditions[0].observedGeneration: invalid value")]
#[case::a_fraction_for_a_generation("/status/conditions/0", json!({"type": "A", "observedGeneration": 1.5}), "status.conditions[0].observedGeneration: invalid type")]
#[case::a_number_for_a_server("/status/accessProviders/0/cluster/server", json!(443), "status.accessProviders[0].cluster.server: invalid type")]
#[case::a_text_for_extensions("/status/accessProviders/0/cluster/extensions", json!("e"), "status.accessProviders[0].cluster.extensions: invalid type")]
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
        let [told] = &reported(&evidence)[..] else {
            panic!("{:?}", reported(&evidence))
        };
        assert!(told.starts_with(&expected), "{told}");
        assert_eq!(evidence.unreadable[0].object.uid, "uid-of-odd");
        is_judged_as_alone(&evidence, &alone);
    }

    let evidence = from_evidence_file(&alone, &odd);
    let [told] = &reported(&evidence)[..] else {
        panic!("{:?}", reported(&evidence))
    };
    assert!(
        told.starts_with("ClusterProfile default/odd could not be read: line 3 of the evidence file: "),
        "{told}"
    );
    assert!(told.contains(message), "{told}");
    is_judged_as_alone(&evidence, &alone);

    let hub = LaxHub::new().await;
    hub.put(&good).await;
    after(600).await;
    for seconds in [0, 60] {
        let alone = hub.look(seconds, future::ready(())).await;
        hub.put(&odd).await;
        let evidence = hub.look(seconds, future::ready(())).await;
        let [told] = &reported(&evidence)[..] else {
            panic!("{:?}", reported(&evidence))
        };
        assert!(told.starts_with(&expected), "{told}");
        is_judged_as_alone(&evidence, &alone);
        hub.delete("odd").await;
    }
}

/// What a hub refuses of every object, a dump may hold all the same.
#[rstest]
#[case::a_list_for_labels("/metadata/labels", json!(["a"]), "ClusterProfile default/odd could not be read: metadata.labels: invalid type: sequence")]
#[case::a_number_for_a_label("/metadata/labels", json!({"a": 1}), "ClusterProfile default/odd could not be read: metadata.labels: invalid type: integer")]
#[case::no_metadata("/metadata", json!(null), "a ClusterProfile could not be read: metadata.name is missing (")]
#[case::a_text_for_metadata("/metadata", json!("m"), "a ClusterProfile could not be read: metadata: invalid type: string")]
#[case::no_name("/metadata/name", json!(null), "a ClusterProfile could not be read: metadata.name is missing (")]
#[case::an_empty_name("/metadata/name", json!(""), "a ClusterProfile could not be read: metadata.name is missing (")]
#[case::a_number_for_a_name("/metadata/name", json!(7), "a ClusterProfile could not be read: metadata.name: invalid type: integer")]
#[case::a_list_for_a_namespace("/metadata/namespace", json!([]), "ClusterProfile odd could not be read: metadata.namespace: invalid type")]
#[case::a_map_for_managed_fields("/metadata/managedFields", json!({}), "ClusterProfile default/odd could not be read: metadata.managedFields: invalid type: map")]
#[case::a_number_for_owned_fields("/metadata/managedFields/0/fieldsV1", json!(1), "ClusterProfile default/odd could not be read: metadata.managedFields[0].fieldsV1: invalid type")]
#[case::a_generation_beyond_all_numbers("/metadata/generation", json!(1e300), "ClusterProfile default/odd could not be read: metadata.generation: invalid type")]
#[case::no_api_version("/apiVersion", json!(null), "ClusterProfile default/odd could not be read: apiVersion is missing")]
#[case::a_number_for_the_api_version("/apiVersion", json!(1), "ClusterProfile default/odd could not be read: apiVersion is missing")]
#[case::no_kind("/kind", json!(null), "an object could not be read: kind is missing")]
#[case::a_list_for_the_kind("/kind", json!(["ClusterProfile"]), "an object could not be read: kind is missing")]
fn a_dump_of_what_no_hub_holds(#[case] place: &str, #[case] value: Value, #[case] message: &str) {
    let (good, odd) = (neighbour(), odd(place, value));
    let alone = read(good.to_string().as_bytes());
    for dump in [list(&[&odd, &good]), format!("{good}\n---\n{odd}\n")] {
        let evidence = read(dump.as_bytes());
        let [told] = &reported(&evidence)[..] else {
            panic!("{:?}", reported(&evidence))
        };
        assert!(told.starts_with(message), "{told}");
        is_judged_as_alone(&evidence, &alone);
    }
}

/// What is strange and fits is judged like any other.
#[rstest]
#[case::no_status("/status", json!(null))]
#[case::no_spec("/spec", json!(null))]
#[case::no_conditions("/status/conditions", json!(null))]
#[case::no_labels("/metadata/labels", json!(null))]
#[case::a_label_without_a_value("/metadata/labels", json!({"a": null}))]
#[case::fields_of_tomorrow("/status", json!({"tomorrow": [{"a": [1e308, -0.0, null, {"": ""}]}]}))]
#[case::a_thousand_labels("/metadata/labels", (0..1000).map(|n| (format!("l{n}"), json!("v"))).collect::<serde_json::Map<_, _>>().into())]
#[case::a_large_annotation("/metadata", json!({"name": "odd", "namespace": "default", "annotations": {"a": "x".repeat(1 << 20)}}))]
#[case::ten_thousand_conditions("/status/conditions", (0..10_000).map(|n| json!({"type": format!("C{n}"), "status": "True"})).collect())]
#[case::ten_thousand_alike("/status/conditions", vec![json!({"type": "Joined", "status": "Maybe"}); 10_000].into())]
#[case::a_large_value("/status/properties/0/value", json!("[".repeat(1 << 20)))]
fn an_object_that_is_strange_and_fits(#[case] place: &str, #[case] value: Value) {
    let (good, odd) = (neighbour(), odd(place, value));
    let alone = read(good.to_string().as_bytes());
    for dump in [list(&[&odd, &good]), format!("{good}\n---\n{odd}\n")] {
        let evidence = read(dump.as_bytes());
        assert_eq!(reported(&evidence), [""; 0]);
        assert_eq!(evidence.inventory().count(), 2);
        assert_eq!(of_neighbour(&evidence), of_neighbour(&alone));
    }
}

const GOOD: &str = "apiVersion: multicluster.x-k8s.io/v1alpha1
kind: ClusterProfile
metadata:
  name: good
  namespace: default
  labels: {x-k8s.io/cluster-manager: other}
spec:
  clusterManager: {name: m}
";
const ODD: &str = "apiVersion: multicluster.x-k8s.io/v1alpha1
kind: ClusterProfile
metadata:
  labels:
    name: not this
  name: odd
  namespace: default
spec:
  displayName: odd
";

/// Behind one another, with a mark between them.
fn documents(documents: &[&str]) -> String {
    documents.join("---\n")
}

/// A list as kubectl prints it.
fn printed(items: &[&str]) -> String {
    indented("", items)
}

/// The same with its items further to the right, as other tools print it.
fn indented(indent: &str, items: &[&str]) -> String {
    let lines = |item: &&str| format!("- {}", item.trim_end().replace('\n', "\n  "));
    let items = items.iter().map(lines).collect::<Vec<_>>().join("\n");
    let items = format!("{indent}{}", items.replace('\n', &format!("\n{indent}")));
    format!("apiVersion: v1\nitems:\n{items}\nkind: List\nmetadata:\n  resourceVersion: \"\"\n")
}

/// What is wrong with the text, and not with the object.
#[rstest]
#[case::a_repeated_key(&format!("{ODD}spec: {{}}\n"), "the key `spec` is repeated")]
#[case::a_repeated_key_deep_inside(&format!("{ODD}status: {{a: {{b: 1, b: 2}}}}\n"), "the key `b` is repeated")]
#[case::a_tab(&format!("{ODD}\tstatus: {{}}\n"), "is no valid YAML: ")]
#[case::an_open_bracket(&format!("{ODD}status: [1, 2\n"), "is no valid YAML: ")]
#[case::an_open_quote(&format!("{ODD}status: \"canary\n"), "is no valid YAML: ")]
#[case::an_unknown_alias(&format!("{ODD}status: *canary\n"), "is no valid YAML: alias references unknown anchor")]
#[case::two_values(&format!("{ODD}status: a: canary\n"), "is no valid YAML: ")]
#[case::no_indentation(&ODD.replace("spec:\n  displayName", "spec:\n canary\n  displayName"), "is no valid YAML: ")]
#[case::too_deep(&format!("{ODD}status: {}{}\n", "[".repeat(5000), "]".repeat(5000)), "is no valid YAML: ")]
fn a_text_that_cannot_be_parsed(#[case] odd: &str, #[case] message: &str) {
    let alone = read(GOOD.as_bytes());
    for dump in [
        documents(&[GOOD, odd]),
        documents(&[odd, GOOD]),
        printed(&[GOOD, odd]),
        printed(&[odd, GOOD]),
        indented("  ", &[odd, GOOD]),
    ] {
        for dump in [
            dump.clone(),
            dump.replace('\n', "\r\n"),
            format!("\u{FEFF}{dump}"),
        ] {
            let evidence = read(dump.as_bytes());
            let [told] = &reported(&evidence)[..] else {
                panic!("{:?} of {dump}", reported(&evidence))
            };
            assert!(
                told.starts_with("ClusterProfile default/odd could not be read: "),
                "{told}"
            );
            assert!(told.contains(message) && !told.contains("canary"), "{told}");
            is_judged_as_alone(&evidence, &alone);
        }
    }
}

/// What harms nobody.
#[rstest]
#[case::empty_documents("---\n\n---\n# nothing\n---\n~\n---\nnull\n--- \n")]
#[case::a_byte_order_mark_between("---\n\u{FEFF}---\n\u{FEFF}# nothing\n")]
#[case::ends_of_documents("---\n...\n---\n%YAML 1.2\n---\n")]
#[case::other_kinds(
    "---\nkind: Pod\napiVersion: v1\nmetadata: 7\n---\nkind: ClusterProfile\napiVersion: example.com/v1\nspec: canary\n"
)]
#[case::a_broken_pod("---\nkind: Pod\napiVersion: v1\nspec: [\n")]
#[case::an_empty_list(
    "---\nkind: List\napiVersion: v1\nitems:\n---\n{\"kind\": \"ClusterProfileList\", \"items\": null}\n"
)]
fn what_harms_nobody(#[case] text: &str) {
    let alone = read(GOOD.as_bytes());
    for dump in [format!("{GOOD}{text}"), format!("{text}---\n{GOOD}")] {
        let evidence = read(dump.as_bytes());
        assert_eq!(reported(&evidence), [""; 0], "{dump}");
        assert_eq!(evidence.inventory().count(), 1, "{dump}");
        assert_eq!(of_neighbour(&evidence), of_neighbour(&alone));
    }
}

/// What nobody can tell who it is may be anything: even a Secret, a Namespace or the neighbour's twin.
#[rstest]
#[case::a_text("hello\n", "is no Kubernetes object")]
#[case::a_number("7\n", "is no Kubernetes object")]
#[case::numbers_for_objects("kind: List\napiVersion: v1\nitems: [7, canary]\n", "is no Kubernetes object")]
#[case::a_map_for_items(
    "kind: List\napiVersion: v1\nitems: {a: canary}\n",
    "is a list whose items are none"
)]
#[case::no_items(
    "kind: ClusterProfileList\napiVersion: multicluster.x-k8s.io/v1alpha1\n",
    "is a list whose items are none"
)]
#[case::lists_without_end(&format!("{}[]{}\n", "{\"items\": [".repeat(50), "]}".repeat(50)), "is a list whose items are none")]
#[case::a_nameless_text("a: [canary\n", "is no valid YAML: ")]
#[case::half_a_list("{\"kind\": \"List\", \"items\": [{\n", "it ends in the middle")]
#[case::two_kinds_of_items(
    "{\"kind\": \"List\", \"items\": [], \"items\": [7]}\n",
    "duplicate field `items`"
)]
#[case::a_list_on_one_line("kind: List\nitems: [{a: 1, a: 2}]\n", "the key `a` is repeated")]
fn what_nobody_can_tell_who_it_is(#[case] text: &str, #[case] message: &str) {
    let alone = read(GOOD.as_bytes());
    for dump in [documents(&[GOOD, text]), documents(&[text, GOOD])] {
        let evidence = read(dump.as_bytes());
        let told = reported(&evidence);
        assert!(!told.is_empty());
        for told in told {
            assert!(
                told.starts_with("an object could not be read: ") && told.contains(message),
                "{told}"
            );
            assert!(!told.contains("canary"), "{told}");
        }
        is_judged_as_alone(&evidence, &alone);
        assert!(evidence.may_be_unread("Secret", "any") && evidence.may_be_unread("Namespace", "any"));
    }
}

/// A byte that is no UTF-8 costs the object that it is in.
#[test]
fn a_byte_that_is_no_text_costs_one_object() {
    let alone = read(GOOD.as_bytes());
    let (good, odd) = (neighbour(), profile("odd"));
    let objects = list(&[&odd, &good]);
    let yaml = |text: &str| text.replace("displayName: odd", "displayName: o@d");
    let json = |text: &str| text.replace(r#""displayName":"odd""#, r#""displayName":"o@d""#);
    let spoilt = |text: String| -> Vec<u8> {
        assert_eq!(text.matches('@').count(), 1);
        text.bytes()
            .map(|byte| if byte == b'@' { 0xE9 } else { byte })
            .collect()
    };
    for dump in [
        yaml(&documents(&[GOOD, ODD])),
        yaml(&documents(&[ODD, GOOD])),
        yaml(&printed(&[GOOD, ODD])),
        yaml(&printed(&[ODD, GOOD])),
        json(&objects),
        json(
            &serde_json::to_string_pretty(&serde_json::from_str::<Value>(&objects).expect("JSON"))
                .expect("JSON"),
        )
        .replace(r#""displayName": "odd""#, r#""displayName": "o@d""#),
        json(&format!("{good}\n{odd}")),
    ] {
        let evidence = read(&spoilt(dump));
        let [told] = &reported(&evidence)[..] else {
            panic!("{:?}", reported(&evidence))
        };
        assert!(
            told.starts_with("ClusterProfile default/odd could not be read: "),
            "{told}"
        );
        assert!(told.contains(" is no UTF-8 text"), "{told}");
        let names: Vec<_> = evidence
            .inventory()
            .map(|profile| profile.metadata.name.to_string())
            .collect();
        assert_eq!(names, ["good"]);
        assert_eq!(
            of_neighbour(&evidence).is_empty(),
            of_neighbour(&alone).is_empty()
        );
    }
    // Where the name itself is spoilt, it is nobody's name.
    let nameless = read(&spoilt(
        documents(&[GOOD, ODD]).replace("name: odd\n  namespace", "name: o@d\n  namespace"),
    ));
    assert!(
        reported(&nameless)[0].starts_with("a ClusterProfile could not be read: "),
        "{:?}",
        reported(&nameless)
    );
    assert!(nameless.may_be_unread("ClusterProfile", "odd"));
}

/// Objects of other kinds that matter.
#[rstest]
#[case::a_namespace_of_text("Namespace", json!({"metadata": "n"}), "a Namespace could not be read: metadata: ")]
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
    let [told] = &reported(&evidence)[..] else {
        panic!("{:?}", reported(&evidence))
    };
    assert!(told.starts_with(message) && !told.contains("canary"), "{told}");
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
    // Two versions of one name: nobody can tell which is newer.
    let mut newer = profile("odd");
    newer["metadata"]["resourceVersion"] = json!("8");
    for (one, other) in [(profile("odd"), newer.clone()), (newer, profile("odd"))] {
        let evidence = read(list(&[&one, &good, &other]).as_bytes());
        let [told] = &reported(&evidence)[..] else {
            panic!("{:?}", reported(&evidence))
        };
        assert!(
            told.starts_with("ClusterProfile default/odd could not be read: it is in the dump twice"),
            "{told}"
        );
        is_judged_as_alone(&evidence, &alone);
    }
    // A list within a list is no hiding place.
    let within = json!({"kind": "List", "items": [{"kind": "List", "items": [profile("hidden")]}, [profile("deeper")]]});
    let evidence = read(format!("{good}\n{within}").as_bytes());
    assert_eq!(evidence.inventory().count(), 3);
}

/// The evidence of the neighbour alone, with a line of the odd one before it.
fn from_evidence_file(alone: &Evidence, odd: &Value) -> Evidence {
    let mut bytes = Vec::new();
    file::write_to(alone, &mut bytes).expect("written");
    let text = String::from_utf8(bytes).expect("text");
    let record = json!({"profile": {"at": "2026-01-01T00:00:00Z", "origin": "listed", "profile": odd}});
    let change = json!({"change": {"at": "2026-01-01T00:00:10Z", "metadata": {"resourceVersion": "9"}}});
    let gone = json!({"gone": {"at": "2026-01-01T00:00:20Z"}});
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.splice(2..2, [record.to_string(), change.to_string(), gone.to_string()]);
    read((lines.join("\n") + "\n").as_bytes())
}

#[test]
fn a_later_version_in_an_evidence_file() {
    let alone = read(neighbour().to_string().as_bytes());
    let both = read(list(&[&neighbour(), &profile("odd")]).as_bytes());
    let mut bytes = Vec::new();
    file::write_to(&both, &mut bytes).expect("written");
    let text = String::from_utf8(bytes).expect("text");
    let change = r#"{"change":{"at":"2026-01-01T00:00:10Z","status":{"conditions":7}}}"#;
    let spoilt = text.replace("\n{\"end\"", &format!("\n{change}\n{{\"end\""));
    assert_ne!(spoilt, text);
    let evidence = read(spoilt.as_bytes());
    let [told] = &reported(&evidence)[..] else {
        panic!("{:?}", reported(&evidence))
    };
    assert!(
        told.starts_with("ClusterProfile default/odd could not be read: line 4 of the evidence file: "),
        "{told}"
    );
    is_judged_as_alone(&evidence, &alone);

    let mut bytes = text.into_bytes();
    let at = bytes
        .windows(5)
        .position(|part| part == b"v1.34")
        .expect("a version");
    bytes[at] = 0xFF;
    let evidence = read(&bytes);
    assert_eq!(reported(&evidence).len(), 1);
    assert!(
        reported(&evidence)[0].contains("it is no UTF-8 text"),
        "{:?}",
        reported(&evidence)
    );
    assert_eq!(evidence.inventory().count(), 1);
}

/// A lab hub whose CRD asks nothing of its objects.
struct LaxHub {
    hub: Hub,
    admin: Client,
    clock: Clock,
}

impl LaxHub {
    async fn new() -> Self {
        let clock = Clock::starting_at("2026-11-20T10:00:00Z".parse().expect("a time"));
        let hub = Hub::lab(clock).await.expect("a hub");
        let admin = hub.as_lab().expect("the lab").client("admin");
        let lax = Self { hub, admin, clock };
        let mut crd = lax.send(Method::GET, CRD, &Value::Null).await;
        for version in crd["spec"]["versions"].as_array_mut().expect("versions") {
            version["schema"]["openAPIV3Schema"] =
                json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
            version.as_object_mut().expect("a version").remove("subresources");
        }
        lax.send(Method::PUT, CRD, &crd).await;
        lax
    }

    async fn send(&self, method: Method, path: &str, body: &Value) -> Value {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::CONTENT_TYPE, "application/json");
        let body = if body.is_null() {
            Vec::new()
        } else {
            body.to_string().into_bytes()
        };
        self.admin
            .request(request.body(body).expect("a request"))
            .await
            .expect("the hub takes it")
    }

    async fn put(&self, profile: &Value) {
        let mut profile = profile.clone();
        for set_by_hub in [
            "uid",
            "resourceVersion",
            "generation",
            "creationTimestamp",
            "managedFields",
        ] {
            profile["metadata"]
                .as_object_mut()
                .expect("metadata")
                .remove(set_by_hub);
        }
        self.send(Method::POST, PROFILES, &profile).await;
    }

    async fn change(&self, name: &str, change: impl FnOnce(&mut Value)) {
        let path = format!("{PROFILES}/{name}");
        let mut profile = self.send(Method::GET, &path, &Value::Null).await;
        change(&mut profile);
        self.send(Method::PUT, &path, &profile).await;
    }

    async fn delete(&self, name: &str) {
        self.send(Method::DELETE, &format!("{PROFILES}/{name}"), &Value::Null)
            .await;
    }

    /// Looks for that long, while `events` happens beside.
    async fn look(&self, seconds: u64, events: impl Future<Output = ()>) -> Evidence {
        let plan = Plan {
            claim: Claim::default(),
            scope: Scope::default(),
            api_version: None,
            observe: Duration::from_secs(seconds),
            secrets: Wish::IfAllowed,
            probe: Wish::No("not here".to_owned()),
            audit_logs: Vec::new(),
        };
        let collecting = collect(&self.hub, &plan, self.clock, &Quiet, future::pending());
        futures::join!(collecting, events).0.expect("evidence")
    }
}

async fn after(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_goes_on_past_a_version_that_does_not_fit() {
    let hub = LaxHub::new().await;
    hub.put(&neighbour()).await;
    hub.put(&profile("odd")).await;
    let spoil = |profile: &mut Value| profile["status"]["conditions"] = json!({"Joined": true});

    // Spoilt and mended: judged by what it is in the end, with a gap in its story.
    let events = async {
        after(10).await;
        hub.change("odd", spoil).await;
        after(10).await;
        hub.change("odd", |profile| profile["status"]["conditions"] = json!([]))
            .await;
        hub.change("good", |profile| profile["spec"]["displayName"] = json!("later"))
            .await;
    };
    let evidence = hub.look(60, events).await;
    assert_eq!(reported(&evidence), [""; 0]);
    assert_eq!(evidence.inventory().count(), 2);
    let [gap] = &evidence.gaps[..] else {
        panic!("{:?}", evidence.gaps)
    };
    assert_eq!(
        gap.object.as_ref().map(|object| object.name.as_str()),
        Some("odd")
    );
    assert!(
        gap.kind == Kind::Timeline && gap.reason.contains("status.conditions: invalid type"),
        "{gap:?}"
    );
    let good = evidence
        .profiles
        .iter()
        .find(|history| &*history.last().metadata.name == "good");
    assert_eq!(good.expect("it is there").versions.len(), 2);

    // Spoilt for good: what it was before is no longer true, and no rule judges it by that.
    let events = async {
        after(10).await;
        hub.change("odd", spoil).await;
    };
    let evidence = hub.look(60, events).await;
    assert_eq!(reported(&evidence).len(), 1);
    let names: Vec<_> = evidence
        .everyone()
        .map(|profile| profile.metadata.name.to_string())
        .collect();
    assert_eq!(names, ["good"]);

    // Spoilt and gone: nothing is left of it but that something was missed.
    let events = async {
        after(10).await;
        hub.delete("odd").await;
    };
    let evidence = hub.look(60, events).await;
    assert_eq!(reported(&evidence), [""; 0]);
    assert_eq!(evidence.gaps.len(), 1, "{:?}", evidence.gaps);
}

/// All three reports name the object and say what does not fit; the run comes to its end.
#[test]
fn the_command_tells_of_it_in_every_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("dump.yaml");
    let dump = documents(&[
        GOOD,
        &format!("{ODD}status: {{conditions: 7}}\n"),
        "kind: [\n",
        ODD,
    ]);
    fs::write(
        &path,
        dump.replace(
            "name: odd\n  namespace: default\nspec:\n  displayName: odd\nstatus",
            "name: odder\n  namespace: default\nstatus",
        ),
    )
    .expect("written");
    let output = Command::new(env!("CARGO_BIN_EXE_clusterprofile-conformance"))
        .args([
            "run",
            "--from",
            "dump.yaml",
            "--json",
            "report.json",
            "--junit",
            "report.xml",
        ])
        .current_dir(folder.path())
        .output()
        .expect("the command runs");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    // The neighbour's label is wrong, whatever else there is.
    assert_eq!(output.status.code(), Some(1), "{told}");
    let file = |name: &str| fs::read_to_string(Path::new(folder.path()).join(name)).expect("a report");
    for text in [
        told.split_whitespace().collect::<Vec<_>>().join(" "),
        file("report.xml"),
        file("report.json"),
    ] {
        assert!(
            text.contains("odder") && text.contains("status.conditions: invalid type: integer"),
            "{text}"
        );
        assert!(text.contains("dump.yaml:19 is no valid YAML"), "{text}");
    }
    let report: Value = serde_json::from_str(&file("report.json")).expect("JSON");
    assert_eq!(report["unreadable"][0]["object"]["name"], "odder");
    assert_eq!(report["profiles"], 2);
}

/// Any JSON.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        prop::sample::select(vec![
            "True",
            "Joined",
            "v1.34.0",
            "https://a.example",
            "[\"a:1\"]",
            "2026-01-01T00:00:00Z",
            "[{",
            "m"
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((key(), inner), 0..6).prop_map(|parts| parts.into_iter().collect()),
        ]
    })
}

fn key() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "name",
        "value",
        "type",
        "status",
        "reason",
        "cluster",
        "server",
        "extension",
        "items",
    ]);
    prop_oneof![known.prop_map(str::to_owned), ".{0,8}"]
}

/// All places in a profile, as JSON pointers.
fn places(value: &Value, at: &str, into: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(map) => map
            .iter()
            .map(|(key, child)| (key.replace('~', "~0").replace('/', "~1"), child))
            .collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, child)| (index.to_string(), child))
            .collect(),
        _ => Vec::new(),
    };
    for (key, child) in children {
        let place = format!("{at}/{key}");
        places(child, &place, into);
        into.push(place);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// Whatever stands wherever in one profile, nothing panics and the neighbour is judged as it is.
    #[test]
    fn anything_anywhere(at in any::<prop::sample::Index>(), value in any_json(), second in prop::option::of((any::<prop::sample::Index>(), any_json()))) {
        let mut found = Vec::new();
        let mut odd = profile("odd");
        for (at, value) in [(at, value)].into_iter().chain(second) {
            found.clear();
            places(&odd, "", &mut found);
            if let Some(place) = found.get(at.index(found.len().max(1))) {
                *odd.pointer_mut(place).expect("the place") = value;
            }
        }
        let good = neighbour();
        let alone = read(good.to_string().as_bytes());
        for dump in [list(&[&odd, &good]), format!("{good}\n---\n{odd}\n")] {
            let evidence = read(dump.as_bytes());
            prop_assert_eq!(of_neighbour_itself(&evidence), of_neighbour_itself(&alone), "{}", dump);
            // It is judged, or reported, or of no kind that is judged.
            let judged = evidence.everyone().count() - 1;
            let is_profile = odd["kind"] == "ClusterProfile" && odd["apiVersion"].as_str().is_some_and(|version| version.starts_with("multicluster.x-k8s.io/"));
            prop_assert!(!is_profile || judged + evidence.unreadable.len() == 1, "{}", dump);
        }
        let evidence = from_evidence_file(&alone, &odd);
        prop_assert_eq!(of_neighbour_itself(&evidence), of_neighbour_itself(&alone));
    }
}
