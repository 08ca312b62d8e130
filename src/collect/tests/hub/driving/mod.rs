//! A manager that is driven, and what is seen of it.

mod manager;
mod placements;
mod safety;
mod scenarios;
mod side_by_side;

use std::sync::{Arc, Mutex};

use collect::{
    Progress,
    driver::{DriverPlan, Fleet, Patience, Scale},
};
use evidence::{Driver, DriverAction, DriverStep, Scenario, StepOutcome};
use manager::{Habits, Manager};
use tokio::select;

use super::*;

/// Remembers what people were told.
#[derive(Default)]
struct Ear {
    warnings: Mutex<Vec<String>>,
}

impl Progress for Ear {
    fn warn(&self, what: &str) {
        self.warnings.lock().expect("nobody panics").push(what.to_owned());
    }
}

/// A plan that does everything, with a fleet of three for the scale.
fn driving(manager: &Manager) -> Plan {
    Plan {
        driver: Some(DriverPlan {
            run: "t".to_owned(),
            hooks: Arc::new(manager.clone()),
            fleet: Fleet::StandIns(Arc::new(manager.clone())),
            patience: Patience::default(),
            scale: Some(Scale {
                members: 6,
                at_once: 2,
            }),
            mutations: true,
            journal: None,
        }),
        ..plan(60)
    }
}

/// What a run saw and told.
struct Seen {
    evidence: Evidence,
    warnings: Vec<String>,
}

impl Seen {
    fn driver(&self) -> &Driver {
        self.evidence.driver.as_ref().expect("a driver")
    }

    /// The steps of that action in that scenario.
    fn steps(&self, scenario: Scenario, action: DriverAction) -> Vec<&DriverStep> {
        let steps = self.driver().steps_of(action);
        steps.filter(|step| step.scenario == scenario).collect()
    }

    fn step(&self, scenario: Scenario, action: DriverAction) -> &DriverStep {
        let steps = self.steps(scenario, action);
        let [step] = steps[..] else {
            panic!("{action} of {scenario:?}: {steps:?}")
        };
        step
    }
}

/// Runs while the manager lives.
async fn run(world: &World, manager: &Manager, plan: &Plan) -> Seen {
    run_until(world, manager, plan, future::pending()).await
}

async fn run_until(world: &World, manager: &Manager, plan: &Plan, stop: impl Future<Output = ()>) -> Seen {
    let ear = Ear::default();
    let token = CancellationToken::new();
    let collecting = collect(&world.hub.connection, plan, world.clock, &ear, token.clone());
    let evidence = select! {
        evidence = cancel_after(stop, &token, collecting) => evidence.expect("evidence"),
        () = manager.live() => unreachable!("it never ends"),
    };
    Seen {
        evidence,
        warnings: ear.warnings.into_inner().expect("nobody panics"),
    }
}

/// Why a step was not taken.
fn reason(step: &DriverStep) -> &str {
    match &step.outcome {
        StepOutcome::Done => "",
        StepOutcome::Failed { reason } => reason,
    }
}

/// How long it took until the answer to a step was seen, in seconds.
fn took(step: &DriverStep) -> i64 {
    step.looked_until.duration_since(step.until).as_secs()
}
