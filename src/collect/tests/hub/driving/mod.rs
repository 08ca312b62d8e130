//! The lab's implementations, driven by a run, and what is seen of them.

mod manager;
mod namespace;
mod placements;
mod rights;
mod safety;
mod scenarios;
mod side_by_side;

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
};

use collect::{
    Progress,
    driver::{DriverFile, DriverPlan, Scale},
};
use evidence::{Driver, DriverAction, DriverStep, Scenario, StepOutcome};
use futures::{FutureExt as _, future::LocalBoxFuture};
use lab::manager::ManagerError;
use manager::{Habits, Manager};
use tokio::select;

use super::*;

/// How many seconds the manager gets for the last thing that it was asked: it confirms before it acts.
const LAST_ACT: u64 = 10;

/// An implementation of the lab, until it lives.
struct Life(Mutex<Option<LocalBoxFuture<'static, Result<(), ManagerError>>>>);

impl Life {
    fn of(running: impl Future<Output = Result<(), ManagerError>> + 'static) -> Self {
        Self(Mutex::new(Some(running.boxed_local())))
    }

    /// Lives until it is dropped, once.
    async fn live(&self) -> Infallible {
        let running = self.0.lock().expect("no panic").take();
        let ended = running.expect("it lives once").await;
        panic!("it ended: {ended:?}");
    }
}

/// Records the warnings of a run.
#[derive(Default)]
struct Warnings(Mutex<Vec<String>>);

impl Progress for Warnings {
    fn warn(&self, what: &str) {
        self.0.lock().expect("no panic").push(what.to_owned());
    }
}

/// A plan that does everything, with a fleet of three for the scale.
fn driving(manager: &Manager) -> Plan {
    let mut file = DriverFile::default();
    file.scale = Scale {
        members: Some(6),
        at_once: 2,
    };
    Plan {
        driver: Some(DriverPlan {
            run: "t".to_owned(),
            hooks: manager.hooks.clone(),
            offer: Some(manager.hooks.clone()),
            file,
            mutations: true,
            journal: Arc::default(),
        }),
        ..plan(60)
    }
}

/// The driver of a plan that has one.
fn driver_of(plan: &mut Plan) -> &mut DriverPlan {
    plan.driver.as_mut().expect("a driver")
}

/// What a run recorded, and its warnings.
struct Seen {
    evidence: Evidence,
    warnings: Vec<String>,
}

impl Seen {
    fn driver(&self) -> &Driver {
        self.evidence.driver.as_ref().expect("a driver")
    }

    /// All steps were taken.
    #[track_caller]
    fn assert_done(&self) {
        for step in &self.driver().steps {
            assert_eq!(step.outcome, StepOutcome::Done, "{step:?}");
        }
    }

    #[track_caller]
    fn assert_lacking(&self, action: DriverAction, reason: &str) {
        let known = &self.driver().unavailable_actions[&action];
        assert!(known.contains(reason), "{known}");
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
    let driven = async {
        let seen = drive(world, plan, stop).await;
        after(LAST_ACT).await;
        seen
    };
    select! {
        seen = driven => seen,
        never = manager.life.live() => match never {},
    }
}

/// Runs until `stop`, next to what lives.
async fn drive(world: &World, plan: &Plan, stop: impl Future<Output = ()>) -> Seen {
    let warnings = Warnings::default();
    let evidence = world.collect_and_report(plan, &warnings, async {}, stop).await;
    Seen {
        evidence: evidence.expect("evidence"),
        warnings: warnings.0.into_inner().expect("no panic"),
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
    step.observed_until.duration_since(step.until).as_secs()
}
