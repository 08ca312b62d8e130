//! What a run sees of decisions on the lab's hub: lists, watches, the audit log, and what the consumer may do.

use std::time::Duration;

use collect::clock::Clock;
use evidence::{
    AllowedWrite, Asked, Claim, ConsumerAccess, Evidence, FORMAT, Header, History, Kind, ObjectRef, Origin,
    ReadableNamespace, Request, RequestBody, Requests, Tracked, Version, Window, Workload,
    api::{ClusterProfile, Edition, PlacementDecision, names},
    lenient::{self, Untyped},
};
use futures::{StreamExt, stream::BoxStream};
use kube::{
    Client,
    api::{Api, ApiResource, DynamicObject, GroupVersionKind, ListParams, WatchEvent, WatchParams},
};
use lab::{
    hub::{AuditLevel, Hub},
    scheduler::{Fault, Scheduler, hub_definitions},
};
use serde_json::{Value, json};

/// How long the run looks: the scheduler's script ends before.
const WINDOW: Duration = Duration::from_secs(18 * 60);
/// The verbs that a consumer does not need.
const WRITES: [&str; 5] = ["create", "update", "patch", "delete", "deletecollection"];

/// Evidence of a scheduler with these faults, by an edition.
pub fn observe(edition: Edition, faults: &[&str]) -> Evidence {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime");
    let faults: Vec<Fault> = faults
        .iter()
        .map(|id| Fault::parse(id).expect("a fault"))
        .collect();
    runtime.block_on(async {
        let clock = Clock::system();
        let hub = Hub::lab_with(clock, &hub_definitions(&faults))
            .await
            .expect("a hub");
        hub.as_lab()
            .expect("the lab")
            .set_audit_level(AuditLevel::RequestResponse);
        let client = hub.client_as(Scheduler::NAME, Scheduler::NAME).expect("a client");
        let mut scheduler = Scheduler::new(faults, clock);
        scheduler.set_up(&client).await.expect("a world");
        tokio::select! {
            seen = seen(&hub, edition, clock) => seen,
            ended = scheduler.run(client) => panic!("the scheduler ended: {ended:?}"),
        }
    })
}

async fn seen(hub: &Hub, edition: Edition, clock: Clock) -> Evidence {
    let client = &hub.connection.client;
    let from = clock.now();
    let mut evidence = Evidence {
        namespaces: namespaces(client).await,
        ..Evidence::default()
    };
    let (profiles, slices) = tokio::join!(
        watched::<ClusterProfile>(client, clock),
        watched::<PlacementDecision>(client, clock)
    );
    (evidence.profiles, evidence.slices) = (profiles, slices);
    evidence.workloads = workloads(client).await;
    evidence.consumer_access = vec![consumer(hub, &evidence).await];
    let window = Window {
        from,
        until: clock.now(),
    };
    evidence.slice_requests = Some(requests(hub, window));
    evidence.header = header(edition, window);
    evidence
}

fn header(edition: Edition, window: Window) -> Header {
    let asked = [
        Kind::Inventory,
        Kind::Namespaces,
        Kind::Timeline,
        Kind::Requests,
        Kind::Writers,
        Kind::PlacementDecisions,
        Kind::PlacementTimeline,
        Kind::ConsumerAccess,
        Kind::Workloads,
    ];
    Header {
        format: FORMAT.to_owned(),
        claim: Claim {
            edition,
            consumer_users: vec![Scheduler::CONSUMER.to_owned()],
            ..Claim::default()
        },
        window: Some(window),
        clock_skew_ms: Some(0),
        asked: asked.map(|kind| (kind, Asked::Yes)).into(),
        ..Header::default()
    }
}

async fn namespaces(client: &Client) -> Vec<evidence::Namespace> {
    let namespace = ApiResource::erase::<k8s_openapi::api::core::v1::Namespace>(&());
    let listed = Api::<DynamicObject>::all_with(client.clone(), &namespace)
        .list(&ListParams::default())
        .await
        .expect("namespaces");
    listed
        .iter()
        .map(|one| lenient::namespace(Untyped::Value(&json!(one))).expect("a namespace"))
        .collect()
}

/// Lists the objects of a kind, and watches them for the window.
async fn watched<T: Tracked>(client: &Client, clock: Clock) -> Vec<History<T>> {
    let kind = GroupVersionKind::gvk(names::GROUP, "v1alpha1", T::KIND);
    let resource = ApiResource::from_gvk_with_plural(&kind, T::PLURAL);
    let api = Api::<DynamicObject>::all_with(client.clone(), &resource);
    let listed = api.list(&ListParams::default()).await.expect("a list");
    let mut histories = Histories(Vec::new());
    for object in &listed {
        histories.see(object, Origin::Listed, &resource, clock);
    }
    let version = listed.metadata.resource_version.clone().unwrap_or_default();
    let events: BoxStream<_> = api
        .watch(&WatchParams::default().timeout(290), &version)
        .await
        .expect("a watch")
        .boxed();
    let mut events = events;
    let end = tokio::time::Instant::now() + WINDOW;
    let mut last = version;
    loop {
        let event = tokio::select! {
            event = events.next() => event,
            () = tokio::time::sleep_until(end) => return histories.0,
        };
        match event {
            Some(Ok(WatchEvent::Added(object))) => {
                histories.see(&object, Origin::Created, &resource, clock);
                last = object.metadata.resource_version.unwrap_or(last);
            }
            Some(Ok(WatchEvent::Modified(object))) => {
                histories.see(&object, Origin::Created, &resource, clock);
                last = object.metadata.resource_version.unwrap_or(last);
            }
            Some(Ok(WatchEvent::Deleted(object))) => {
                histories.lose(&object, clock);
                last = object.metadata.resource_version.unwrap_or(last);
            }
            Some(Ok(WatchEvent::Bookmark(_))) => {}
            Some(Ok(WatchEvent::Error(error))) => panic!("the watch was lost: {error:?}"),
            // It ended in time.
            Some(Err(_)) | None => {
                events = api
                    .watch(&WatchParams::default().timeout(290), &last)
                    .await
                    .expect("a watch")
                    .boxed();
            }
        }
    }
}

/// The versions seen so far.
struct Histories<T>(Vec<History<T>>);

impl<T: Tracked> Histories<T> {
    fn see(&mut self, object: &DynamicObject, origin: Origin, resource: &ApiResource, clock: Clock) {
        let mut value = json!(object);
        value["apiVersion"] = json!(resource.api_version);
        let read = T::read(Untyped::Value(&value)).expect("a readable object");
        let version = Version {
            at: clock.now(),
            object: read,
        };
        match self.of(object) {
            Some(history) => history.versions.push(version),
            None => self.0.push(History {
                origin,
                versions: vec![version],
                deleted: None,
            }),
        }
    }

    fn lose(&mut self, object: &DynamicObject, clock: Clock) {
        if let Some(history) = self.of(object) {
            history.deleted = Some(clock.now());
        }
    }

    fn of(&mut self, object: &DynamicObject) -> Option<&mut History<T>> {
        let uid = object.metadata.uid.as_deref().unwrap_or_default();
        let mut histories = self.0.iter_mut();
        histories.find(|history| *history.last().metadata().uid == *uid)
    }
}

/// The workloads that carry a placement key.
async fn workloads(client: &Client) -> Vec<Workload> {
    let mut parts = Scheduler::WORKLOADS.splitn(3, '.');
    let mut part = || parts.next().expect("a resource, a version and a group");
    let (plural, version, group) = (part(), part(), part());
    let resource =
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, "Workload"), plural);
    let listed = Api::<DynamicObject>::all_with(client.clone(), &resource)
        .list(&ListParams::default())
        .await
        .expect("workloads");
    let with_key = listed.iter().filter_map(|one| {
        let key = one.metadata.labels.as_ref()?.get(names::LABEL_PLACEMENT_KEY)?;
        Some(Workload {
            object: ObjectRef {
                kind: resource.kind.clone(),
                namespace: one.metadata.namespace.clone().unwrap_or_default(),
                name: one.metadata.name.clone().unwrap_or_default(),
                ..ObjectRef::default()
            },
            placement_key: key.clone(),
        })
    });
    with_key.collect()
}

/// What the consumer may do, by its own word: the lab answers for the same roles.
async fn consumer(hub: &Hub, evidence: &Evidence) -> ConsumerAccess {
    let lab = hub.as_lab().expect("the lab");
    lab.add_user(apiserver::User::with_rules(Scheduler::CONSUMER, Vec::new()));
    let client = lab.client_as(Scheduler::CONSUMER, Scheduler::CONSUMER);
    let mut access = ConsumerAccess {
        user: Scheduler::CONSUMER.to_owned(),
        ..ConsumerAccess::default()
    };
    let distinct = |namespaces: &mut dyn Iterator<Item = String>| -> Vec<String> {
        let mut all: Vec<String> = namespaces.collect();
        all.sort();
        all.dedup();
        all
    };
    let of_slices = distinct(
        &mut evidence
            .slices()
            .map(|slice| slice.metadata.namespace.to_string()),
    );
    let of_references = distinct(
        &mut evidence
            .slices()
            .flat_map(|slice| slice.references())
            .map(|reference| reference.namespace.to_string()),
    );
    for namespace in of_slices {
        for verb in WRITES {
            if may(&client, verb, names::PLACEMENT_PLURAL, &namespace).await {
                let (namespace, verb) = (namespace.clone(), verb.to_owned());
                access.writes.insert(AllowedWrite { namespace, verb });
            }
        }
    }
    for namespace in of_references {
        let readable = may(&client, "get", names::PLURAL, &namespace).await;
        access.profiles.push(ReadableNamespace { namespace, readable });
    }
    access
}

async fn may(client: &Client, verb: &str, resource: &str, namespace: &str) -> bool {
    let attributes =
        json!({"verb": verb, "group": names::GROUP, "resource": resource, "namespace": namespace});
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    });
    let request = http::Request::post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")
        .header("Content-Type", "application/json")
        .body(review.to_string().into_bytes())
        .expect("a request");
    let answer: Value = client.request(request).await.expect("an answer");
    answer["status"]["allowed"] == true
}

/// The writes of slices in the lab's audit log.
fn requests(hub: &Hub, covers: Window) -> Requests {
    let log = hub.as_lab().expect("the lab").audit_events();
    let mut versions = std::collections::BTreeMap::new();
    let events = log.iter().filter_map(|event| {
        let (verb, object) = (event["verb"].as_str()?, &event["objectRef"]);
        if object["resource"] != names::PLACEMENT_PLURAL || !WRITES.contains(&verb) {
            return None;
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let body = &event["requestObject"];
        let name = [&object["name"], &body["metadata"]["name"]].map(text);
        let name = name.into_iter().find(|name| !name.is_empty()).unwrap_or_default();
        let user = [&event["impersonatedUser"], &event["user"]].map(|user| text(&user["username"]));
        let user = user.into_iter().find(|user| !user.is_empty()).unwrap_or_default();
        let after = text(&event["responseObject"]["metadata"]["resourceVersion"]);
        let before = versions.insert(name.clone(), after.clone());
        Some(Request {
            at: event["requestReceivedTimestamp"].as_str()?.parse().ok()?,
            verb: verb.into(),
            user: user.into(),
            user_agent: text(&event["userAgent"]).into(),
            namespace: text(&object["namespace"]).into(),
            name: name.into(),
            subresource: "".into(),
            code: u16::try_from(event["responseStatus"]["code"].as_u64()?).ok()?,
            dry_run: false,
            changed: Some(verb == "delete" || before != Some(after)),
            body: Some(RequestBody {
                parts: parts(body),
                ..RequestBody::default()
            }),
        })
    });
    let mut events: Vec<Request> = events.collect();
    events.sort_by_key(|event| event.at);
    Requests { covers, events }
}

/// The parts of a body, and the keys of the references in it.
fn parts(body: &Value) -> Vec<String> {
    let keys = |value: &Value| -> Vec<String> {
        let fields = value.as_object().into_iter().flatten();
        fields.map(|(key, _)| key.clone()).collect()
    };
    let mut parts: Vec<String> = keys(body);
    parts.extend(
        keys(&body["metadata"])
            .iter()
            .map(|key| format!("metadata.{key}")),
    );
    let decisions = body["decisions"].as_array().into_iter().flatten();
    for decision in decisions {
        let sent = keys(&decision["clusterProfileRef"]);
        parts.extend(
            sent.iter()
                .map(|key| format!("decisions.clusterProfileRef.{key}")),
        );
    }
    parts.retain(|part| part != "metadata");
    parts.sort();
    parts.dedup();
    parts
}
