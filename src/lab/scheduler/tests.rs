use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use collect::clock::Clock;
use evidence::api::ClusterProfileReference;
use futures::StreamExt;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, WatchEvent, WatchParams};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{
    faults::{Fault, faults, hub_definitions},
    inventory::{MEMBERS, member},
    lifetime::Scheduler,
    names::PLACEMENTS,
    placement::Clusters,
    remote::Remote,
    script::minutes,
    selection::reference,
    slices::clusters_of,
    world::{FEW, LARGE, World},
};
use crate::{
    client::{profile_resource, slice_resource},
    fault::HubChange,
    hub::Hub,
};

/// Longer than the scheduler takes to react.
const A_WHILE: Duration = Duration::from_secs(20);

/// A hub with the scheduler on it.
struct Stage {
    hub: Hub,
    remote: Remote,
    slices: Api<DynamicObject>,
}

/// Runs `test` while the scheduler runs.
async fn with_scheduler(faults: &[&str], test: impl AsyncFnOnce(&Stage)) {
    let clock = Clock::system();
    let faults: Vec<Fault> = faults.iter().map(|id| Fault::parse(id).unwrap()).collect();
    let hub = Hub::lab_with(clock, &hub_definitions(&faults)).await.unwrap();
    hub.as_lab()
        .unwrap()
        .set_audit_level(apiserver::AuditLevel::RequestResponse);
    let client = hub.client_as(Scheduler::NAME, Scheduler::NAME).unwrap();
    let mut scheduler = Scheduler::new(faults, clock);
    scheduler.set_up(&client).await.unwrap();
    let stage = Stage {
        slices: Api::namespaced_with(hub.connection.client.clone(), PLACEMENTS, &slice_resource()),
        remote: scheduler.remote(),
        hub,
    };
    tokio::select! {
        () = test(&stage) => {}
        ended = scheduler.run(client) => panic!("it ended: {ended:?}"),
    }
}

impl Stage {
    /// The numbers of clusters in the slices of a workload, by index.
    async fn sizes(&self, workload: &str) -> Vec<usize> {
        let mut sizes = BTreeMap::new();
        for slice in self.of(workload).await {
            let index: usize =
                slice.metadata.labels.as_ref().unwrap()["multicluster.x-k8s.io/decision-index"]
                    .parse()
                    .unwrap();
            sizes.insert(index, clusters_of(&slice).count());
        }
        sizes.into_values().collect()
    }

    async fn of(&self, workload: &str) -> Vec<DynamicObject> {
        let selector = format!("multicluster.x-k8s.io/decision-key={workload}");
        self.slices
            .list(&ListParams::default().labels(&selector))
            .await
            .unwrap()
            .items
    }

    /// The writes of slices so far: verb, name and whether the slice changed.
    fn writes(&self) -> Vec<(String, String)> {
        let events = self.hub.as_lab().unwrap().audit_events();
        let of_slices = events.iter().filter(|event| {
            let (verb, object) = (event["verb"].as_str(), &event["objectRef"]);
            object["resource"] == "placementdecisions"
                && matches!(verb, Some("create" | "update" | "patch" | "delete"))
                && event["user"]["username"] == Scheduler::NAME
        });
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        of_slices
            .map(|event| {
                let version = text(&event["responseObject"]["metadata"]["resourceVersion"]);
                (text(&event["verb"]), version)
            })
            .collect()
    }
}

#[tokio::test(start_paused = true)]
async fn decisions_are_cut_into_slices_of_at_most_100() {
    with_scheduler(&[], async |stage| {
        sleep(A_WHILE).await;
        for (workload, sizes) in [
            ("none", vec![0]),
            ("few", vec![5]),
            ("full", vec![100]),
            ("large", vec![100, 10]),
            ("growing", vec![99]),
            ("at-the-edge", vec![3]),
        ] {
            assert_eq!(stage.sizes(workload).await, sizes, "{workload}");
        }
        sleep(minutes(5)).await;
        assert_eq!(stage.sizes("growing").await, [100, 1]);
        sleep(minutes(5)).await;
        assert_eq!(stage.sizes("growing").await, [100]);
        assert_eq!(stage.sizes("passing").await, [7]);
        sleep(minutes(5)).await;
        assert!(stage.of("passing").await.is_empty());
        let all = stage.slices.list(&ListParams::default()).await.unwrap();
        let named: BTreeSet<String> = all
            .iter()
            .flat_map(clusters_of)
            .map(|one| one.name.to_string())
            .collect();
        assert!(!named.contains(&member(5)), "it was deleted");
        assert!(!named.contains(&member(60)), "it was down");
    })
    .await;
}

/// Whoever judges the inventory, too, finds no fault in it.
#[tokio::test(start_paused = true)]
async fn a_cluster_that_goes_down_joined_when_it_did() {
    with_scheduler(&[], async |stage| {
        let profiles: Api<DynamicObject> =
            Api::namespaced_with(stage.hub.connection.client.clone(), MEMBERS, &profile_resource());
        let conditions = async || {
            let profile = profiles.get(&member(60)).await.unwrap();
            let of = |name: &str| {
                let conditions = profile.data["status"]["conditions"].as_array().unwrap();
                let condition = conditions.iter().find(|condition| condition["type"] == name);
                condition.unwrap().clone()
            };
            (of("ControlPlaneHealthy"), of("Joined"))
        };
        let (well, joined) = conditions().await;
        sleep(minutes(10)).await;
        let (down, still_joined) = conditions().await;
        assert_eq!(
            (&well["status"], &down["status"]),
            (&json!("True"), &json!("False"))
        );
        assert_ne!(well["lastTransitionTime"], down["lastTransitionTime"]);
        assert_eq!(joined, still_joined);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn no_cluster_is_in_no_slice_while_others_go_and_no_write_is_empty() {
    with_scheduler(&[], async |stage| {
        // A watch lasts for five minutes.
        sleep(minutes(5) + A_WHILE).await;
        let listed = stage.slices.list(&ListParams::default()).await.unwrap();
        let mut now: BTreeMap<String, Vec<ClusterProfileReference>> = BTreeMap::new();
        let is_of_large = |slice: &DynamicObject| slice.metadata.name.as_ref().unwrap().contains("-large-");
        for slice in listed.iter().filter(|slice| is_of_large(slice)) {
            now.insert(slice.metadata.name.clone().unwrap(), clusters_of(slice).collect());
        }
        let version = listed.metadata.resource_version.clone().unwrap();
        let mut events = stage
            .slices
            .watch(&WatchParams::default(), &version)
            .await
            .unwrap()
            .boxed();
        let stay: BTreeSet<_> = (0..110)
            .filter(|number| ![5, 60].contains(number))
            .map(member)
            .collect();
        let mut changes = 0;
        let watching = async {
            while let Some(Ok(event)) = events.next().await {
                if let WatchEvent::Modified(slice) = event
                    && is_of_large(&slice)
                {
                    changes += 1;
                    now.insert(
                        slice.metadata.name.clone().unwrap(),
                        clusters_of(&slice).collect(),
                    );
                    let named: BTreeSet<_> = now.values().flatten().map(|one| one.name.to_string()).collect();
                    let missing: Vec<_> = stay.difference(&named).collect();
                    assert!(missing.is_empty(), "{missing:?}");
                }
            }
        };
        let _ = tokio::time::timeout(minutes(4), watching).await;
        assert_eq!(changes, 4, "two clusters went, and each time both slices changed");
        let versions: Vec<_> = stage
            .writes()
            .into_iter()
            .filter(|(verb, _)| verb == "patch")
            .collect();
        let distinct: BTreeSet<_> = versions.iter().map(|(_, version)| version).collect();
        assert_eq!(
            distinct.len(),
            versions.len(),
            "a write changed nothing: {versions:?}"
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_restart_writes_nothing() {
    with_scheduler(&[], async |stage| {
        sleep(A_WHILE).await;
        let before = stage.writes().len();
        stage.remote.restart().await.unwrap();
        sleep(A_WHILE).await;
        assert_eq!(stage.writes().len(), before);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_remote_control_places_across_the_limit_and_back() {
    let these = |count: usize| {
        Clusters::These(
            (0..count)
                .map(|number| reference(MEMBERS, &member(number + 62)))
                .collect(),
        )
    };
    with_scheduler(&[], async |stage| {
        for (count, sizes) in [
            (100, vec![100]),
            (101, vec![100, 1]),
            (100, vec![100]),
            (0, vec![0]),
        ] {
            stage
                .remote
                .place(PLACEMENTS, "driven", these(count))
                .await
                .unwrap();
            sleep(A_WHILE).await;
            assert_eq!(stage.sizes("driven").await, sizes);
        }
        stage.remote.unplace(PLACEMENTS, "driven").await.unwrap();
        sleep(A_WHILE).await;
        assert!(stage.of("driven").await.is_empty());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_deleted_or_altered_slice_comes_back_and_foreign_ones_stay() {
    with_scheduler(&[], async |stage| {
        sleep(A_WHILE).await;
        let first = stage.of(FEW).await.remove(0);
        let name = first.metadata.name.clone().unwrap();
        stage
            .slices
            .delete(&name, &DeleteParams::default())
            .await
            .unwrap();
        sleep(A_WHILE).await;
        assert_eq!(stage.of(FEW).await[0].data, first.data);
        let tampered = Patch::Merge(json!({"decisions": [], "schedulerName": "other"}));
        stage
            .slices
            .patch(&name, &PatchParams::default(), &tampered)
            .await
            .unwrap();
        sleep(A_WHILE).await;
        assert_eq!(stage.of(FEW).await[0].data, first.data);

        // A name that the scheduler would take.
        let mut foreign = DynamicObject::new("reference-scheduler-driven-0", &slice_resource());
        foreign.data = json!({"schedulerName": "other", "decisions": []});
        stage.slices.create(&Default::default(), &foreign).await.unwrap();
        stage
            .remote
            .place(PLACEMENTS, "driven", Clusters::Count(3))
            .await
            .unwrap();
        sleep(A_WHILE).await;
        let there = stage.slices.get("reference-scheduler-driven-0").await.unwrap();
        assert_eq!(there.data["schedulerName"], "other");
        assert_eq!(there.data["decisions"], json!([]));
    })
    .await;
}

#[test]
fn fault_ids_are_unique_and_a_slip_gets_a_suggestion() {
    let ids: BTreeSet<&str> = faults().iter().map(|fault| fault.id).collect();
    assert_eq!(ids.len(), faults().len());
    for id in ids {
        assert_eq!(Fault::parse(id).unwrap().info().id, id);
    }
    let slip = Fault::parse("placement-slices/index-compleet").unwrap_err();
    assert_eq!(slip.nearest.as_deref(), Some("placement-slices/index-complete"));
}

/// Users combine faults: none may fail because another one removed something.
#[tokio::test(start_paused = true)]
async fn all_faults_at_once_run() {
    let ids: Vec<&str> = faults().iter().map(|fault| fault.id).collect();
    with_scheduler(&ids, async |_| sleep(minutes(16)).await).await;
}

#[test]
fn the_hub_lacks_only_what_a_fault_needs_gone() {
    let usual = crate::crd::all();
    let of = |change: HubChange| {
        let fault = faults().iter().find(|fault| fault.hub == change).unwrap();
        let mut definitions = hub_definitions(&[Fault::parse(fault.id).unwrap()]);
        definitions.pop();
        definitions
    };
    assert_eq!(of(HubChange::None), usual);
    for (change, gone) in [
        (HubChange::WithoutLimit, "maxItems: 100"),
        (HubChange::WithoutRequiredList, "- decisions"),
    ] {
        let changed = of(change);
        assert_eq!((&changed[0], &changed[2]), (&usual[0], &usual[2]));
        let text = crate::crd::to_yaml(&usual[1]);
        assert!(
            text.contains(gone) && !crate::crd::to_yaml(&changed[1]).contains(gone),
            "{change:?}"
        );
    }
}

#[test]
fn workloads_have_clusters_of_their_own_where_faults_need_quiet_ones() {
    let mut world = World::conforming();
    assert_eq!(world.placement(LARGE).skips, 0);
    assert!(
        world.placement(FEW).skips > 164,
        "beyond the clusters of the full slice"
    );
}
