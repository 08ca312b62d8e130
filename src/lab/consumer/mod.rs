//! The reference consumer: a small, honest consumer that reads ClusterProfiles and calls their members.
//!
//! It watches the profiles of two namespaces, runs the credential plugin of the provider that it knows, connects to the
//! member, and checks its health from time to time. Of several profiles of one member it acts on the oldest. A [`Fault`]
//! makes it break one rule; [`Habits`] make it another honest consumer.

mod connect;
mod controller;
mod outputs;
mod placements;
mod selection;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use collect::{
    clock::Clock,
    driver::new_run_id,
    testbed::{Calls, OutputPlace, TestbedPlan},
};
use connect::{API_VERSION, Access, Connector};
use controller::ConsumerController;
use evidence::{ConsumerSpec, DriverAction, OutputReader, Reads, api::Role};
use futures::future::try_join_all;
use outputs::Lines;
use tokio::time::sleep;

pub use crate::{
    client::RequestError as ConsumerError,
    fault::{Fault, FaultInfo},
};
use crate::{
    client::{HubClient, RequestError},
    crd::{CustomResourceDefinition, cluster_profile, lax, placement_decision},
    driver::{Orders, ReferenceHooks, Remote, remote},
    fault::Faults,
    testbed::WithinProcess,
};

/// The consumer's name: its user and its field manager.
const CONSUMER: &str = "reference-consumer";
/// The namespaces whose profiles it reads.
const NAMESPACES: [&str; 2] = ["lab-consumer", "lab-consumer-b"];
/// A namespace whose profiles it does not read.
const UNSELECTED: &str = "lab-elsewhere";
/// The key of the decision that it reads, if it reads any.
const DECISION: &str = "web";
/// The provider for which it has a plugin.
const PROVIDER: &str = "recorder";
/// The namespace of its outputs.
const OUTPUTS: &str = "lab-argocd";
/// How long it may take to call a control.
const PATIENCE: Duration = Duration::from_secs(60);

/// The definitions of its hub: a ClusterProfile that accepts malformed objects, and PlacementDecision.
pub fn hub_definitions() -> Vec<CustomResourceDefinition> {
    vec![lax(cluster_profile()), placement_decision()]
}

/// The reference consumer.
pub struct Consumer {
    world: ConsumerWorld,
    clock: Clock,
    calls: Arc<Calls>,
    members: Arc<WithinProcess>,
    log: Lines,
    remote: Remote,
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
        let (remote, orders) = remote();
        let faults = Faults::new(faults);
        Self {
            world: ConsumerWorld { habits, faults },
            clock,
            members: Arc::new(WithinProcess::new(Arc::clone(&calls))),
            calls,
            log: Lines::default(),
            remote,
            orders,
        }
    }

    /// The testbed on which it is judged.
    pub fn testbed(&self) -> TestbedPlan {
        let reads_placements = self.world.reads_placements();
        let hooks = ReferenceHooks::new([(Role::Consumer, self.remote.clone())], self.clock);
        TestbedPlan {
            run: new_run_id(),
            claims: ConsumerSpec {
                user: CONSUMER.to_owned(),
                namespaces: NAMESPACES.map(str::to_owned).into(),
                labels: BTreeMap::new(),
                reads: reads_placements
                    .then_some(Reads::Placements)
                    .into_iter()
                    .collect(),
                decision: reads_placements.then(|| DECISION.to_owned()),
                providers: [PROVIDER.to_owned()].into(),
                exec_api_version: Some(API_VERSION.to_owned()),
                fallback: None,
                profile_args: self.world.claims_profile_args(),
                profile_envs: self.world.claims_profile_args(),
                one_shot: false,
                outputs_only: false,
                actions_conflict: !self.world.habits.acts_on_duplicates,
                gates_on_health: !self.world.habits.calls_unhealthy,
                rolls_out: self.world.habits.rolls_out,
                outputs: [OutputReader::Argocd].into(),
            },
            unselected: Some(UNSELECTED.to_owned()),
            outputs: vec![OutputPlace::Argocd {
                namespace: OUTPUTS.to_owned(),
            }],
            members: Arc::<WithinProcess>::clone(&self.members),
            calls: Arc::clone(&self.calls),
            log: Some(self.log.reader()),
            hooks: Arc::new(hooks),
            recorder: None,
            patience: PATIENCE,
            journal: Arc::default(),
        }
    }

    /// Creates its namespaces, one that it does not read, and one for its outputs.
    ///
    /// # Errors
    /// When the hub refuses that.
    pub async fn set_up(&self, client: &kube::Client) -> Result<(), RequestError> {
        let hub = HubClient::new(client.clone());
        for name in NAMESPACES.into_iter().chain([UNSELECTED, OUTPUTS]) {
            hub.create_namespace(name, CONSUMER, &BTreeMap::new()).await?;
        }
        Ok(())
    }

    /// Runs except while hooks have stopped it. It never ends by itself: abort it.
    ///
    /// # Errors
    /// When the hub refuses a request, or cannot be reached for about a minute.
    pub async fn run(mut self, client: kube::Client) -> Result<(), RequestError> {
        let hub = HubClient::new(client);
        let mut crash = self.world.habits.crash;
        let mut previous = BTreeMap::new();
        loop {
            let mut replicas = self.replicas(&hub, &previous);
            let runs = replicas.iter_mut().map(ConsumerController::run);
            let (order, confirm) = tokio::select! {
                biased;
                Some(received) = self.orders.recv() => received,
                ended = try_join_all(runs) => return ended.map(drop),
                down_for = crash_in(crash) => {
                    crash = None;
                    drop(replicas);
                    sleep(down_for).await;
                    continue;
                }
            };
            previous = replicas[0].previous();
            if order.action == DriverAction::Uninstall {
                replicas[0].uninstall().await?;
            }
            drop(replicas);
            let _ = confirm.send(());
            // Stopped, until the order to start.
            while let Some((order, confirm)) = self.orders.recv().await {
                let _ = confirm.send(());
                if order.action == DriverAction::Start {
                    break;
                }
            }
        }
    }

    /// Its replicas; at least one.
    fn replicas(&self, hub: &HubClient, previous: &BTreeMap<String, Access>) -> Vec<ConsumerController> {
        let replica = |_| {
            let log = self.log.clone();
            let connector = Connector::new(Arc::clone(&self.calls), Arc::clone(&self.members), log.clone());
            ConsumerController::new(hub.clone(), self.world.clone(), connector, log, previous.clone())
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

/// The habits of an honest consumer. None of them is wrong.
#[derive(Clone, Debug, Default)]
pub struct Habits {
    /// Calls its members over new connections from time to time, instead of watching them.
    pub polls: Option<Polling>,
    /// Works on one profile after the other, each for this long.
    pub work_time: Duration,
    /// Needs no `work_time` from this time on, counted from its start.
    pub is_fast_after: Option<Duration>,
    /// Sends so many further requests to a member each time it checks it.
    pub extra_requests: usize,
    /// Keeps connections and uses them again, as an HTTP client does.
    pub pools_connections: bool,
    /// Runs so many further replicas, all of them active.
    pub further_replicas: usize,
    /// Crashes once.
    pub crash: Option<Crash>,
    /// Keeps its last state of a profile that it cannot read.
    pub keeps_last_known_good: bool,
    /// Calls no member; it only writes outputs.
    pub calls_no_member: bool,
    /// Calls unhealthy members as well.
    pub calls_unhealthy: bool,
    /// Acts on each profile of a member.
    pub acts_on_duplicates: bool,
    /// Passes no arguments and variables of profiles to the plugin.
    pub drops_profile_args: bool,
    /// Reports the profiles that it passes over in events instead of its log.
    pub warns_by_events: bool,
    /// Sets a finalizer on each profile that it acts on.
    pub finalizes: bool,
    /// Acts only on the profiles that its decision names.
    pub reads_placements: bool,
    /// Acts on the slices of its decision in waves.
    pub rolls_out: bool,
}

/// How a consumer polls.
#[derive(Clone, Copy, Debug)]
pub struct Polling {
    /// The shortest time between two calls of a member.
    pub interval: Duration,
    /// How much longer that time may be.
    pub jitter: Duration,
}

/// A crash.
#[derive(Clone, Copy, Debug)]
pub struct Crash {
    /// When, counted from its start.
    pub after: Duration,
    /// How long it is down.
    pub down_for: Duration,
}

/// The behavior of a consumer.
#[derive(Clone, Debug)]
struct ConsumerWorld {
    pub habits: Habits,
    pub faults: Faults,
}

impl ConsumerWorld {
    /// True if it has the fault of that id.
    pub fn has(&self, fault: &str) -> bool {
        self.faults.has(fault)
    }

    /// Whether it acts only on the profiles that its decision names. Only such a consumer shows faults about decisions.
    pub fn reads_placements(&self) -> bool {
        self.habits.reads_placements || self.faults.ids().any(|id| id.starts_with("consumer-placement/"))
    }

    /// Whether it passes arguments and variables of profiles to the plugin.
    pub fn passes_profile_args(&self) -> bool {
        self.claims_profile_args() || self.has("consumer-exec/profile-args-off-by-default")
    }

    /// Whether it claims that it does.
    pub fn claims_profile_args(&self) -> bool {
        !self.habits.drops_profile_args && !self.has("consumer-exec/profile-args-off-by-default")
    }
}
