//! A small hub to which anything may happen.

use std::sync::LazyLock;

use evidence::{
    Asked, Evidence, FORMAT, Gap, Kind, Namespace, ObjectKey, ObjectRef, Origin, ProfileHistory, Version,
    Window,
    api::{ClusterProfile, Edition},
};
use jiff::{SignedDuration, Timestamp};
use judge::{Standing, rules::example::Example};
use proptest::{
    prelude::{Just, Strategy, any, prop_oneof},
    sample::select,
};
use serde_json::{Value, json};

/// The namespaces of profiles. The first of them may be of a ClusterSet.
const NAMESPACES: [&str; 3] = ["east", "north", "west"];
const NAMES: [&str; 8] = ["ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen"];

/// What happens.
#[derive(Clone, Debug)]
pub enum Act {
    /// A profile appears, or the one of that name changes.
    Put { slot: usize, how: Vec<usize> },
    /// A profile changes. The same numbers change the same again.
    Change { which: usize, how: Vec<usize> },
    /// A profile changes many times.
    Flood {
        which: usize,
        how: Vec<usize>,
        seconds: i64,
    },
    /// A profile is deleted.
    Delete { which: usize },
    /// The evidence drops the histories of deleted profiles.
    Drop,
    /// A namespace gets a label with its ClusterSet, or loses it.
    Label {
        namespace: usize,
        set: Option<&'static str>,
    },
    /// The watch was interrupted.
    Gap { seconds: i64, which: Option<usize> },
    /// A profile could not be read.
    Unreadable,
    /// The window begins later.
    Roll { seconds: i64 },
    /// Time passes.
    Wait { seconds: i64 },
}

pub fn act() -> impl Strategy<Value = Act> {
    let how = || proptest::collection::vec(any::<usize>(), 0..4);
    prop_oneof![
        4 => (any::<usize>(), how()).prop_map(|(slot, how)| Act::Put { slot, how }),
        8 => (any::<usize>(), how()).prop_map(|(which, how)| Act::Change { which, how }),
        1 => (any::<usize>(), proptest::collection::vec(any::<usize>(), 2..4), select(vec![1, 10, 30]))
            .prop_map(|(which, how, seconds)| Act::Flood { which, how, seconds }),
        1 => any::<usize>().prop_map(|which| Act::Delete { which }),
        1 => Just(Act::Drop),
        1 => (0..NAMESPACES.len(), select(vec![None, Some("blue"), Some("red")]))
            .prop_map(|(namespace, set)| Act::Label { namespace, set }),
        1 => (0_i64..90, proptest::option::of(any::<usize>()))
            .prop_map(|(seconds, which)| Act::Gap { seconds, which }),
        1 => Just(Act::Unreadable),
        1 => (1_i64..200).prop_map(|seconds| Act::Roll { seconds }),
        8 => select(vec![0, 1, 3, 10, 29, 31, 59, 60, 61, 119, 121, 300]).prop_map(|seconds| Act::Wait { seconds }),
    ]
}

/// The hub as the evidence has it, and the verdicts on it.
pub struct World {
    pub evidence: Evidence,
    pub standing: Standing,
    edition: Edition,
    now: Timestamp,
    writes: usize,
}

/// Changes of a profile, of which any may follow any.
static CHANGES: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let label = |key: &str, value: Value| json!({"metadata": {"labels": {key: value}}});
    let member_id = |value: Value| label("multicluster.x-k8s.io/inventory-member-id", value);
    let manager = |value: Value| label("x-k8s.io/cluster-manager", value);
    let properties = |pairs: &[(&str, &str)]| {
        let property =
            |(name, value): &(&str, &str)| json!({"name": name, "value": value, "lastObservedTime": "NOW"});
        json!({"status": {"properties": pairs.iter().map(property).collect::<Vec<Value>>()}})
    };
    let conditions = |joined: &str, healthy: Option<&str>, since: &str| {
        let condition = |kind: &str, status: &str| json!({"type": kind, "status": status, "reason": "Said", "message": "", "lastTransitionTime": since});
        let healthy = healthy.map(|healthy| condition("ControlPlaneHealthy", healthy));
        let all: Vec<Value> = std::iter::once(condition("Joined", joined))
            .chain(healthy)
            .collect();
        json!({"status": {"conditions": all}})
    };
    let access = |server: &str, arguments: Value| {
        let extension = |name: &str, content: Value| json!({"name": name, "extension": content});
        json!({"status": {"accessProviders": [{"name": "secretreader", "cluster": {
            "server": server, "certificate-authority": "/tmp/ca", "certificate-authority-data": "bm8gY2VydGlmaWNhdGU=",
            "extensions": [
                extension("client.authentication.k8s.io/exec", json!({"clusterName": server})),
                extension("multicluster.x-k8s.io/clusterprofiles/auth/exec/additional-args", arguments),
            ],
        }}]}})
    };
    let writers = |list: &[(&str, &str, &str, &str)]| {
        let writer = |(manager, operation, part, time): &(&str, &str, &str, &str)| {
            let subresource = if part.starts_with("status") { "status" } else { "" };
            json!({"manager": manager, "operation": operation, "subresource": subresource, "time": time, "owns": [part]})
        };
        json!({"metadata": {"writers": list.iter().map(writer).collect::<Vec<Value>>()}})
    };
    let endpoints = "cluster-endpoints.k8s.io";
    let old = "2025-12-20T00:00:00Z";
    vec![
        manager(Value::Null),
        manager(json!("m")),
        manager(json!("other")),
        json!({"metadata": {"labels": {"x-k8s.io/cluster-manager": "other"}},
               "spec": {"clusterManager": {"name": "other"}}}),
        json!({"metadata": {"labels": {"x-k8s.io/cluster-manager": "m"}}, "spec": {"clusterManager": {"name": "m"}}}),
        json!({"spec": {"clusterManager": {"name": ""}}}),
        json!({"spec": {"displayName": "password=hunter2hunter2"}}),
        member_id(Value::Null),
        member_id(json!("")),
        member_id(json!("one")),
        member_id(json!("one")),
        member_id(json!("two")),
        json!({"metadata": {"creationTimestamp": null}}),
        json!({"metadata": {"creationTimestamp": "2025-12-31T23:30:00Z"}}),
        json!({"metadata": {
            "creationTimestamp": "2025-12-31T23:30:00Z",
            "labels": {"multicluster.x-k8s.io/inventory-member-id": "one"},
        }}),
        json!({"status": {"properties": [
            {"name": "location.topology.k8s.io", "value": "europe", "lastObservedTime": "LATER"},
        ]}}),
        json!({"metadata": {"deletionTimestamp": "NOW"}}),
        json!({"metadata": {"writers": null}}),
        json!({"status": {"version": {"kubernetes": "v1.35.0"}}}),
        json!({"status": {"version": {"kubernetes": "latest"}}}),
        json!({"status": {"version": null}}),
        properties(&[]),
        properties(&[(endpoints, r#"["gateway.example:6443"]"#)]),
        properties(&[(endpoints, r#"["gateway.example:6443"]"#), ("id.k8s.io", "first")]),
        properties(&[(endpoints, r#"["10.0.0.1:6443"]"#), ("id.k8s.io", "second")]),
        properties(&[
            (endpoints, "none"),
            ("count.node.k8s.io", "many"),
            ("location.topology.k8s.io", "asia"),
        ]),
        properties(&[
            ("clusterset.k8s.io", "blue"),
            ("id.k8s.io", "5a0e2b1c-6d53-4d3a-9c39-8a7e0f2b6d11"),
        ]),
        properties(&[
            ("clusterset.k8s.io", "red"),
            ("id.k8s.io", "5a0e2b1c-6d53-4d3a-9c39-8a7e0f2b6d11"),
        ]),
        properties(&[("clusterset.k8s.io", "blue"), ("cluster-endpoint.k8s.io", "[]")]),
        conditions("True", Some("True"), "NOW"),
        conditions("True", Some("False"), "NOW"),
        conditions("True", None, "NOW"),
        conditions("False", Some("True"), "NOW"),
        conditions("False", Some("Unknown"), old),
        conditions("Maybe", Some("True"), "LATER"),
        json!({"status": {"conditions": []}}),
        json!({"status": {"accessProviders": []}}),
        access("https://gateway.example:6443", json!([])),
        access("https://gateway.example:6443", json!(["--region=a"])),
        access("http://user@gateway.example", json!(["--zone", "b"])),
        access("", json!(["get-token"])),
        writers(&[
            ("m", "Update", "spec.clusterManager", old),
            ("m", "Update", "status.version", "NOW"),
        ]),
        writers(&[
            ("x", "Update", "spec.clusterManager", old),
            ("x", "Update", "status.version", "NOW"),
        ]),
        writers(&[
            ("m", "Update", "spec.clusterManager", old),
            ("x", "Update", "status.version", "NOW"),
        ]),
        writers(&[
            ("m", "Update", "status.properties", "NOW"),
            ("x", "Update", "status.version", old),
        ]),
        writers(&[
            ("m", "Apply", "status.properties", "NOW"),
            ("x", "Update", "status.version", "NOW"),
        ]),
        writers(&[
            ("m", "Update", "status.properties", "NOW"),
            ("y", "Apply", "status.version", old),
        ]),
        writers(&[
            ("kubectl", "Update", "status.properties", "NOW"),
            ("m", "Update", "spec.clusterManager", old),
            ("x", "Update", "spec.clusterManager", old),
        ]),
    ]
});

fn after(at: Timestamp, seconds: i64) -> Timestamp {
    at + SignedDuration::from_secs(seconds)
}

/// What every rule is content with.
fn conforming(namespace: &str, name: &str, edition: Edition) -> Value {
    let world = json!([{"metadata": {"namespace": namespace, "name": name}}]);
    let example = Example::parse(&json!({"name": "conforming", "passes": world}), edition).expect("a world");
    serde_json::to_value(example.evidence().profiles[0].last()).expect("a profile")
}

impl World {
    /// A hub without profiles.
    pub fn new(edition: Edition, skew: Option<i64>, manager: Option<&str>) -> Self {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
        let mut evidence = Evidence::default();
        let header = &mut evidence.header;
        header.format = FORMAT.to_owned();
        header.claim.edition = edition;
        header.clock_skew_ms = skew;
        header.scope.cluster_manager = manager.map(str::to_owned);
        header.window = Some(Window {
            from: now,
            until: now,
        });
        header.asked = [Kind::Inventory, Kind::Namespaces, Kind::Timeline, Kind::Writers]
            .map(|kind| (kind, Asked::Yes))
            .into();
        evidence.namespaces = NAMESPACES
            .map(|name| Namespace {
                name: name.to_owned(),
                ..Namespace::default()
            })
            .into();
        Self {
            evidence,
            standing: Standing::new(Default::default()),
            edition,
            now,
            writes: 0,
        }
    }

    /// Lets something happen, and tells the verdicts of it.
    pub fn act(&mut self, act: &Act) {
        match act {
            Act::Put { slot, how } => {
                let namespace = NAMESPACES[slot % NAMESPACES.len()];
                let name = NAMES[slot / NAMESPACES.len() % NAMES.len()];
                self.put(namespace, name, how);
            }
            Act::Change { which, how } => {
                if let Some(place) = self.living(*which) {
                    self.change(place, how);
                }
            }
            Act::Flood { which, how, seconds } => {
                for number in how.iter().cycle().take(20) {
                    if let Some(place) = self.living(*which) {
                        self.change(place, &[*number]);
                        self.wait(*seconds);
                    }
                }
            }
            Act::Delete { which } => {
                if let Some(place) = self.living(*which) {
                    self.evidence.profiles[place].deleted = Some(self.now);
                    self.tell(place);
                }
            }
            Act::Drop => {
                for place in 0..self.evidence.profiles.len() {
                    if self.evidence.profiles[place].deleted.is_some() {
                        self.tell(place);
                    }
                }
                self.evidence.profiles.retain(|history| history.deleted.is_none());
            }
            Act::Label { namespace, set } => {
                let namespace = &mut self.evidence.namespaces[*namespace];
                let label = "clusterset.multicluster.x-k8s.io".to_owned();
                match set {
                    Some(set) => _ = namespace.labels.insert(label, (*set).to_owned()),
                    None => _ = namespace.labels.remove(&label),
                }
                namespace.resource_version.push('1');
                self.standing.namespace_changed(&*namespace.name);
            }
            Act::Gap { seconds, which } => {
                let object = which.and_then(|which| self.living(which));
                let object = object.map(|place| ObjectRef::from(self.evidence.profiles[place].last()));
                let mut gap = Gap::of(Kind::Timeline, "the connection was lost");
                (gap.from, gap.until) = (Some(self.now), Some(after(self.now, *seconds)));
                gap.object = object;
                self.wait(*seconds);
                self.evidence.gaps.push(gap);
            }
            Act::Unreadable => {
                self.evidence.unreadable.truncate(1);
                match self.evidence.unreadable.pop() {
                    Some(_) => {}
                    None => self.evidence.unreadable.push(Default::default()),
                }
            }
            Act::Roll { seconds } => {
                let now = self.now;
                if let Some(window) = &mut self.evidence.header.window {
                    window.from = after(window.from, *seconds).min(now);
                }
            }
            Act::Wait { seconds } => self.wait(*seconds),
        }
    }

    fn wait(&mut self, seconds: i64) {
        self.now = after(self.now, seconds);
        if let Some(window) = &mut self.evidence.header.window {
            window.until = self.now;
        }
    }

    fn put(&mut self, namespace: &str, name: &str, how: &[usize]) {
        let is_there = |history: &ProfileHistory| {
            let metadata = &history.last().metadata;
            history.deleted.is_none() && *metadata.namespace == *namespace && *metadata.name == *name
        };
        if let Some(place) = self.evidence.profiles.iter().position(is_there) {
            return self.change(place, how);
        }
        let mut json = conforming(namespace, name, self.edition);
        self.writes += 1;
        json["metadata"]["uid"] = format!("uid-{}", self.writes).into();
        json["metadata"]["creationTimestamp"] = self.now.to_string().into();
        let origin = match (self.writes, how.len()) {
            (..12, _) => Origin::Listed,
            (_, 3) => Origin::Relisted,
            _ => Origin::Created,
        };
        let object = self.changed(json, how);
        self.evidence.profiles.push(ProfileHistory {
            origin,
            versions: vec![Version { at: self.now, object }],
            deleted: None,
        });
        self.tell(self.evidence.profiles.len() - 1);
    }

    fn change(&mut self, place: usize, how: &[usize]) {
        let before = self.evidence.profiles[place].last().clone();
        let json = serde_json::to_value(&before).expect("a profile");
        let mut object = self.changed(json, how);
        object.share_with(&before);
        let version = Version { at: self.now, object };
        self.evidence.profiles[place].versions.push(version);
        self.tell(place);
    }

    /// The profile after these changes.
    fn changed(&mut self, mut json: Value, how: &[usize]) -> ClusterProfile {
        for number in how {
            json_patch::merge(&mut json, &CHANGES[number % CHANGES.len()]);
        }
        self.writes += 1;
        json["metadata"]["resourceVersion"] = self.writes.to_string().into();
        let text = json.to_string();
        let text = text.replace("NOW", &self.now.to_string());
        let text = text.replace("LATER", &after(self.now, 400).to_string());
        serde_json::from_str(&text).expect("a profile")
    }

    fn living(&self, which: usize) -> Option<usize> {
        let histories = self.evidence.profiles.iter().enumerate();
        let living: Vec<usize> = histories
            .filter(|(_, history)| history.deleted.is_none())
            .map(|(place, _)| place)
            .collect();
        which.checked_rem(living.len()).map(|which| living[which])
    }

    fn tell(&mut self, place: usize) {
        let key = ObjectKey::of(self.evidence.profiles[place].last());
        self.standing.profile_changed(key);
    }
}
