//! Objects that fit no schema, in a dump: none stops a run, each is reported, and the valid neighbour is judged as if it
//! were alone. `src/collect/tests/hub/looking.rs` has them on a hub.

mod anything;
mod objects;

use std::{collections::BTreeSet, fs};

use evidence::{Digester, Evidence, Kind, read_input};
use judge::{Selection, Verdict, judge};
use serde_json::{Value, json};

/// A valid profile whose label names another manager, so that it violates rules.
pub fn neighbour() -> Value {
    let mut good = profile("good");
    good["metadata"]["labels"]["x-k8s.io/cluster-manager"] = json!("other");
    good
}

/// The neighbour, and the evidence of a dump of it alone.
pub fn neighbour_alone() -> (Value, Evidence) {
    let good = neighbour();
    let alone = read(good.to_string().as_bytes());
    (good, alone)
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

/// Rules that compare profiles: their findings may well be about both.
const COMPARING: [&str; 5] = [
    "identity/manager-unique",
    "identity/member-id-unique",
    "identity/name-unique",
    "identity/one-manager-per-profile",
    "identity/one-profile-per-cluster",
];

pub fn of_neighbour(evidence: &Evidence) -> BTreeSet<String> {
    let judgement = judge(evidence, &Selection::default());
    let mut texts = BTreeSet::new();
    for verdict in &judgement.verdicts {
        let findings = verdict.findings.iter();
        for finding in findings.filter(|finding| finding.object.name == "good") {
            let parts = (&finding.path, &finding.message, &finding.expected);
            texts.insert(format!("{} {parts:?} {}", verdict.rule.id, finding.advisory));
        }
    }
    texts
}

/// The findings on the good neighbour, without those of a comparison.
pub fn of_neighbour_itself(evidence: &Evidence) -> BTreeSet<String> {
    let mut findings = of_neighbour(evidence);
    findings.retain(|finding| !COMPARING.iter().any(|rule| finding.starts_with(rule)));
    findings
}

/// The neighbour is judged as in `alone`; the only difference is inconclusive rules.
pub fn is_judged_as_alone(evidence: &Evidence, alone: &Evidence) {
    let mut profiles = evidence.everyone();
    assert!(profiles.any(|profile| &*profile.metadata.name == "good"));
    assert_eq!(of_neighbour(evidence), of_neighbour(alone));
    assert!(!of_neighbour(alone).is_empty());
    let verdicts = |evidence| judge(evidence, &Selection::default()).verdicts;
    for (with, without) in verdicts(evidence).iter().zip(&verdicts(alone)) {
        let rule = with.rule;
        let is_broken = [Verdict::Fail, Verdict::Warn].contains(&without.verdict);
        let is_allowed = with.verdict == Verdict::Inconclusive && !is_broken;
        let is_same = with.verdict == without.verdict;
        assert!(is_allowed || is_same, "{}: {:?}", rule.id, with.verdict);
        // The unreadable object was not examined: no rule that needs profiles passes.
        let needs_profiles = rule.facts.needs.contains(&Kind::Inventory);
        let passes = with.verdict == Verdict::Pass && needs_profiles;
        assert!(!passes, "{} passes", rule.id);
    }
}

pub fn reported(evidence: &Evidence) -> Vec<String> {
    evidence.unreadable.iter().map(ToString::to_string).collect()
}

/// One object is unreadable, and its message begins like this. Returns the message.
#[track_caller]
pub fn reports_one(evidence: &Evidence, start: &str) -> String {
    let [message] = &reported(evidence)[..] else {
        panic!("{:?}", reported(evidence))
    };
    assert!(message.starts_with(start), "{message}");
    message.clone()
}

pub fn read(bytes: &[u8]) -> Evidence {
    try_read(bytes).expect("a dump")
}

/// The evidence of a dump, or why it is refused, without the file's name.
pub fn try_read(bytes: &[u8]) -> Result<Evidence, String> {
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
