//! Runs a controller of kube-rs, with a finalizer and an owned object, through restarts and faults.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use apiserver::{Affected, Misbehaviour};
use futures::StreamExt as _;
use k8s_openapi::api::{core::v1::ConfigMap, events::v1::Event as EventObject};
use kube::{
    Client, Resource as _, ResourceExt as _,
    api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams},
};
use kube_runtime::{
    controller::{Action, Controller},
    events::{Event, EventType, Recorder, Reporter},
    finalizer::{Event as Step, finalizer},
    watcher,
};
use serde_json::json;
use tokio::task::JoinHandle;

use super::{super::hubs::Hub, profile, profiles, resource, stage};

const FINALIZER: &str = "kube-rs.example.com/tidy";
const OWNER: &str = "kube-rs";
/// How long a controller may take. Some retry with growing delays.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why a ClusterProfile was not reconciled.
type Failure = kube_runtime::finalizer::Error<kube::Error>;

struct Context {
    client: Client,
    /// The last failure, for the test's message.
    last: Mutex<String>,
}

/// A running controller, stopped when this is dropped.
struct Running {
    task: JoinHandle<()>,
    context: Arc<Context>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Reports a ClusterProfile as healthy, and creates its ConfigMap.
async fn reconcile(profile: Arc<DynamicObject>, context: Arc<Context>) -> Result<Action, Failure> {
    let client = &context.client;
    let api = profiles(client.clone());
    finalizer(&api, FINALIZER, profile, |step| async {
        let Step::Apply(profile) = step else {
            return Ok(Action::await_change());
        };
        let name = profile.name_any();
        let apply = PatchParams::apply(OWNER).force();
        let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
        let owned = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "ownerReferences": [profile.controller_owner_ref(&resource())]},
            "data": {"displayName": profile.data["spec"]["displayName"]},
        });
        maps.patch(&name, &apply, &Patch::Apply(&owned)).await?;
        let kind = resource();
        let status = json!({
            "apiVersion": kind.api_version, "kind": kind.kind,
            "status": {"conditions": [{
                "type": "ControlPlaneHealthy", "status": "True", "reason": "Reachable", "message": "",
                "observedGeneration": profile.metadata.generation,
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }]},
        });
        api.patch_status(&name, &apply, &Patch::Apply(&status)).await?;
        Ok(Action::await_change())
    })
    .await
}

fn start(client: &Client) -> Running {
    let context = Arc::new(Context {
        client: client.clone(),
        last: Mutex::default(),
    });
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let controller = Controller::new_with(profiles(client.clone()), watcher::Config::default(), resource())
        .owns(maps, watcher::Config::default().streaming_lists())
        .run(
            reconcile,
            |_, failure, context| {
                *context.last.lock().expect("no panic") = format!("{failure:?}");
                Action::requeue(Duration::from_millis(100))
            },
            context.clone(),
        );
    Running {
        task: tokio::spawn(controller.for_each(async |_| {})),
        context,
    }
}

/// Waits until that ClusterProfile is reconciled.
async fn reconciled(controller: &Running, name: &str, generation: i64) {
    let client = &controller.context.client;
    let api = profiles(client.clone());
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let so = async {
        loop {
            let seen = api.get(name).await.expect("a ClusterProfile");
            let map = maps.get_opt(name).await.expect("an answer");
            let data = map.and_then(|map| map.data).unwrap_or_default();
            let is_reported = seen.data["status"]["conditions"][0]["observedGeneration"] == generation;
            let is_kept =
                data.get("displayName").map(String::as_str) == seen.data["spec"]["displayName"].as_str();
            if is_reported && is_kept {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    if tokio::time::timeout(PATIENCE, so).await.is_err() {
        let last = controller.context.last.lock().expect("no panic");
        panic!("{name} is not reconciled at generation {generation}; what failed last: {last}");
    }
}

pub async fn controls(hub: &Hub) {
    let client = stage(hub).await;
    let api = profiles(client.clone());
    let controller = start(&client);
    api.create(&PostParams::default(), &profile("a"))
        .await
        .expect("a ClusterProfile");
    reconciled(&controller, "a", 1).await;
    let renamed = Patch::Merge(json!({"spec": {"displayName": "another"}}));
    api.patch("a", &PatchParams::default(), &renamed)
        .await
        .expect("another name");
    reconciled(&controller, "a", 2).await;
    // The controller restores the ConfigMap that somebody deleted.
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    maps.delete("a", &DeleteParams::default()).await.expect("it goes");
    reconciled(&controller, "a", 2).await;
    api.delete("a", &DeleteParams::default()).await.expect("it goes");
    let gone = async {
        while api.get_opt("a").await.expect("an answer").is_some() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, gone)
        .await
        .expect("its finalizer is taken away");
}

/// Publishes the same Event twice: one Event with a series.
pub async fn records_events(hub: &Hub) {
    let client = stage(hub).await;
    let made = profiles(client.clone())
        .create(&PostParams::default(), &profile("a"))
        .await;
    let about = made.expect("a ClusterProfile").object_ref(&resource());
    let reporter = Reporter {
        controller: OWNER.to_owned(),
        instance: Some("kube-rs-0".to_owned()),
    };
    let recorder = Recorder::new(client.clone(), reporter);
    let event = Event {
        type_: EventType::Normal,
        reason: "Told".to_owned(),
        note: Some("told of it".to_owned()),
        action: "Tell".to_owned(),
        secondary: None,
    };
    for _ in 0..2 {
        recorder.publish(&event, &about).await.expect("an Event");
    }
    let events: Api<EventObject> = Api::default_namespaced(client.clone());
    let told = events.list(&ListParams::default().fields("reason=Told")).await;
    let told = told.expect("Events").items;
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].series.as_ref().map(|series| series.count), Some(2));
    assert_eq!(
        told[0].regarding.as_ref().and_then(|about| about.uid.clone()),
        about.uid
    );
    let older: Api<k8s_openapi::api::core::v1::Event> = Api::default_namespaced(client);
    let older = older
        .get(&told[0].name_any())
        .await
        .expect("the Event in the older group");
    assert_eq!(older.message.as_deref(), Some("told of it"));
}

/// The controller survives ended watches, compacted history and errors.
pub async fn a_controller_survives_everything() {
    // A separate server, so that other tests' watches go on.
    let hub = Hub::ours().await;
    let server = hub.server.clone().expect("this server");
    let client = stage(&hub).await;
    let api = profiles(client.clone());
    let controller = start(&client);
    let fail = |verb: &str, resource: &str, code: u16| Misbehaviour::Fail {
        affected: Affected::verb_on(verb, resource),
        code,
        retry_after: (code == 429).then_some(1),
        every: 1,
        times: 2,
    };
    let trials = [
        ("dropped", vec![Misbehaviour::DropWatches]),
        (
            "expired",
            vec![Misbehaviour::DropWatches, Misbehaviour::CompactHistory],
        ),
        (
            "refused",
            vec![fail("watch", "clusterprofiles", 500), Misbehaviour::DropWatches],
        ),
        (
            "unlisted",
            vec![
                fail("watch", "configmaps", 503),
                fail("list", "clusterprofiles", 429),
                Misbehaviour::CompactHistory,
                Misbehaviour::DropWatches,
            ],
        ),
        (
            "unwritten",
            vec![
                fail("patch", "clusterprofiles", 500),
                fail("patch", "configmaps", 504),
            ],
        ),
    ];
    for (name, misbehaviours) in trials {
        let before = format!("before-{name}");
        api.create(&PostParams::default(), &profile(&before))
            .await
            .expect("a ClusterProfile");
        reconciled(&controller, &before, 1).await;
        for misbehaviour in misbehaviours {
            server.misbehave(misbehaviour);
        }
        api.create(&PostParams::default(), &profile(name))
            .await
            .expect("a ClusterProfile");
        reconciled(&controller, name, 1).await;
        server.misbehave(Misbehaviour::Recover);
    }
}
