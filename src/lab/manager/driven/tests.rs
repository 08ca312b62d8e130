//! The manager follows its remote control.

use std::time::Duration;

use apiserver::{ApiServer, User};
use collect::clock::Clock;
use evidence::api::names::{
    CONDITION_HEALTHY, CONDITION_JOINED, LABEL_MANAGER, PROPERTY_ENDPOINTS, PROPERTY_NODE_COUNT,
    PROPERTY_RESOURCE_GROUPS,
};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::remote::{Remote, RemoteError};
use crate::{
    client::profile_resource,
    crd,
    manager::{
        Fault, Manager, faults,
        members::{CONSUMERS, FLEET},
        world::consumer_namespace,
    },
    member::{Leases, MemberState, Property, StandIn},
};

/// Longer than the manager takes to react.
const A_WHILE: Duration = Duration::from_secs(90);

/// A hub with the manager, and its remote control.
struct Stage {
    hub: ApiServer,
    clock: Clock,
    remote: Remote,
    profiles: Api<DynamicObject>,
}

/// Runs `test` while the manager runs.
async fn on_stage(test: impl AsyncFnOnce(&Stage)) {
    on_stage_with(Vec::new(), test).await;
}

/// Runs `test` while a manager with these faults runs.
async fn on_stage_with<T>(faults: Vec<Fault>, test: impl AsyncFnOnce(&Stage) -> T) -> T {
    let clock = Clock::starting_at("2026-11-20T10:00:00Z".parse().expect("a timestamp"));
    let hub = crate::server::server(clock);
    hub.add_user(User::master(Manager::NAME));
    for definition in crd::all() {
        hub.define(serde_json::to_value(definition).expect("JSON"));
    }
    let client = hub.client(Manager::NAME);
    let mut manager = Manager::new(faults, clock);
    manager.set_up(&client).await.expect("a world");
    let stage = Stage {
        remote: manager.remote(),
        profiles: Api::namespaced_with(hub.client("admin"), FLEET, &profile_resource()),
        hub,
        clock,
    };
    tokio::select! {
        outcome = test(&stage) => outcome,
        end = manager.run(client) => panic!("the manager ended: {end:?}"),
    }
}

impl Stage {
    fn member(&self, name: &str, state: MemberState) -> StandIn {
        StandIn::new(name, self.clock, state)
    }

    async fn join(&self, member: &StandIn) {
        let client = member.client_as(StandIn::ADMIN, Manager::NAME);
        self.remote.join(member.name(), client).await.expect("a manager");
    }

    async fn joined(&self, name: &str) -> StandIn {
        let member = self.member(name, MemberState::default());
        self.join(&member).await;
        sleep(A_WHILE).await;
        member
    }

    async fn profile(&self, name: &str) -> Option<Value> {
        let profile = self.profiles.get_opt(&Remote::profile(name).1).await;
        profile
            .expect("an answer")
            .map(|profile| serde_json::to_value(profile).expect("JSON"))
    }

    async fn merge(&self, name: &str, patch: &Value, subresource: &str) {
        let name = Remote::profile(name).1;
        let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
        let patched = match subresource {
            "status" => self.profiles.patch_status(&name, &params, &patch).await,
            _ => self.profiles.patch(&name, &params, &patch).await,
        };
        patched.expect("patched");
    }

    /// The Secrets that the consumers have for the member.
    async fn secrets(&self, name: &str) -> Vec<Secret> {
        let mut found = Vec::new();
        for consumer in CONSUMERS {
            let secrets: Api<Secret> =
                Api::namespaced(self.hub.client("admin"), &consumer_namespace(consumer));
            let wanted = format!("x-k8s.io/cluster-profile={}", Remote::profile(name).1);
            let listed = secrets.list(&ListParams::default().labels(&wanted)).await;
            found.extend(listed.expect("secrets").items);
        }
        found
    }

    /// Creates a profile of another manager.
    async fn put_foreigner(&self, name: &str) {
        let foreign = json!({
            "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
            "metadata": {"name": name, "labels": {LABEL_MANAGER: "another"}},
            "spec": {"clusterManager": {"name": "another"}},
        });
        let foreign = serde_json::from_value(foreign).expect("an object");
        let created = self.profiles.create(&PostParams::default(), &foreign).await;
        created.expect("created");
    }

    async fn delete(&self, name: &str) {
        let name = Remote::profile(name).1;
        let deleted = self.profiles.delete(&name, &DeleteParams::default()).await;
        deleted.expect("deleted");
    }

    /// The writes of the manager so far: when, what, and where.
    fn log(&self) -> Vec<String> {
        let text = |event: &Value, at: &str| event.pointer(at).map_or(String::new(), Value::to_string);
        let events = self.hub.audit_events();
        let written = events
            .iter()
            .filter(|event| event["user"]["username"] == Manager::NAME)
            .filter(|event| !["get", "list", "watch"].contains(&event["verb"].as_str().unwrap_or_default()));
        written
            .map(|event| {
                ["/requestReceivedTimestamp", "/verb", "/requestURI"]
                    .map(|at| text(event, at))
                    .join(" ")
            })
            .collect()
    }

    /// The manager's writes to objects of that name, oldest first: verb and resource.
    fn writes(&self, name: &str) -> Vec<String> {
        let about = Remote::profile(name).1;
        let events = self.hub.audit_events();
        let text = |event: &Value, at: &str| {
            event
                .pointer(at)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        events
            .iter()
            .filter(|event| text(event, "/user/username") == Manager::NAME)
            .filter(|event| text(event, "/objectRef/name").ends_with(&about))
            .filter(|event| !["get", "list", "watch"].contains(&text(event, "/verb").as_str()))
            .map(|event| {
                let [verb, resource, below] =
                    ["/verb", "/objectRef/resource", "/objectRef/subresource"].map(|at| text(event, at));
                format!("{verb} {resource} {below}").trim_end().to_owned()
            })
            .collect()
    }
}

fn property<'p>(profile: &'p Value, name: &str) -> &'p str {
    let mut properties = profile["status"]["properties"].as_array().into_iter().flatten();
    let property = properties.find(|property| property["name"] == name);
    property
        .and_then(|property| property["value"].as_str())
        .unwrap_or_default()
}

fn condition<'p>(profile: &'p Value, kind: &str) -> &'p Value {
    let mut conditions = profile["status"]["conditions"].as_array().into_iter().flatten();
    conditions
        .find(|condition| condition["type"] == kind)
        .unwrap_or(&Value::Null)
}

#[tokio::test(start_paused = true)]
async fn a_join_brings_a_profile_that_says_what_the_member_does_and_secrets_that_open_it() {
    on_stage(async |stage| {
        let member = stage.member(
            "aarhus",
            MemberState {
                version: "v1.35.1+k3s1".to_owned(),
                nodes: 4,
                custom_resource_groups: ["kueue.x-k8s.io".to_owned()].into(),
                cluster_properties: vec![
                    Property::labelled("cluster.clusterset.k8s.io", "the-id"),
                    Property::unlabelled("diary.example.com", "private"),
                ],
                ..MemberState::default()
            },
        );
        stage.join(&member).await;
        sleep(A_WHILE).await;
        let profile = stage.profile("aarhus").await.expect("a profile");
        assert_eq!(profile["metadata"]["labels"][LABEL_MANAGER], Manager::NAME);
        assert_eq!(profile["spec"]["clusterManager"]["name"], Manager::NAME);
        assert_eq!(profile["spec"]["displayName"], "Cluster aarhus");
        assert_eq!(profile["status"]["version"]["kubernetes"], "v1.35.1+k3s1");
        assert_eq!(property(&profile, PROPERTY_NODE_COUNT), "4");
        assert_eq!(
            property(&profile, PROPERTY_RESOURCE_GROUPS),
            r#"["about.k8s.io","kueue.x-k8s.io"]"#
        );
        assert_eq!(
            property(&profile, PROPERTY_ENDPOINTS),
            r#"["aarhus.clusters.example:6443"]"#
        );
        assert_eq!(property(&profile, "cluster.clusterset.k8s.io"), "the-id");
        assert_eq!(property(&profile, "diary.example.com"), "");
        assert_eq!(condition(&profile, CONDITION_JOINED)["status"], "True");
        assert_eq!(condition(&profile, CONDITION_HEALTHY)["status"], "True");

        let secrets = stage.secrets("aarhus").await;
        assert_eq!(secrets.len(), CONSUMERS.len());
        for secret in secrets {
            let config = &secret.data.expect("data")["Config"].0;
            let config: Value = serde_saphyr::from_slice(config).expect("a kubeconfig");
            let token = config["users"][0]["user"]["token"].as_str().expect("a token");
            let consumer = member.client_with_token(token, "tester/1.0");
            assert!(consumer.apiserver_version().await.is_ok());
            let nodes: Api<k8s_openapi::api::core::v1::Node> = Api::all(consumer);
            assert!(nodes.list(&ListParams::default()).await.is_err(), "few rights");
        }
        assert_eq!(
            stage.writes("aarhus"),
            [
                "create clusterprofiles",
                "patch clusterprofiles status",
                "create secrets",
                "create secrets"
            ],
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_member_that_does_not_answer_yet_is_pending() {
    on_stage(async |stage| {
        let member = stage.member(
            "aarhus",
            MemberState {
                unreachable: true,
                ..MemberState::default()
            },
        );
        stage.join(&member).await;
        sleep(A_WHILE).await;
        let profile = stage.profile("aarhus").await.expect("a profile");
        assert_eq!(condition(&profile, CONDITION_JOINED)["status"], "False");
        assert_eq!(condition(&profile, CONDITION_HEALTHY)["status"], "Unknown");
        assert_eq!(stage.secrets("aarhus").await.len(), 0);
        member.alter(|state| state.unreachable = false);
        sleep(A_WHILE).await;
        let profile = stage.profile("aarhus").await.expect("a profile");
        assert_eq!(condition(&profile, CONDITION_JOINED)["status"], "True");
        assert_eq!(condition(&profile, CONDITION_HEALTHY)["status"], "True");
        assert_eq!(stage.secrets("aarhus").await.len(), 2);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn health_follows_each_kind_of_outage_and_back() {
    type Change = fn(&mut MemberState);
    let outages: [(Change, Change, &str); 3] = [
        (
            |state| state.unreachable = true,
            |state| state.unreachable = false,
            "Unknown",
        ),
        (
            |state| _ = state.failing_checks.insert("etcd".to_owned()),
            |state| state.failing_checks.clear(),
            "False",
        ),
        (
            |state| state.leases = Leases::Stale,
            |state| state.leases = Leases::Alive,
            "False",
        ),
    ];
    on_stage(async |stage| {
        let member = stage.joined("aarhus").await;
        for (breaks, heals, status) in outages {
            for (change, status) in [(breaks, status), (heals, "True")] {
                let before = stage.profile("aarhus").await.expect("a profile");
                member.alter(change);
                sleep(A_WHILE).await;
                let after = stage.profile("aarhus").await.expect("a profile");
                let healthy = condition(&after, CONDITION_HEALTHY);
                assert_eq!(healthy["status"], status);
                let time = |profile| condition(profile, CONDITION_HEALTHY)["lastTransitionTime"].to_string();
                assert!(time(&before) < time(&after));
                assert_eq!(after["status"]["properties"], before["status"]["properties"]);
                assert_eq!(
                    condition(&after, CONDITION_JOINED),
                    condition(&before, CONDITION_JOINED)
                );
            }
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_upgrade_and_new_nodes_show() {
    on_stage(async |stage| {
        let member = stage.joined("aarhus").await;
        member.alter(|state| {
            state.version = "v1.36.0".to_owned();
            state.nodes = 7;
        });
        sleep(A_WHILE).await;
        let profile = stage.profile("aarhus").await.expect("a profile");
        assert_eq!(profile["status"]["version"]["kubernetes"], "v1.36.0");
        assert_eq!(property(&profile, PROPERTY_NODE_COUNT), "7");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_leave_takes_the_secrets_first_and_then_the_profile() {
    on_stage(async |stage| {
        stage.joined("aarhus").await;
        let before = stage.writes("aarhus").len();
        stage.remote.leave("aarhus").await.expect("a manager");
        sleep(A_WHILE).await;
        assert!(stage.profile("aarhus").await.is_none());
        assert_eq!(stage.secrets("aarhus").await.len(), 0);
        assert_eq!(
            stage.writes("aarhus")[before..],
            ["delete secrets", "delete secrets", "delete clusterprofiles"]
        );
        stage.remote.leave("nobody").await.expect("a manager");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_restart_costs_no_write_even_where_a_member_is_down_meanwhile() {
    on_stage(async |stage| {
        let member = stage.joined("aarhus").await;
        let before = (stage.profile("aarhus").await, stage.writes("aarhus"));
        let tokens = stage.secrets("aarhus").await;
        stage.remote.restart().await.expect("a manager");
        sleep(A_WHILE).await;
        assert_eq!((stage.profile("aarhus").await, stage.writes("aarhus")), before);
        assert_eq!(stage.secrets("aarhus").await, tokens);

        member.alter(|state| state.unreachable = true);
        stage.remote.restart().await.expect("a manager");
        sleep(A_WHILE).await;
        let (known, after) = (
            before.0.expect("one"),
            stage.profile("aarhus").await.expect("one"),
        );
        assert_eq!(condition(&after, CONDITION_HEALTHY)["status"], "Unknown");
        assert_eq!(
            condition(&after, CONDITION_JOINED),
            condition(&known, CONDITION_JOINED)
        );
        assert_eq!(after["status"]["version"], known["status"]["version"]);
        assert_eq!(after["status"]["properties"], known["status"]["properties"]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_others_break_is_mended_and_what_is_theirs_stays() {
    on_stage(async |stage| {
        stage.joined("aarhus").await;
        let named = json!({"spec": {"displayName": "Ours"}});
        stage.merge("aarhus", &named, "").await;
        sleep(A_WHILE).await;
        let before = stage.profile("aarhus").await.expect("a profile");
        assert_eq!(before["spec"]["displayName"], "Ours");

        let lies = json!({"status": {
            "version": {"kubernetes": "v0.0.1"},
            "properties": [{"name": "lie.example.com", "value": "1"}],
            "credentialProviders": [{"name": "stranger", "cluster": {"server": "https://stranger.example"}}],
        }});
        stage.merge("aarhus", &lies, "status").await;
        stage
            .merge("aarhus", &json!({"metadata": {"labels": null}}), "")
            .await;
        sleep(A_WHILE).await;
        let after = stage.profile("aarhus").await.expect("a profile");
        assert_eq!(after["metadata"]["labels"], before["metadata"]["labels"]);
        assert_eq!(after["status"]["version"], before["status"]["version"]);
        let strangers = after["status"]["credentialProviders"].as_array();
        assert!(strangers.is_none_or(Vec::is_empty), "{strangers:?}");
        assert_eq!(property(&after, "lie.example.com"), "");
        assert_eq!(after["status"]["conditions"], before["status"]["conditions"]);

        stage.delete("aarhus").await;
        sleep(A_WHILE).await;
        let again = stage.profile("aarhus").await.expect("it is back");
        assert_ne!(again["metadata"]["uid"], after["metadata"]["uid"]);
        assert_eq!(again["spec"]["displayName"], "Ours");
        assert_eq!(again["metadata"]["labels"], before["metadata"]["labels"]);
        assert_eq!(condition(&again, CONDITION_HEALTHY)["status"], "True");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn profiles_of_others_stay_as_they_are() {
    on_stage(async |stage| {
        // One beside, and one under the very name that the manager would give.
        for name in ["stranger", "reference-manager-aarhus"] {
            stage.put_foreigner(name).await;
        }
        let others = async || {
            let mut others = Vec::new();
            for name in ["stranger", "reference-manager-aarhus"] {
                others.push(stage.profiles.get(name).await.expect("still there"));
            }
            others
        };
        let before = others().await;
        stage.joined("bruges").await;
        stage.joined("aarhus").await;
        stage.remote.restart().await.expect("a manager");
        sleep(A_WHILE).await;
        stage.remote.leave("aarhus").await.expect("a manager");
        sleep(A_WHILE).await;
        assert_eq!(others().await, before);
    })
    .await;
}

/// A bucket of ten that gets one back every thirty seconds is never overdrawn (KEP-4322 › Scalability implication),
/// whatever the member does.
#[tokio::test(start_paused = true)]
async fn a_restless_member_does_not_overdraw_the_budget() {
    on_stage(async |stage| {
        let member = stage.joined("aarhus").await;
        let mut left = 10.0_f64;
        let mut before = stage.writes("aarhus").len();
        for turn in 0..120_u32 {
            member.alter(|state| state.unreachable = turn % 2 == 0);
            sleep(Duration::from_secs(10)).await;
            let now = stage.writes("aarhus").len();
            left = (left + 10.0 / 30.0).min(10.0) - (now - before) as f64;
            assert!(left >= 0.0, "turn {turn}");
            before = now;
            if turn == 60 {
                stage.remote.restart().await.expect("a manager");
            }
        }
        sleep(A_WHILE).await;
        let profile = stage.profile("aarhus").await.expect("a profile");
        assert_eq!(
            condition(&profile, CONDITION_HEALTHY)["status"],
            "True",
            "the truth wins in the end"
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn fifty_members_appear_within_a_minute() {
    on_stage(async |stage| {
        let names: Vec<String> = (0..50).map(|number| format!("member-{number}")).collect();
        for name in &names {
            stage.join(&stage.member(name, MemberState::default())).await;
        }
        sleep(Duration::from_secs(60)).await;
        for name in &names {
            let profile = stage.profile(name).await.expect("a profile");
            assert_eq!(condition(&profile, CONDITION_HEALTHY)["status"], "True");
            assert_eq!(stage.writes(name).len(), 4);
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_manager_that_is_gone_is_said_to_be() {
    let manager = Manager::new(Vec::new(), Clock::starting_at(Timestamp::UNIX_EPOCH));
    let remote = manager.remote();
    drop(manager);
    assert!(matches!(remote.restart().await, Err(RemoteError)));
}

/// Every driven fault changes what the manager writes.
#[tokio::test(start_paused = true)]
async fn every_driven_fault_makes_the_manager_write_something_else() {
    const FEW: usize = 7;
    let conforming = driven(Vec::new(), FEW).await;
    let again = driven(Vec::new(), FEW).await;
    assert_eq!(again, conforming, "the manager is deterministic");
    for info in faults().iter().filter(|info| info.needs_driver) {
        let fault = vec![Fault::parse(info.id).expect("a fault")];
        let shows = match info.id {
            "updates/scale-within-budget" => driven(fault, 41).await != driven(Vec::new(), 41).await,
            _ => driven(fault, FEW).await != conforming,
        };
        assert!(shows, "{} shows nowhere", info.id);
    }
}

/// Drives the manager through the steps of a run, with so many members, and returns its writes.
async fn driven(faults: Vec<Fault>, members: usize) -> Vec<String> {
    const PATIENCE: Duration = Duration::from_secs(75);
    on_stage_with(faults, async |stage| {
        let members: Vec<StandIn> = (0..members)
            .map(|number| stage.member(&format!("m{number}"), MemberState::default()))
            .collect();
        for member in &members {
            stage.join(member).await;
        }
        stage.put_foreigner("stranger").await;
        sleep(PATIENCE).await;
        stage.remote.leave("m0").await.expect("a manager");
        members[1].alter(|state| state.unreachable = true);
        members[2].alter(|state| state.version = "v1.36.0".to_owned());
        stage.delete("m3").await;
        let lie = json!({"status": {"version": {"kubernetes": "v0.0.1"}}});
        stage.merge("m4", &lie, "status").await;
        let no_label = json!({"metadata": {"labels": {LABEL_MANAGER: null}}});
        stage.merge("m5", &no_label, "").await;
        stage
            .merge("m6", &json!({"spec": {"displayName": "Ours"}}), "")
            .await;
        sleep(PATIENCE).await;
        members[1].alter(|state| state.unreachable = false);
        sleep(PATIENCE).await;
        stage.remote.restart().await.expect("a manager");
        sleep(PATIENCE).await;
        stage.log()
    })
    .await
}
