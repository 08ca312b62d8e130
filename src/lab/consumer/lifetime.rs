//! The consumer's life, and its testbed.

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
use k8s_openapi::api::core::v1::Namespace;
use kube::api::ApiResource;
use serde_json::json;

use super::{
    connect::{API_VERSION, Connector},
    controller::Controller,
    faults::Fault,
    hooks::{ConsumerHooks, Life, Orders, hooks},
    log::Lines,
    names::{CONSUMER, DECISION, NAMESPACES, OUTPUTS, PROVIDER, UNSELECTED},
    world::{Habits, World},
};
use crate::{
    client::{Hub, RequestError, Target},
    crd::{CustomResourceDefinition, cluster_profile, lax, placement_decision},
    testbed::WithinProcess,
};

/// How long it may take to call a control.
const PATIENCE: Duration = Duration::from_secs(60);

/// The definitions of a hub for it: those of a hub that has stored what others refuse, and of decisions, which it may read.
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

    /// Makes a consumer with these faults; with none it conforms. What happens to its members is told by `clock`.
    pub fn new(faults: Vec<Fault>, clock: Clock) -> Self {
        Self::with_habits(Habits::default(), faults, clock)
    }

    /// Makes one that is honest in another way.
    pub fn with_habits(habits: Habits, faults: Vec<Fault>, clock: Clock) -> Self {
        let mut world = World::of(habits);
        for fault in faults {
            fault.apply(&mut world);
        }
        let calls = Arc::new(Calls::new(clock));
        let (hooks, orders) = hooks();
        Self {
            hooks: Arc::new(hooks),
            orders,
            world,
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
                profile_args: self.world.claims_additions(),
                profile_envs: self.world.claims_additions(),
                one_shot: false,
                actions_conflict: !self.world.habits.repeats_itself,
                gates_on_health: !self.world.habits.shows_the_sick,
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

    /// Runs, but for when hooks have stopped it. It never ends by itself: abort it.
    ///
    /// # Errors
    /// When the hub refuses a request, or cannot be reached for about a minute.
    pub async fn run(mut self, client: kube::Client) -> Result<(), RequestError> {
        let hub = Hub::new(client);
        let mut kept = BTreeMap::new();
        loop {
            let log = self.log.clone();
            let connector = Connector::new(Arc::clone(&self.calls), Arc::clone(&self.members), log.clone());
            let mut controller = Controller::new(hub.clone(), self.world.clone(), connector, log, kept);
            tokio::select! {
                biased;
                () = self.orders.are(|life| life != Life::Running) => {}
                ended = controller.run() => return ended,
            }
            kept = controller.kept();
            if self.orders.are_to_uninstall() {
                controller.uninstall().await?;
            }
            self.orders.follow();
            self.orders.are(|life| life == Life::Running).await;
            self.orders.follow();
        }
    }
}
