//! A fleet in many namespaces, in which violations have their two sides in two of them.

use evidence::{Asked, Evidence, Kind, Namespace, Window, api::Edition};
use jiff::SignedDuration;
use judge::rules::example::Example;
use serde_json::{Value, json};

/// The namespaces that hold both sides of each violation. They fall to different shares.
pub const CLASHING: [&str; 2] = ["fleet-02", "fleet-16"];

/// The rules that [`evidence`] breaks, in the ledger's order.
pub const BROKEN: [&str; 6] = [
    "identity/manager-unique",
    "identity/name-unique",
    "identity/one-profile-per-cluster",
    "clustersets/one-set-per-cluster",
    "consumers/declared-consumer-served",
    "updates/distinct-appliers",
];

/// The consumer that has a Secret for each profile.
const CONSUMER: &str = "batch";

/// A fleet that keeps every rule, in namespaces of the names `fleet-00`, `fleet-01` and so on.
pub fn conforming(profiles: usize, namespaces: usize) -> Evidence {
    let profiles = (0..profiles).map(|number| profile(number, namespaces)).collect();
    look(profiles, json!({}))
}

/// A fleet with violations across two of its namespaces.
pub fn evidence(profiles: usize, namespaces: usize) -> Evidence {
    let mut profiles: Vec<Value> = (0..profiles).map(|number| profile(number, namespaces)).collect();
    let [here, there] = CLASHING;
    let at = |namespace: &str, name: &str| json!({"metadata": {"name": name, "namespace": namespace}});
    let described = |namespace: &str, name: &str| {
        let mut profile = at(namespace, name);
        profile["status"] = json!({"properties": [
            {"name": "cluster-endpoints.k8s.io", "value": "[\"one.example:6443\"]"},
            {"name": "id.k8s.io", "value": "5a0e2b1c-6d53-4d3a-9c39-8a7e0f2b6d11"},
        ]});
        profile
    };
    let mut of_another = at(there, "m-of-another");
    of_another["metadata"]["writers"] = json!([
        {"manager": "another-program", "operation": "Update", "owns": ["spec.clusterManager"]},
    ]);
    // An agent writes one status to this day, and has not written the other one for long.
    let written = |namespace: &str, name: &str, time: &str| {
        let mut profile = at(namespace, name);
        profile["metadata"]["writers"] = json!([
            {"manager": "m", "operation": "Update", "subresource": "status", "time": "2025-12-31T23:00:00Z",
             "owns": ["status.properties"]},
            {"manager": "agent", "operation": if namespace == here { "Update" } else { "Apply" },
             "subresource": "status", "time": time, "owns": ["status.conditions"]},
        ]);
        profile
    };
    let mut of_agent = written(there, "m-of-agent", "2025-12-31T23:00:00Z");
    of_agent["metadata"]["writers"]
        .as_array_mut()
        .expect("a list")
        .remove(0);
    profiles.extend([
        of_another,
        written(here, "m-of-two", "2025-12-20T00:00:00Z"),
        of_agent,
        at(here, "m-namesake"),
        at(there, "m-namesake"),
        described(here, "m-one"),
        described(there, "m-other"),
    ]);
    let secrets: Vec<Value> = profiles
        .iter()
        .map(|profile| &profile["metadata"])
        // A consumer has no credentials for the last one.
        .filter(|metadata| metadata["name"] != "m-other")
        .enumerate()
        .map(|(number, metadata)| {
            json!({
                "namespace": CONSUMER,
                "name": format!("secret-{number}"),
                "labels": {
                    "x-k8s.io/cluster-profile": metadata["name"],
                    "x-k8s.io/cluster-profile-namespace": metadata["namespace"],
                },
            })
        })
        .collect();
    look(
        profiles,
        json!({
            "secrets": secrets,
            "namespaces": [
                {"name": here, "labels": {"clusterset.multicluster.x-k8s.io": "green"}},
                {"name": there, "labels": {"clusterset.multicluster.x-k8s.io": "blue"}},
            ],
            "consumers": [CONSUMER],
        }),
    )
}

fn profile(number: usize, namespaces: usize) -> Value {
    json!({"metadata": {"name": format!("m-{number:05}"), "namespace": format!("fleet-{:02}", number % namespaces)}})
}

/// What a watch of ten minutes shows of these profiles and the rest of a world.
fn look(profiles: Vec<Value>, mut world: Value) -> Evidence {
    world["profiles"] = profiles.into();
    let example = Example::parse(&json!({"name": "a fleet", "passes": world}), Edition::Standard);
    let mut evidence = example.expect("a world").evidence().clone();
    let until = evidence.header.window.expect("a window").until;
    let from = until - SignedDuration::from_mins(10);
    evidence.header.window = Some(Window { from, until });
    evidence.header.asked.insert(Kind::Timeline, Asked::Yes);
    for version in evidence
        .profiles
        .iter_mut()
        .flat_map(|history| &mut history.versions)
    {
        version.at = Some(from);
    }
    evidence.namespaces.push(Namespace {
        name: "kube-system".to_owned(),
        uid: "0".to_owned(),
        ..Namespace::default()
    });
    evidence
}
