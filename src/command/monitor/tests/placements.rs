//! A monitor of placement decisions.

use evidence::api::Role;
use kube::api::DeleteParams;
use lab::scheduler::{Fault, Scheduler, hub_definitions};
use rstest::rstest;

use super::*;
use crate::command::flags::roles;

/// The script of the scheduler ends before.
const SCRIPT: u64 = 18 * 60;

impl World {
    pub(super) async fn with_placements(faults: &[Fault]) -> Self {
        let clock = Clock::system();
        let hub = Hub::lab_with(clock, &hub_definitions(faults))
            .await
            .expect("a hub");
        Self { hub, clock }
    }

    pub(super) fn monitor_of(&self, roles: &[Role]) -> Monitor {
        let mut claim = Claim::default();
        roles::apply(roles, None, &mut claim).expect("an edition");
        let mut monitor = self.monitor();
        monitor.shared = Arc::new(Shared::new(self.clock, &claim));
        monitor.settings.plan = plan(claim, Scope::default(), None);
        monitor
    }

    /// Runs a monitor beside a scheduler with these faults.
    async fn run_beside_scheduler(
        &self,
        faults: Vec<Fault>,
        monitor: Monitor,
        seen: impl Future<Output = ()>,
    ) {
        let client = self
            .hub
            .client_as(Scheduler::NAME, Scheduler::NAME)
            .expect("a client");
        let mut scheduler = Scheduler::new(faults, self.clock);
        scheduler.set_up(&client).await.expect("set up");
        let events = async {
            tokio::select! {
                () = seen => {}
                ended = scheduler.run(client) => panic!("{ended:?}"),
            }
        };
        self.run(monitor, events).await;
    }

    fn slices(&self) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("multicluster.x-k8s.io", "v1alpha1", "PlacementDecision");
        let client = self.hub.client_as("admin", "m").expect("a client");
        Api::namespaced_with(client, "default", &ApiResource::from_gvk(&kind))
    }

    /// Creates a slice, which names that scheduler.
    async fn create_slice(&self, scheduler: Option<&str>) {
        let mut slice = json!({
            "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "PlacementDecision",
            "metadata": {"name": "s"}, "decisions": [],
        });
        if let Some(scheduler) = scheduler {
            slice["schedulerName"] = scheduler.into();
        }
        let slice = serde_json::from_value(slice).expect("a slice");
        let created = self.slices().create(&PostParams::default(), &slice).await;
        created.expect("created");
    }
}

/// How many findings a rule has on the slices of that namespace; none if it has no series.
async fn of_slices(shared: &Shared, namespace: &str, level: &str, rule: &str) -> Option<f64> {
    // A slice has no cluster manager.
    let owner = format!("cluster_manager=\"\",inventory_namespace=\"{namespace}\"");
    // Without a scheduler that is named, findings of all levels are hints: nothing fails.
    value(
        shared,
        &format!("findings{{{owner},level=\"{level}\",rule=\"{rule}\",verdict=\"warn\"}}"),
    )
    .await
}

#[tokio::test(start_paused = true)]
async fn a_conforming_scheduler_is_told_to_break_nothing() {
    let world = World::with_placements(&[]).await;
    let monitor = world.monitor_of(&[Role::Scheduler]);
    let shared = Arc::clone(&monitor.shared);
    let seen = async {
        after(SCRIPT).await;
        assert_eq!(get(&shared, "/readyz").await.0, StatusCode::OK);
        assert_eq!(
            value(&shared, "decision{decision=\"no-violation\"}").await,
            Some(1.0)
        );
        let (_, metrics) = get(&shared, "/metrics").await;
        assert!(
            metrics.contains("_build_info{edition=\"placement-2025-09\""),
            "{metrics}"
        );
        assert!(!metrics.contains("_findings{"), "{metrics}");
        assert!(!metrics.contains("rule=\"identity/"), "{metrics}");
        let passes = "level=\"MUST\",rule=\"placement-references/resolve\",verdict=\"pass\"";
        assert_eq!(
            value(&shared, &format!("rule_verdict{{{passes}}}")).await,
            Some(1.0)
        );
        let inventory = "cluster_manager=\"lab-inventory\",inventory_namespace=\"lab-edge-members\"";
        assert_eq!(
            value(&shared, &format!("profiles{{{inventory}}}")).await,
            Some(6.0)
        );
        let (status, page) = get(&shared, "/").await;
        assert_eq!(status, StatusCode::OK);
        assert!(page.contains("placement-references/resolve"));
    };
    world.run_beside_scheduler(Vec::new(), monitor, seen).await;
}

#[rstest]
#[case::of_a_slice("placement-slices/key-shared", "MUST")]
#[case::across_time("placement-references/resolve-across-time", "SHOULD")]
#[case::of_a_label("placement-labels/scheduler-stable", "SHOULD")]
#[tokio::test(start_paused = true)]
async fn a_fault_of_a_scheduler_is_a_series(#[case] id: &str, #[case] level: &str) {
    let fault = Fault::parse(id).expect("a fault");
    let world = World::with_placements(std::slice::from_ref(&fault)).await;
    let monitor = world.monitor_of(&[Role::Scheduler]);
    let shared = Arc::clone(&monitor.shared);
    let seen = async {
        after(SCRIPT).await;
        let findings = of_slices(&shared, Scheduler::NAMESPACE, level, id).await;
        assert!(findings >= Some(1.0), "{id}: {findings:?}");
        let (_, metrics) = get(&shared, "/metrics").await;
        let series = metrics.lines().filter(|line| line.contains("_findings{"));
        assert_eq!(series.count(), 1, "no other rule is broken: {metrics}");
        assert!(get(&shared, "/").await.1.contains(id));
    };
    world.run_beside_scheduler(vec![fault], monitor, seen).await;
}

/// Profiles and slices are judged by their own rules, beside each other.
#[tokio::test(start_paused = true)]
async fn a_slice_that_is_deleted_and_made_again_is_judged_anew() {
    let world = World::with_placements(&[]).await;
    world.profile("a", "other").await;
    let rule = "placement-labels/scheduler-named";
    let delete = async || {
        let deleted = world.slices().delete("s", &DeleteParams::default()).await;
        deleted.expect("deleted");
    };
    world.create_slice(None).await;
    let monitor = world.monitor_of(&[Role::Manager, Role::Scheduler]);
    let shared = Arc::clone(&monitor.shared);
    let seen = async {
        let of_slice = async || of_slices(&shared, "default", "SHOULD", rule).await;
        after(200).await;
        assert_eq!(of_slice().await, Some(1.0));
        assert_eq!(findings(&shared).await, Some(1.0), "of the profile");
        let (_, metrics) = get(&shared, "/metrics").await;
        assert!(
            metrics.contains("_build_info{edition=\"standard,placement-2025-09\""),
            "{metrics}"
        );
        delete().await;
        world.create_slice(Some("scheduler")).await;
        // As in a run: what broke the rule within the window did.
        after(200).await;
        assert_eq!(of_slice().await, Some(1.0));
        after(3700).await;
        assert_eq!(of_slice().await, None);
        assert_eq!(findings(&shared).await, Some(1.0));
        delete().await;
        world.create_slice(None).await;
        after(200).await;
        assert_eq!(of_slice().await, Some(1.0));
        delete().await;
        after(2 * 3600).await;
        assert_eq!(of_slice().await, None);
        assert_eq!(findings(&shared).await, Some(1.0));
        assert_eq!(value(&shared, "watch_gap_seconds_total").await, Some(0.0));
        // The profile alone is left within the window.
        assert_eq!(value(&shared, "versions").await, Some(1.0));
    };
    world.run(monitor, seen).await;
}
