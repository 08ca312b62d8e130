//! Sets the consumer up and runs it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use collect::{
    clock::Clock,
    driver::new_run_id,
    testbed::{Calls, OutputPlace, TestbedPlan},
};
use evidence::{ConsumerSpec, Reads};
use futures::future::try_join_all;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::ApiResource;
use serde_json::json;
use tokio::time::sleep;

use super::{
    access::Access,
    connect::{API_VERSION, Connector},
    controller::Controller,
    faults::Fault,
    hooks::{ConsumerHooks, Orders, RunState, hooks},
    log::Lines,
    names::{CONSUMER, DECISION, NAMESPACES, OUTPUTS, PROVIDER, UNSELECTED},
    world::{Crash, Habits, World},
};
use crate::{
    client::{Hub, RequestError, Target},
    crd::{CustomResourceDefinition, cluster_profile, lax, placement_decision},
    testbed::WithinProcess,
};

/// How long it may take to call a control.
const PATIENCE: Duration = Duration::from_secs(60);

/// The definitions of its hub: a ClusterProfile that accepts malformed objects, and PlacementDecision.
pub fn hub_definitions() -> Vec<CustomResourceDefinition> {
    vec![lax(cluster_profile()), placement_decision()]
}

/// The reference consumer.
pub struct Consumer {
    world: World,
    calls: Arc<Calls>,
    members: Arc<WithinProcess>,
    log: Lines,
    hooks: Arc<ConsumerHooks>,
    orders: Orders,
}

impl Consumer {
    /// Its name, as a user of the hub.
    pub const NAME: &str = CONSUMER;
    /// The first namespace whose profiles it reads.
    pub const NAMESPACE: &str = NAMESPACES[0];

    /// A consumer with these faults; with none it conforms. Its members record their calls by `clock`.
    pub fn new(faults: Vec<Fault>, clock: Clock) -> Self {
        Self::with_habits(Habits::default(), faults, clock)
    }

    /// A consumer with these habits and faults.
    pub fn with_habits(habits: Habits, faults: Vec<Fault>, clock: Clock) -> Self {
        let calls = Arc::new(Calls::new(clock));
        let (hooks, orders) = hooks();
        Self {
            hooks: Arc::new(hooks),
            orders,
            world: World::new(habits, &faults),
            members: Arc::new(WithinProcess::new(Arc::clone(&calls))),
            calls,
            log: Lines::default(),
        }
    }

    /// The testbed on which it is judged.
    pub fn testbed(&self) -> TestbedPlan {
        let reads_placements = self.world.reads_placements();
        TestbedPlan {
            run: new_run_id(),
            claims: ConsumerSpec {
                user: CONSUMER.to_owned(),
                namespaces: NAMESPACES.map(str::to_owned).into(),
                labels: BTreeMap::new(),
                reads: if reads_placements {
                    [Reads::Placements].into()
                } else {
                    BTreeSet::new()
                },
                decision: reads_placements.then(|| DECISION.to_owned()),
                providers: [PROVIDER.to_owned()].into(),
                exec_api_version: Some(API_VERSION.to_owned()),
                fallback: None,
                profile_args: self.world.claims_profile_args(),
                profile_envs: self.world.claims_profile_args(),
                one_shot: false,
                actions_conflict: !self.world.habits.acts_on_duplicates,
                gates_on_health: !self.world.habits.calls_unhealthy,
                rolls_out: self.world.habits.rolls_out,
                outputs: BTreeSet::new(),
            },
            unselected: Some(UNSELECTED.to_owned()),
            outputs: vec![OutputPlace::Argocd {
                namespace: OUTPUTS.to_owned(),
            }],
            members: Arc::<WithinProcess>::clone(&self.members),
            calls: Arc::clone(&self.calls),
            log: Some(Arc::new(self.log.clone())),
            hooks: Some(Arc::<ConsumerHooks>::clone(&self.hooks)),
            recorder: None,
            patience: PATIENCE,
            journal: None,
        }
    }

    /// Creates its namespaces, one that it does not read, and one for its outputs.
    ///
    /// # Errors
    /// When the hub refuses that.
    pub async fn set_up(&self, client: &kube::Client) -> Result<(), RequestError> {
        let hub = Hub::new(client.clone());
        for name in NAMESPACES.into_iter().chain([UNSELECTED, OUTPUTS]) {
            let target = Target {
                resource: ApiResource::erase::<Namespace>(&()),
                namespace: None,
                name: name.to_owned(),
            };
            let namespace = json!({"metadata": {"name": name}});
            hub.create(&target, CONSUMER, &namespace).await?;
        }
        Ok(())
    }

    /// Runs except while hooks have stopped it. It never ends by itself: abort it.
    ///
    /// # Errors
    /// When the hub refuses a request, or cannot be reached for about a minute.
    pub async fn run(mut self, client: kube::Client) -> Result<(), RequestError> {
        let hub = Hub::new(client);
        let mut crash = self.world.habits.crash;
        let mut kept = BTreeMap::new();
        loop {
            let mut replicas = self.replicas(&hub, &kept);
            let runs = replicas.iter_mut().map(Controller::run);
            tokio::select! {
                biased;
                () = self.orders.wait(|state| state != RunState::Running) => {}
                ended = try_join_all(runs) => return ended.map(drop),
                down_for = crash_in(crash) => {
                    crash = None;
                    drop(replicas);
                    sleep(down_for).await;
                    continue;
                }
            }
            kept = replicas[0].kept();
            if self.orders.is_uninstall() {
                replicas[0].uninstall().await?;
            }
            drop(replicas);
            self.orders.report();
            self.orders.wait(|state| state == RunState::Running).await;
            self.orders.report();
        }
    }

    /// Its replicas; at least one.
    fn replicas(&self, hub: &Hub, kept: &BTreeMap<String, Access>) -> Vec<Controller> {
        let replica = |_| {
            let log = self.log.clone();
            let connector = Connector::new(Arc::clone(&self.calls), Arc::clone(&self.members), log.clone());
            Controller::new(hub.clone(), self.world.clone(), connector, log, kept.clone())
        };
        (0..=self.world.habits.further_replicas).map(replica).collect()
    }
}

/// Waits for a crash. Returns how long the consumer is down.
async fn crash_in(crash: Option<Crash>) -> Duration {
    match crash {
        Some(crash) => {
            sleep(crash.after).await;
            crash.down_for
        }
        None => std::future::pending().await,
    }
}
