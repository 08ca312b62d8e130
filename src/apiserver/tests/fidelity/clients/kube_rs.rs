//! A controller of kube-rs with a finalizer and an owned object, also while the API server fails.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use apiserver::{Affected, Misbehaviour};
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Client, Resource as _, ResourceExt as _,
    api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams},
};
use kube_runtime::{
    controller::{Action, Controller},
    finalizer::{Event as Step, finalizer},
    watcher,
};
use serde_json::json;
use tokio::{
    task::JoinHandle,
    time::{error::Elapsed, sleep, timeout},
};

use super::hubs::Hub;

const FINALIZER: &str = "kube-rs.example.com/tidy";
const GROUP: &str = "multicluster.x-k8s.io";
const KIND: &str = "ClusterProfile";
const OWNER: &str = "kube-rs";
/// How long a controller may take. Some retry with growing delays.
const PATIENCE: Duration = Duration::from_secs(60);

async fn client(hub: &Hub) -> Client {
    let namespace = hub.create_namespace(json!({"generateName": "kube-rs-"})).await;
    hub.client(&namespace).await
}

fn resource() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(GROUP, "v1alpha1", KIND))
}

fn profiles(client: Client) -> Api<DynamicObject> {
    Api::default_namespaced_with(client, &resource())
}

fn profile(name: &str) -> DynamicObject {
    let profile = json!({
        "apiVersion": format!("{GROUP}/v1alpha1"), "kind": KIND, "metadata": {"name": name},
        "spec": {"displayName": name, "clusterManager": {"name": "kube-rs"}},
    });
    serde_json::from_value(profile).expect("a ClusterProfile")
}

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
    profiles: Api<DynamicObject>,
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
        profiles: profiles(client.clone()),
    }
}

impl Running {
    async fn create(&self, name: &str) {
        let created = self.profiles.create(&PostParams::default(), &profile(name)).await;
        created.expect("a ClusterProfile");
        wait_until_reconciled(self, name, 1).await;
    }
}

async fn wait_until(what: impl AsyncFn() -> bool) -> Result<(), Elapsed> {
    let so = async {
        while !what().await {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, so).await
}

async fn wait_until_reconciled(controller: &Running, name: &str, generation: i64) {
    let maps: Api<ConfigMap> = Api::default_namespaced(controller.context.client.clone());
    let reconciled = wait_until(async || {
        let seen = controller.profiles.get(name).await.expect("a ClusterProfile");
        let map = maps.get_opt(name).await.expect("an answer");
        let data = map.and_then(|map| map.data).unwrap_or_default();
        let kept = data.get("displayName").map(String::as_str);
        let is_reported = seen.data["status"]["conditions"][0]["observedGeneration"] == generation;
        is_reported && kept == seen.data["spec"]["displayName"].as_str()
    });
    if reconciled.await.is_err() {
        let last = controller.context.last.lock().expect("no panic");
        panic!("{name} is not reconciled at generation {generation}; what failed last: {last}");
    }
}

pub async fn controls(hub: &Hub) {
    let client = client(hub).await;
    let controller = start(&client);
    let api = &controller.profiles;
    controller.create("a").await;
    let renamed = Patch::Merge(json!({"spec": {"displayName": "another"}}));
    let patched = api.patch("a", &PatchParams::default(), &renamed).await;
    patched.expect("another name");
    wait_until_reconciled(&controller, "a", 2).await;
    // The controller restores the ConfigMap that another client deleted.
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    maps.delete("a", &DeleteParams::default()).await.expect("it goes");
    wait_until_reconciled(&controller, "a", 2).await;
    api.delete("a", &DeleteParams::default()).await.expect("it goes");
    let gone = wait_until(async || api.get_opt("a").await.expect("an answer").is_none());
    gone.await.expect("its finalizer is taken away");
}

/// The controller survives ended watches, compacted history and errors.
pub async fn controls_while_the_server_fails() {
    // A separate server, so that other tests' watches go on.
    let hub = Hub::ours().await;
    let server = hub.server.clone().expect("this server");
    let client = client(&hub).await;
    let controller = start(&client);
    let fail = |verb: &str, resource: &str, code: u16| Misbehaviour::Fail {
        affected: Affected::verb_on(verb, resource),
        code,
        retry_after: (code == 429).then_some(1),
        every: 1,
        times: 2,
    };
    use Misbehaviour::{CompactHistory, DropWatches, Recover};
    let trials = [
        ("dropped", vec![DropWatches]),
        ("expired", vec![DropWatches, CompactHistory]),
        (
            "refused",
            vec![fail("watch", "clusterprofiles", 500), DropWatches],
        ),
        (
            "unlisted",
            vec![
                fail("watch", "configmaps", 503),
                fail("list", "clusterprofiles", 429),
                CompactHistory,
                DropWatches,
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
        controller.create(&format!("before-{name}")).await;
        for misbehaviour in misbehaviours {
            server.misbehave(misbehaviour);
        }
        controller.create(name).await;
        server.misbehave(Recover);
    }
}
