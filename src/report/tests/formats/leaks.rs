//! One credential of each kind stands in a profile: no format shows it.

use evidence::{Digester, read_input};
use judge::Verdict;
use serde_json::{Value, json};

use super::support::{formats, world::World, written};

/// What each credential holds, to find it in the text around it.
const CANARY: &str = "CANARY0f3c5a7e9b1d2c4f6a8e0b1d";

fn profile() -> Value {
    let web_token = format!("eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.{CANARY}");
    let private_key =
        format!("-----BEGIN EC PRIVATE KEY-----\n{CANARY}{CANARY}\n-----END EC PRIVATE KEY-----");
    let kubeconfig = format!("users:\n- name: u\n  user:\n    password: {CANARY}\n");
    let condition = |kind: &str, message: String| {
        json!({"type": kind, "status": "True", "reason": "lower case", "message": message,
            "lastTransitionTime": "2026-01-01T00:00:00Z"})
    };
    json!({
        "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
        "metadata": {
            "name": "a", "namespace": "fleet", "uid": "1", "resourceVersion": "1",
            "labels": {"api-token": CANARY},
            "annotations": {"join-password": CANARY, "kubeconfig": kubeconfig},
        },
        "spec": {"displayName": web_token, "clusterManager": {"name": "m"}},
        "status": {
            "version": {"kubernetes": format!("https://u:{CANARY}@h")},
            "properties": [
                {"name": "cluster-endpoints.k8s.io", "value": format!("https://u:{CANARY}@h")},
                {"name": "count.node.k8s.io", "value": format!("token={CANARY}")},
                {"name": "client-secret", "value": CANARY},
                {"name": "key", "value": private_key},
            ],
            "conditions": [
                condition("Joined", format!("Authorization: Bearer {CANARY}")),
                condition("ControlPlaneHealthy", format!("used --token {CANARY}")),
            ],
            "accessProviders": [{"name": "p", "cluster": {
                "server": format!("https://u:{CANARY}@h"),
                "proxy-url": format!("ftp://u:{CANARY}@h"),
                "extensions": [{"name": "client.authentication.k8s.io/exec", "extension": {
                    "args": ["--password", CANARY],
                    "env": [{"name": "DB_PASSWORD", "value": CANARY}],
                    "client-key-data": CANARY,
                }}],
            }}],
        },
    })
}

#[test]
fn no_format_shows_a_credential_that_a_profile_holds() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("dump.json");
    std::fs::write(&path, profile().to_string()).expect("written");
    let evidence = read_input(&path, &Digester::new([7; 32]))
        .expect("a dump")
        .evidence;
    let world = World::of(evidence);
    let verdicts = world.judgement.verdicts.iter();
    let rule = verdicts.filter(|verdict| verdict.rule.id.starts_with("access/no-secrets"));
    let found: Vec<_> = rule
        .flat_map(|verdict| {
            assert_eq!(verdict.verdict, Verdict::Fail);
            &verdict.findings
        })
        .collect();
    assert!(found.len() >= 13, "{found:#?}");
    world.report(|report| {
        for format in &formats() {
            let output = written(format, report);
            assert!(!output.contains(CANARY), "{}: {}", format.name, around(&output));
        }
    });
}

/// Returns the text before the first credential.
fn around(output: &str) -> &str {
    let at = output.find(CANARY).unwrap_or_default();
    let begin = output[..at]
        .char_indices()
        .rev()
        .nth(200)
        .map_or(0, |(begin, _)| begin);
    &output[begin..at + CANARY.len()]
}
