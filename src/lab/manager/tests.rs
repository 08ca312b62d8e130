use std::collections::{BTreeMap, BTreeSet};

use base64::{Engine, prelude::BASE64_STANDARD};
use collect::clock::Clock;
use evidence::api::names::{
    LABEL_MANAGER, LABEL_MEMBER_ID, PLURAL, PROPERTIES_CLUSTER_ID, PROPERTY_ENDPOINTS, PROPERTY_NODE_COUNT,
};
use http::Method;
use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::Secret, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::api::{Api, ListParams};
use serde_json::Value;

use super::{
    faults::{Fault, faults, hub_definitions},
    lifetime::Manager,
    members::{FLEET, SET_NAMESPACE},
    recorder::{Received, Recorder, refusal},
    script::minutes,
    world::World,
};
use crate::fault::HubChange;

fn conforming() -> World {
    World::conforming(Timestamp::UNIX_EPOCH)
}

#[test]
fn the_world_has_twenty_profiles_in_two_namespaces_and_two_of_them_join_later() {
    let world = conforming();
    let mut count = BTreeMap::new();
    for profile in &world.profiles {
        *count.entry(profile.namespace.as_str()).or_insert(0) += 1;
    }
    assert_eq!(count, BTreeMap::from([(FLEET, 12), (SET_NAMESPACE, 8)]));
    assert_eq!(world.joining().len(), 2);
    assert_eq!(world.secrets.len(), 40);
}

#[test]
fn no_two_members_are_taken_for_one() {
    let world = conforming();
    let all = world.profiles.len();
    let distinct = |what: fn(&super::world::Profile) -> String| {
        let values: BTreeSet<String> = world.profiles.iter().map(what).collect();
        values.len()
    };
    assert_eq!(distinct(|profile| profile.name.clone()), all);
    assert_eq!(distinct(|profile| profile.labels[LABEL_MEMBER_ID].clone()), all);
    assert_eq!(
        distinct(|profile| profile.status.value(PROPERTIES_CLUSTER_ID[0]).to_owned()),
        all
    );
    assert_eq!(
        distinct(|profile| profile.status.value(PROPERTY_ENDPOINTS).to_owned()),
        all
    );
    assert_eq!(distinct(|profile| profile.status.access[0].ca_data.clone()), all);
    let tokens: BTreeSet<String> = world
        .secrets
        .iter()
        .map(|secret| secret.kubeconfig["users"][0]["user"]["token"].to_string())
        .collect();
    assert_eq!(tokens.len(), world.secrets.len());
}

#[test]
fn fault_ids_are_unique_and_a_slip_gets_a_suggestion() {
    let ids: BTreeSet<&str> = faults().iter().map(|fault| fault.id).collect();
    assert_eq!(ids.len(), faults().len());
    for id in ids {
        assert_eq!(Fault::parse(id).unwrap().info().id, id);
    }
    let slip = Fault::parse("identity/manager-label-mathces").unwrap_err();
    assert_eq!(slip.nearest.as_deref(), Some("identity/manager-label-matches"));
}

/// Users combine faults: no fault may fail because another one removed something.
#[tokio::test(start_paused = true)]
async fn all_faults_at_once_make_a_world() {
    let all: Vec<Fault> = faults()
        .iter()
        .map(|fault| Fault::parse(fault.id).unwrap())
        .collect();
    let backward: Vec<Fault> = all.iter().rev().copied().collect();
    for faults in [all, backward] {
        Manager::new(faults, Clock::starting_at(Timestamp::UNIX_EPOCH));
    }
}

#[test]
fn the_hub_lacks_only_what_a_fault_needs_gone() {
    let of = |change: HubChange| {
        let fault = faults().iter().find(|fault| fault.hub == change).unwrap();
        hub_definitions(&[Fault::parse(fault.id).unwrap()])
    };
    let usual = crate::crd::all();
    assert_eq!(of(HubChange::None), usual);
    assert_eq!(of(HubChange::WithoutImmutability)[1], usual[1]);

    let rules = |definitions: &[CustomResourceDefinition]| {
        let text = crate::crd::to_yaml(&definitions[0]);
        (
            text.matches("self == oldSelf").count(),
            text.matches("rule:").count(),
        )
    };
    assert_eq!(rules(&usual), (2, 5));
    assert_eq!(rules(&of(HubChange::WithoutImmutability)), (0, 3));
}

/// The received creations of profiles and writes of their status.
fn status_writes(received: &[Received]) -> BTreeMap<String, Vec<&Received>> {
    let mut writes: BTreeMap<String, Vec<&Received>> = BTreeMap::new();
    for write in received {
        if let Some(profile) = write.path.strip_suffix("/status") {
            writes.entry(profile.to_owned()).or_default().push(write);
        }
    }
    writes
}

fn created<'r>(received: &'r [Received], plural: &str) -> Vec<&'r Received> {
    received
        .iter()
        .filter(|write| write.method == Method::POST && write.path.split('/').nth(2) == Some(plural))
        .collect()
}

/// The manager after its set-up on a recording hub.
async fn set_up() -> (Recorder, kube::Client, Manager) {
    let recorder = Recorder::default();
    let client = recorder.client();
    let mut manager = Manager::new(Vec::new(), Clock::starting_at(Timestamp::UNIX_EPOCH));
    manager.set_up(&client).await.unwrap();
    (recorder, client, manager)
}

#[tokio::test(start_paused = true)]
async fn the_set_up_publishes_eighteen_labelled_profiles_with_full_statuses() {
    let (recorder, _, _) = set_up().await;
    let received = recorder.take();
    let profiles = created(&received, PLURAL);
    assert_eq!(profiles.len(), 18);
    for profile in profiles {
        let body = &profile.body;
        assert_eq!(body["metadata"]["labels"][LABEL_MANAGER], Manager::NAME);
        assert_eq!(body["spec"]["clusterManager"]["name"], Manager::NAME);
        assert!(body["status"].is_null(), "a hub drops a status on creation");
    }
    let writes = status_writes(&received);
    assert_eq!(writes.len(), 18);
    for write in writes.values().flatten() {
        let status = &write.body["status"];
        assert!(status["version"]["kubernetes"].is_string(), "{status}");
        assert_eq!(status["conditions"].as_array().unwrap().len(), 2);
        assert_eq!(status["accessProviders"].as_array().unwrap().len(), 1);
        assert!(status["properties"].as_array().unwrap().len() >= 7);
        assert!(write.body["metadata"].is_null() && write.body["spec"].is_null());
    }
    assert_eq!(created(&received, "secrets").len(), 36);
    assert!(received.iter().all(|write| write.field_manager == Manager::NAME));
}

#[tokio::test(start_paused = true)]
async fn half_an_hour_brings_joins_an_outage_an_upgrade_and_a_leave_in_few_writes() {
    let (recorder, client, manager) = set_up().await;
    let before = recorder.take();
    let life = tokio::time::timeout(minutes(30), manager.run(client)).await;
    assert!(life.is_err(), "the manager never ends by itself");
    let received = recorder.take();

    assert_eq!(created(&received, PLURAL).len(), 2);
    let deleted: Vec<&str> = received
        .iter()
        .filter(|write| write.method == Method::DELETE)
        .map(|write| write.path.as_str())
        .collect();
    assert_eq!(deleted.len(), 3, "two Secrets, then the profile: {deleted:?}");
    assert!(deleted[2].ends_with("clusterprofiles/reference-manager-cadiz"));

    for creation in created(&received, PLURAL) {
        let profile = format!(
            "{}/{}",
            creation.path,
            creation.body["metadata"]["name"].as_str().unwrap()
        );
        let first = status_writes(&received)[&profile][0].at;
        let waited = first - creation.at;
        assert!(
            !waited.is_zero() && waited < minutes(2),
            "{profile} waited {waited:?} for its status"
        );
    }

    let writes: Vec<Received> = before.into_iter().chain(received).collect();
    let mut changed = BTreeSet::new();
    for (profile, writes) in status_writes(&writes) {
        assert!(writes.len() <= 4, "{profile} had {} status writes", writes.len());
        for pair in writes.windows(2) {
            changed.extend(difference(&pair[0].body["status"], &pair[1].body["status"]));
        }
    }
    let expected = ["ControlPlaneHealthy", PROPERTY_NODE_COUNT, "version"];
    assert_eq!(changed, BTreeSet::from(expected.map(str::to_owned)));
}

/// The differences of two successive statuses of a profile. Checks that a transition time moves only with its status.
fn difference(before: &Value, after: &Value) -> Vec<String> {
    let mut found = Vec::new();
    if before["version"] != after["version"] {
        found.push("version".to_owned());
    }
    for (one, other) in entries(before, "properties").zip(entries(after, "properties")) {
        if one["value"] != other["value"] {
            found.push(other["name"].as_str().unwrap().to_owned());
        }
    }
    for (one, other) in entries(before, "conditions").zip(entries(after, "conditions")) {
        let time = |condition: &Value| condition["lastTransitionTime"].as_str().unwrap().to_owned();
        if one["status"] != other["status"] {
            assert!(time(one) < time(other), "{other}");
            found.push(other["type"].as_str().unwrap().to_owned());
        } else {
            assert_eq!(time(one), time(other));
        }
    }
    assert!(!found.is_empty(), "a write that changed nothing: {after}");
    found
}

fn entries<'v>(status: &'v Value, list: &str) -> impl Iterator<Item = &'v Value> {
    status[list].as_array().unwrap().iter()
}

#[tokio::test(start_paused = true)]
async fn a_busy_hub_is_given_the_time_that_it_asks_for() {
    let recorder = Recorder::default();
    recorder.refuse([
        refusal(429, "TooManyRequests", 7),
        refusal(409, "Conflict", 0),
        refusal(409, "AlreadyExists", 0),
    ]);
    let mut manager = Manager::new(Vec::new(), Clock::starting_at(Timestamp::UNIX_EPOCH));
    manager.set_up(&recorder.client()).await.unwrap();

    let first: Vec<(u64, Method)> = recorder
        .take()
        .into_iter()
        .take(4)
        .map(|write| (write.at.as_secs(), write.method))
        .collect();
    // An object that exists after a lost answer is patched.
    let expected = [
        (0, Method::POST),
        (7, Method::POST),
        (8, Method::POST),
        (8, Method::PATCH),
    ];
    assert_eq!(first, expected);
}

#[tokio::test(start_paused = true)]
async fn a_permanent_refusal_is_reported_immediately() {
    let recorder = Recorder::default();
    recorder.refuse([refusal(403, "Forbidden", 0)]);
    let mut manager = Manager::new(Vec::new(), Clock::starting_at(Timestamp::UNIX_EPOCH));
    let error = manager.set_up(&recorder.client()).await.unwrap_err();
    assert_eq!(error.to_string(), "failed to create Namespace lab-fleet");
    assert_eq!(recorder.take().len(), 1);
}

/// Every fault runs for half an hour, alone and combined.
#[tokio::test(start_paused = true)]
async fn every_fault_makes_something_else_of_the_world() {
    let conforming = half_an_hour(Vec::new()).await;
    assert_eq!(
        half_an_hour(Vec::new()).await,
        conforming,
        "the manager is deterministic"
    );
    for info in faults() {
        let lived = half_an_hour(vec![Fault::parse(info.id).unwrap()]).await;
        // The first changes the hub's definition, not the world. The others show when the manager is driven.
        let is_the_same = info.needs_driver || info.id == "identity/manager-immutable:probe";
        assert_eq!(lived == conforming, is_the_same, "{}", info.id);
    }
    let all = faults()
        .iter()
        .map(|info| Fault::parse(info.id).unwrap())
        .collect();
    assert_ne!(half_an_hour(all).await, conforming);
}

/// The states of the members in each minute of half an hour, the tokens that they accept, and all writes of the manager.
/// Tokens are left out, as they differ each time.
async fn half_an_hour(faults: Vec<Fault>) -> (Vec<String>, Vec<String>) {
    let recorder = Recorder::default();
    let client = recorder.client();
    let mut manager = Manager::new(faults, Clock::starting_at(Timestamp::UNIX_EPOCH));
    manager.set_up(&client).await.unwrap();
    let mut seen = logins(&manager).await;
    let members = manager.members();
    let watching = async {
        for _ in 0..30 {
            let states = members.iter().map(|member| member.stand_in.state());
            seen.push(format!("{:?}", states.collect::<Vec<_>>()));
            tokio::time::sleep(minutes(1)).await;
        }
    };
    tokio::select! {
        () = watching => {}
        end = manager.run(client) => panic!("the manager ended: {end:?}"),
    }
    (seen, sent(recorder.take()))
}

/// How members treat each Secret's token: whether they know it, and whether it may do everything.
async fn logins(manager: &Manager) -> Vec<String> {
    let members = manager.members();
    let mut seen = Vec::new();
    for secret in &manager.world().secrets {
        let member = members
            .iter()
            .find(|member| member.stand_in.name() == secret.member);
        let token = secret.kubeconfig["users"][0]["user"]["token"].as_str();
        let (Some(member), Some(token)) = (member, token) else {
            continue;
        };
        let client = member.stand_in.client_with_token(token, "tester/1.0");
        let secrets: Api<Secret> = Api::all(client.clone());
        let version = client.apiserver_version().await.is_ok();
        let everything = secrets.list(&ListParams::default()).await.is_ok();
        seen.push(format!("{} {version} {everything}", secret.name));
    }
    seen
}

/// The writes, with each token replaced by its number.
fn sent(received: Vec<Received>) -> Vec<String> {
    // Only equality of tokens matters: each is replaced by the place of its first use.
    let mut tokens: Vec<String> = Vec::new();
    received
        .into_iter()
        .map(|write| {
            let mut text = format!("{write:?}");
            let data = write.body["data"].as_object().into_iter().flatten().next();
            if let Some((key, config)) = data {
                let config = BASE64_STANDARD.decode(config.as_str().unwrap()).unwrap();
                let config = String::from_utf8(config).unwrap();
                text = format!("{} {} {key} {config}", write.path, write.body["metadata"]);
                for token in config
                    .split_whitespace()
                    .filter(|word| word.starts_with(apiserver::TOKEN_PREFIX))
                {
                    let known = tokens.iter().position(|known| known == token);
                    let number = known.unwrap_or(tokens.len());
                    if known.is_none() {
                        tokens.push(token.to_owned());
                    }
                    text = text.replace(token, &format!("token {number}"));
                }
            }
            text
        })
        .collect()
}
