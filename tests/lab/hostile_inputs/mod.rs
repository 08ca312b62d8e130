//! Objects that fit no schema, from a dump, an evidence file and a hub: none stops a run, each is reported, and the good
//! neighbour is judged as if it were alone.

mod anything;
mod hub;
mod objects;
mod texts;

use std::{collections::BTreeSet, fs};

use evidence::{Digester, Evidence, Kind, read_input};
use judge::{Selection, Verdict, judge};
use serde_json::{Value, json};

/// A profile whose label names another manager, so that rules have something to say of it.
pub fn neighbour() -> Value {
    let mut good = profile("good");
    good["metadata"]["labels"]["x-k8s.io/cluster-manager"] = json!("other");
    good
}

/// A profile with something in every part.
pub fn profile(name: &str) -> Value {
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
pub fn odd(place: &str, value: Value) -> Value {
    let mut odd = profile("odd");
    *odd.pointer_mut(place).expect("the place") = value;
    odd
}

/// Rules that compare profiles: what another profile is like may well be said of the neighbour.
pub const COMPARING: [&str; 5] = [
    "identity/manager-unique",
    "identity/member-id-unique",
    "identity/name-unique",
    "identity/one-manager-per-profile",
    "identity/one-profile-per-cluster",
];

/// The same, but for what comes of comparing.
pub fn of_neighbour_itself(evidence: &Evidence) -> BTreeSet<String> {
    let mut told = of_neighbour(evidence);
    told.retain(|told| !COMPARING.iter().any(|rule| told.starts_with(rule)));
    told
}

/// What is said of the good neighbour.
pub fn of_neighbour(evidence: &Evidence) -> BTreeSet<String> {
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
pub fn is_judged_as_alone(evidence: &Evidence, alone: &Evidence) {
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
pub fn reported(evidence: &Evidence) -> Vec<String> {
    evidence.unreadable.iter().map(ToString::to_string).collect()
}

pub fn read(bytes: &[u8]) -> Evidence {
    read_if_possible(bytes).expect("a dump")
}

/// None for what is no dump.
pub fn read_if_possible(bytes: &[u8]) -> Option<Evidence> {
    try_read(bytes).ok()
}

/// Why it is refused, without the file's name.
pub fn refused(bytes: &[u8]) -> String {
    try_read(bytes).expect_err("no dump")
}

fn try_read(bytes: &[u8]) -> Result<Evidence, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("dump");
    fs::write(&path, bytes).expect("written");
    match read_input(&path, &Digester::new([7; 32])) {
        Ok(input) => Ok(input.evidence),
        Err(error) => Err(error.to_string().replace(&format!("{}:", path.display()), "")),
    }
}

pub fn list(items: &[&Value]) -> String {
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}
