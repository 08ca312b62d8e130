//! The consumer's life, and its stage.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use collect::{
    clock::Clock,
    driver::new_run_id,
    stage::{Calls, StagePlan},
};
use evidence::ConsumerClaims;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::ApiResource;
use serde_json::json;

use super::{
    connect::Connector,
    controller::Controller,
    faults::Fault,
    names::{CONSUMER, NAMESPACE, PROVIDER},
    world::{Habits, World},
};
use crate::{
    client::{Hub, RequestError, Target},
    stage::WithinProcess,
};

/// How long it may take to call a control.
const PATIENCE: Duration = Duration::from_secs(60);

/// The reference consumer.
pub struct Consumer {
    world: World,
    calls: Arc<Calls>,
    members: Arc<WithinProcess>,
}

impl Consumer {
    /// Its name, as a user of the hub.
    pub const NAME: &str = CONSUMER;
    /// The namespace whose profiles it reads.
    pub const NAMESPACE: &str = NAMESPACE;

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
        Self {
            world,
            members: Arc::new(WithinProcess::new(Arc::clone(&calls))),
            calls,
        }
    }

    /// The stage on which it is judged.
    pub fn stage(&self) -> StagePlan {
        StagePlan {
            run: new_run_id(),
            claims: ConsumerClaims {
                user: CONSUMER.to_owned(),
                namespaces: [NAMESPACE.to_owned()].into(),
                labels: BTreeMap::new(),
                providers: [PROVIDER.to_owned()].into(),
                fallback: None,
                // The suite's definitions refuse a list of arguments.
                profile_args: false,
                profile_envs: true,
                one_shot: false,
                actions_conflict: false,
                gates_on_health: false,
            },
            unselected: None,
            members: Arc::<WithinProcess>::clone(&self.members),
            calls: Arc::clone(&self.calls),
            hooks: None,
            recorder: None,
            patience: PATIENCE,
            journal: None,
        }
    }

    /// Makes its namespace.
    ///
    /// # Errors
    /// When the hub refuses that.
    pub async fn set_up(&self, client: &kube::Client) -> Result<(), RequestError> {
        let target = Target {
            resource: ApiResource::erase::<Namespace>(&()),
            namespace: None,
            name: NAMESPACE.to_owned(),
        };
        let namespace = json!({"metadata": {"name": NAMESPACE}});
        let hub = Hub::new(client.clone());
        hub.create(&target, CONSUMER, &namespace).await.map(drop)
    }

    /// Runs. It never ends by itself: abort it.
    ///
    /// # Errors
    /// When the hub refuses a request, or cannot be reached for about a minute.
    pub async fn run(self, client: kube::Client) -> Result<(), RequestError> {
        let connector = Connector::new(self.calls, self.members);
        Controller::new(Hub::new(client), self.world, connector)
            .run()
            .await
    }
}
