use evidence::{
    Asked, Evidence, Kind, Origin, ProbeOutcome,
    api::{Edition, names},
};
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::*;

fn passing(world: Value) -> Result<Example, ExampleError> {
    Example::parse(&json!({"name": "tried", "passes": world}), Edition::Standard)
}

fn evidence(world: Value) -> Evidence {
    passing(world).expect("a world").evidence().clone()
}

fn refusal(example: Value) -> String {
    Example::parse(&example, Edition::Standard)
        .expect_err("no world")
        .to_string()
}

#[test]
fn a_world_of_one_overlay_is_a_conforming_profile_with_that_difference() {
    let seen = evidence(
        json!([{"metadata": {"name": "b", "labels": {"tier": "gold"}}, "spec": {"clusterManager": {"name": "x"}}}]),
    );
    let profile = seen.profiles[0].last();
    assert_eq!(profile.manager(), "x");
    assert_eq!(profile.label(names::LABEL_MANAGER), Some("x"));
    assert_eq!(profile.label("tier"), Some("gold"));
    assert_eq!(
        profile.property(names::PROPERTY_ENDPOINTS).map(|p| &*p.value),
        Some("[\"b.default.example:6443\"]")
    );
    assert_eq!(
        profile.metadata.writers.as_ref().map(|writers| writers.len()),
        Some(2)
    );
    assert_eq!(seen.namespaces.len(), 1);
    assert_eq!(seen.asked(Kind::Writers), &Asked::Yes);
    assert!(matches!(seen.asked(Kind::Timeline), Asked::No(reason) if !reason.is_empty()));
    assert_eq!(seen.header.window.map(|window| window.seconds()), Some(0));
}

#[test]
fn null_removes_and_times_are_filled_in() {
    let seen = evidence(json!([{
        "metadata": {"labels": {names::LABEL_MANAGER: null}, "creationTimestamp": "${-1m}"},
        "status": {"version": null},
    }]));
    let profile = seen.profiles[0].last();
    assert_eq!(profile.label(names::LABEL_MANAGER), None);
    assert!(profile.label(names::LABEL_MEMBER_ID).is_some());
    assert_eq!(profile.status.version.kubernetes, None);
    assert_eq!(
        profile.metadata.creation_timestamp.as_deref(),
        Some("2025-12-31T23:59:00Z")
    );
}

#[test]
fn steps_make_versions() {
    let seen = evidence(json!({
        "profiles": [{}],
        "steps": [
            {"at": "30s", "change": {"metadata": {"name": "a"}, "spec": {"displayName": "new"}}},
            {"at": "1m", "change": {"status": {"version": {"kubernetes": "v1.35.0"}}}},
            {"at": "2m", "create": {"metadata": {"name": "b"}}},
            {"at": "3m", "delete": "a"},
            {"at": "4m", "create": {"metadata": {"name": "a"}}},
        ],
    }));
    let [a, b, again] = &seen.profiles[..] else {
        panic!("three profiles");
    };
    let generations: Vec<_> = a.versions.iter().map(|v| v.object.metadata.generation).collect();
    assert_eq!(generations, [Some(1), Some(2), Some(2)]);
    assert_eq!(a.last().spec.display_name.as_deref(), Some("new"));
    assert_eq!(
        a.deleted.map(|at| at.to_string()).as_deref(),
        Some("2026-01-01T00:03:00Z")
    );
    assert_eq!(b.origin, Origin::Created);
    assert_eq!(
        b.first().metadata.creation_timestamp.as_deref(),
        Some("2026-01-01T00:02:00Z")
    );
    assert_ne!(a.last().metadata.uid, again.last().metadata.uid);
    let mut revisions: Vec<_> = seen
        .profiles
        .iter()
        .flat_map(|h| h.versions.iter().map(|v| &v.object.metadata.resource_version))
        .collect();
    revisions.sort();
    revisions.dedup();
    assert_eq!(revisions.len(), 5);
    assert_eq!(seen.header.window.map(|window| window.seconds()), Some(600));
    assert_eq!(seen.inventory().count(), 2);
}

#[test]
fn secrets_conform_to_the_profile_that_they_name() {
    let seen = evidence(json!({
        "profiles": [{}, {"metadata": {"name": "b", "namespace": "n"}}],
        "secrets": [
            {"namespace": "c1"},
            {"namespace": "c1", "token": "t", "labels": {
                names::LABEL_SECRET_PROFILE: "b", names::LABEL_SECRET_PROFILE_NAMESPACE: "n"}},
            {"namespace": "c2", "token": "t", "server": "https://elsewhere", "name": "s"},
            {"namespace": "c2", "name": "empty", "keys": ["other"]},
        ],
        "namespaces": [{"name": "c2", "labels": {names::LABEL_CONSUMER: null}}],
    }));
    let server = |index: usize| {
        let kubeconfig = seen.secrets[index].kubeconfig.as_ref().expect("a kubeconfig");
        kubeconfig.clusters[0].server.as_str()
    };
    let digest = |index: usize| {
        let kubeconfig = seen.secrets[index].kubeconfig.as_ref().expect("a kubeconfig");
        kubeconfig.users[0].credentials[0].digest.as_str()
    };
    assert_eq!(seen.secrets[0].name, "a");
    assert_eq!(server(0), "https://a.default.example:6443");
    assert_eq!(server(1), "https://b.n.example:6443");
    assert_eq!(server(2), "https://elsewhere");
    assert_ne!(digest(0), digest(1));
    assert_eq!(digest(1), digest(2));
    assert_eq!(seen.secrets[3].kubeconfig, None);
    let consumer = |name: &str| {
        let namespace = seen.namespace(name).expect("the namespace is there");
        namespace.labels.get(names::LABEL_CONSUMER).map(String::as_str)
    };
    assert_eq!(consumer("c1"), Some("c1"));
    assert_eq!(consumer("c2"), None);
    assert_eq!(consumer("default"), None);
}

#[test]
fn requests_repeat_and_probes_answer() {
    let seen = evidence(json!({
        "requests": [
            {"at": "1m", "verb": "create", "code": 201},
            {"at": "30s", "subresource": "status", "every": "20s", "times": 3},
        ],
        "probes": [
            {"method": "merge-patch", "answer": "refused", "fields": ["spec.clusterManager"]},
            {"method": "update", "answer": "unanswered"},
        ],
        "writers": "none",
    }));
    let requests = seen.requests.expect("an audit log");
    let seconds: Vec<_> = requests
        .events
        .iter()
        .map(|event| event.at.duration_since(requests.covers.from).as_secs())
        .collect();
    assert_eq!(seconds, [30, 50, 60, 70]);
    assert_eq!(
        requests.covers.until.duration_since(requests.covers.from),
        SignedDuration::from_mins(10)
    );
    assert!(matches!(
        seen.probes[0].outcome,
        ProbeOutcome::Refused { code: 422, .. }
    ));
    assert_eq!(seen.probes[0].object.uid, "uid-default-a");
    assert_eq!(seen.profiles[0].last().metadata.writers, None);
}

#[test]
fn what_is_not_understood_is_refused() {
    let cases = [
        (json!({"name": "e", "passes": [{"metadatas": {}}], "x": 1}), "`x`"),
        (
            json!({"name": "e", "passes": [{"metadata": {"label": {"a": "b"}}}]}),
            "unknown key `metadata.label`",
        ),
        (
            json!({"name": "e", "passes": [{"status": {"conditions": [{"type": "Joined", "states": "True"}]}}]}),
            "unknown key `status.conditions.0.states`",
        ),
        (json!({"name": "e", "passes": {"profile": []}}), "`profile`"),
        (
            json!({"name": "e", "passes": {"secrets": [{"servers": "x"}]}}),
            "unknown key `servers`",
        ),
        (
            json!({"name": "e", "passes": {"requests": [{"codes": 4}]}}),
            "unknown key `codes`",
        ),
        (json!({"name": "e", "passes": [], "fails": []}), "exactly one of"),
        (json!({"name": "e", "passes": [], "findings": 1}), "`fails` only"),
        (
            json!({"name": "e", "passes": [{"spec": {"displayName": "${soon}"}}]}),
            "`${soon}`",
        ),
        (
            json!({"name": "e", "passes": [{"spec": {"displayName": "${CA lost}"}}]}),
            "`${CA lost}`",
        ),
        (
            json!({"name": "e", "passes": {"steps": [{"at": "1m", "delete": "b"}]}}),
            "no ClusterProfile default/b",
        ),
        (
            json!({"name": "e", "passes": {"steps": [{"at": "11m", "delete": "a"}]}}),
            "after the end",
        ),
        (
            json!({"name": "e", "passes": [{}, {}]}),
            "already is a ClusterProfile default/a",
        ),
    ];
    for (example, reason) in cases {
        let message = refusal(example);
        assert!(
            message.starts_with("failed to read the example `e`: "),
            "{message}"
        );
        assert!(message.contains(reason), "{message} does not tell {reason}");
    }
}

#[test]
fn a_step_repeats_with_its_turn_and_its_time_filled_in() {
    let seen = evidence(json!({"steps": [{
        "at": "10s", "every": "20s", "times": 3,
        "change": {"metadata": {"labels": {"turn": "no ${n}", "time": "${at}"}}},
    }]}));
    let labels: Vec<_> = seen.profiles[0].versions[1..]
        .iter()
        .map(|version| (version.object.label("turn"), version.object.label("time")))
        .collect();
    assert_eq!(
        labels,
        [
            (Some("no 0"), Some("2026-01-01T00:00:10Z")),
            (Some("no 1"), Some("2026-01-01T00:00:30Z")),
            (Some("no 2"), Some("2026-01-01T00:00:50Z")),
        ]
    );
    let half = json!({"steps": [{"at": "0s", "times": 3, "change": {}}]});
    assert!(passing(half).is_err());
}
