//! The lab's scheduler, driven: what the run asks of it, what it writes, and how all of it is taken back.

use collect::driver::{Call, Called, Hooks};
use evidence::{
    ObjectKey, PlacementRequest,
    api::{Edition, Role},
};
use lab::{
    manager::{self, ReferenceHooks},
    scheduler::{self, Fault},
};

use super::*;

/// How the hooks, and the scheduler, differ from those that do everything right.
#[derive(Clone, Debug, Default)]
pub(super) struct Ways {
    /// The scheduler gets other names of placements, so that its slices do not mention the run's. The hook `place` tells
    /// the key.
    tells_key_only: bool,
    /// The hook `unplace` fails so many times.
    clings: usize,
    /// The scheduler selects from the manager's members alone, and the run judges nothing else.
    on_members: bool,
    /// A fault of the lab's.
    fault: Option<&'static str>,
}

/// A scheduler that is driven. The members are the manager's.
pub(super) struct Scheduler {
    admin: Client,
    manager: Manager,
    hooks: Arc<PlacementHooks>,
    life: Life,
}

/// The hooks of both, and which placements they were asked for.
struct PlacementHooks {
    manager: Arc<ManagerHooks>,
    ways: Ways,
    reference: ReferenceHooks,
    calls: Mutex<Vec<String>>,
}

/// A hub that serves what the lab's scheduler needs.
pub(super) async fn world() -> World {
    World::with(&scheduler::hub_definitions(&[])).await
}

impl Scheduler {
    pub(super) async fn new(world: &World, ways: Ways) -> Self {
        let faults = ways.fault.iter().map(|id| Fault::parse(id).expect("a fault"));
        let make = if ways.on_members {
            scheduler::Scheduler::of_fleet
        } else {
            scheduler::Scheduler::new
        };
        let mut scheduler = make(faults.collect(), world.clock);
        let client = world.server.client(scheduler::Scheduler::NAME);
        scheduler.set_up(&client).await.expect("set up");
        let manager = Manager::new(world, Habits::default()).await;
        let hooks = PlacementHooks {
            manager: manager.hooks.clone(),
            ways,
            reference: ReferenceHooks::new([(Role::Scheduler, scheduler.remote())], world.clock),
            calls: Mutex::default(),
        };
        Self {
            admin: world.admin.clone(),
            manager,
            hooks: Arc::new(hooks),
            life: Life::of(scheduler.run(client)),
        }
    }

    /// The objects of that plural that name the run.
    async fn of_the_run(&self, plural: &str) -> Vec<String> {
        let path = format!("/apis/multicluster.x-k8s.io/v1alpha1/{plural}");
        let list = send(&self.admin, Method::GET, &path, None).await.expect("a list");
        let objects = list["items"].as_array().expect("items").iter();
        let names = objects.filter_map(|object| object["metadata"]["name"].as_str());
        let named = names.filter(|name| name.contains("conformance-t-"));
        named.map(str::to_owned).collect()
    }
}

impl PlacementHooks {
    /// The key of a placement's decision.
    fn key(&self, placement: &str) -> String {
        match placement.rsplit_once('-') {
            Some((_, number)) if self.ways.tells_key_only => format!("k{number}"),
            _ => placement.to_owned(),
        }
    }

    /// Notes a call. Returns how many of that action there were before.
    fn note(&self, action: DriverAction, placement: &PlacementRequest) -> usize {
        let mut calls = self.calls.lock().expect("no panic");
        let before = calls
            .iter()
            .filter(|call| call.starts_with(&format!("{action} ")));
        let before = before.count();
        calls.push(format!("{action} {} {}", placement.name, placement.clusters));
        before
    }

    async fn act(&self, call: &Call<'_>, placement: &PlacementRequest, stop: CancellationToken) -> Called {
        let before = self.note(call.action, placement);
        if call.action == DriverAction::Unplace && before < self.ways.clings {
            return Called::failed("it does not let go");
        }
        let key = self.key(&placement.name);
        let renamed = PlacementRequest {
            name: key.clone(),
            ..placement.clone()
        };
        let call = Call {
            placement: Some(&renamed),
            ..call.clone()
        };
        let called = self.reference.call(&call, stop).await;
        Called {
            decision: self.ways.tells_key_only.then(|| ObjectKey {
                namespace: scheduler::Scheduler::NAMESPACE.to_owned(),
                name: key,
            }),
            ..called
        }
    }
}

impl Hooks for PlacementHooks {
    fn lacking(&self, _: DriverAction) -> Option<String> {
        None
    }

    fn call<'a>(&'a self, call: &'a Call<'a>, stop: CancellationToken) -> BoxFuture<'a, Called> {
        match (call.placement, call.action) {
            (Some(placement), _) => self.act(call, placement, stop).boxed(),
            (None, DriverAction::Restart) => self.reference.call(call, stop),
            (None, _) => self.manager.call(call, stop),
        }
    }
}

pub(super) fn on_members() -> Ways {
    Ways {
        on_members: true,
        ..Ways::default()
    }
}

/// A plan for the scheduler, on members that the manager offers where they are missing.
pub(super) fn placing(scheduler: &Scheduler) -> Plan {
    let mut plan = driving(&scheduler.manager);
    plan.claim.edition = Edition::Placement2025M09;
    if scheduler.hooks.ways.on_members {
        let namespaces = [manager::Manager::NAMESPACE, scheduler::Scheduler::NAMESPACE];
        plan.scope.namespaces = namespaces.map(str::to_owned).into();
    }
    let driver = plan.driver.as_mut().expect("a driver");
    // A hundred members join within seconds.
    driver.scale = Some(Scale {
        members: 6,
        at_once: 20,
    });
    driver.hooks = scheduler.hooks.clone();
    plan
}

pub(super) async fn run_scheduler(
    world: &World,
    scheduler: &Scheduler,
    plan: &Plan,
    stop: impl Future<Output = ()>,
) -> Seen {
    select! {
        seen = run_until(world, &scheduler.manager, plan, stop) => seen,
        never = scheduler.life.live() => match never {},
    }
}

#[tokio::test(start_paused = true)]
async fn fake_members_fill_the_inventory_and_everything_is_taken_back() {
    let world = world().await;
    let scheduler = Scheduler::new(&world, on_members()).await;
    let seen = run_scheduler(&world, &scheduler, &placing(&scheduler), future::pending()).await;
    let driver = seen.driver();
    assert!(driver.lacking.is_empty(), "{:?}", driver.lacking);
    for step in &driver.steps {
        assert_eq!(step.outcome, StepOutcome::Done, "{step:?}");
        let waits = matches!(
            step.action,
            DriverAction::Restart | DriverAction::PutForeignSlice | DriverAction::Join
        );
        assert!(waits || took(step) < 20, "{step:?}");
    }
    // 101, and three to spare: what one scenario has let join another one counts too.
    let most = seen.evidence.profiles.len();
    assert!((104..=107).contains(&most), "{most}");
    let asked = |scenario| -> Vec<(DriverAction, usize)> {
        let steps = driver.steps.iter().filter(|step| step.scenario == scenario);
        let asked = steps.filter_map(|step| Some((step.action, step.placement.as_ref()?.clusters)));
        asked.collect()
    };
    assert_eq!(
        asked(Scenario::SliceLimit),
        [
            (DriverAction::Place, 100),
            (DriverAction::Reschedule, 101),
            (DriverAction::Reschedule, 100),
            (DriverAction::Unplace, 100),
        ]
    );
    let few: Vec<DriverAction> = asked(Scenario::Placement)
        .iter()
        .map(|(action, _)| *action)
        .collect();
    assert_eq!(
        few,
        [
            DriverAction::Place,
            DriverAction::DeleteSlice,
            DriverAction::EmptySlice,
            DriverAction::Reschedule,
            DriverAction::Unplace,
        ]
    );
    // The run wrote to one decision and to a slice of its own, and to no profile.
    let tampered = &driver
        .steps_of(DriverAction::DeleteSlice)
        .next()
        .expect("a step")
        .slice;
    let tampered = tampered.as_ref().expect("a slice");
    let touched: Vec<&str> = driver
        .touched_slices
        .iter()
        .map(|key| key.name.as_str())
        .collect();
    assert_eq!(touched, ["conformance-t-foreign", tampered.name.as_str()]);
    assert!(driver.touched.is_empty());
    assert_eq!(scheduler.of_the_run("placementdecisions").await, [""; 0]);
    assert_eq!(scheduler.of_the_run("clusterprofiles").await, [""; 0]);
    assert_eq!(seen.warnings, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_stopped_takes_everything_back() {
    // With a placement of one slice, and after the restart.
    for seconds in [30, 200] {
        let world = world().await;
        let folder = tempfile::tempdir().expect("a folder");
        let scheduler = Scheduler::new(&world, on_members()).await;
        let mut plan = placing(&scheduler);
        let driver = plan.driver.as_mut().expect("a driver");
        driver.journal = super::safety::journal(folder.path(), &world).into();
        run_scheduler(&world, &scheduler, &plan, after(seconds)).await;
        assert_eq!(scheduler.manager.joined(), [].into(), "stopped after {seconds} s");
        assert_eq!(
            scheduler.of_the_run("placementdecisions").await,
            [""; 0],
            "stopped after {seconds} s"
        );
        drop(plan);
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_placement_that_is_not_taken_back_stays_written_down() {
    for (clings, remains) in [(1, false), (usize::MAX, true)] {
        let world = world().await;
        let folder = tempfile::tempdir().expect("a folder");
        let ways = Ways {
            clings,
            ..Ways::default()
        };
        let scheduler = Scheduler::new(&world, ways).await;
        let mut plan = placing(&scheduler);
        let driver = plan.driver.as_mut().expect("a driver");
        driver.journal = super::safety::journal(folder.path(), &world).into();
        let seen = run_scheduler(&world, &scheduler, &plan, future::pending()).await;
        let said = seen.warnings.join("\n");
        assert!(said.contains("failed to unplace"), "{said}");
        let is_left = said.contains("failed to call the hook `unplace` for conformance-t-1");
        assert_eq!(is_left, remains, "{said}");
        drop(plan);
        let left = std::fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(left, usize::from(remains));
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_that_the_hook_tells_is_enough() {
    let world = world().await;
    let ways = Ways {
        tells_key_only: true,
        ..Ways::default()
    };
    let scheduler = Scheduler::new(&world, ways).await;
    let seen = run_scheduler(&world, &scheduler, &placing(&scheduler), future::pending()).await;
    for action in [
        DriverAction::Place,
        DriverAction::Reschedule,
        DriverAction::EmptySlice,
    ] {
        for step in seen.driver().steps_of(action) {
            assert_eq!(step.outcome, StepOutcome::Done, "{step:?}");
            assert!(took(step) < 20, "{step:?}");
            assert!(
                step.placement
                    .as_ref()
                    .is_some_and(|placement| placement.decision.is_some())
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_late_decision_is_waited_for() {
    let world = world().await;
    let ways = Ways {
        fault: Some("placement-lifecycle/placed"),
        ..Ways::default()
    };
    let scheduler = Scheduler::new(&world, ways).await;
    let seen = run_scheduler(&world, &scheduler, &placing(&scheduler), future::pending()).await;
    let place = seen.step(Scenario::Placement, DriverAction::Place);
    assert!((240..250).contains(&took(place)), "{place:?}");
    assert_eq!(
        seen.steps(Scenario::SliceLimit, DriverAction::Reschedule).len(),
        2
    );
}

#[tokio::test(start_paused = true)]
async fn a_runner_that_may_not_write_slices_is_told_which() {
    let rule = |verbs: &[&str], resource| refusals::rule(verbs, "multicluster.x-k8s.io", resource, "*");
    let rules = vec![
        rule(&["get", "list", "watch"], "clusterprofiles"),
        rule(&["get", "list", "watch", "patch"], "placementdecisions"),
    ];
    let world = world().await.with_rules(rules);
    let scheduler = Scheduler::new(&world, Ways::default()).await;
    let seen = run_scheduler(&world, &scheduler, &placing(&scheduler), future::pending()).await;
    let lacking = &seen.driver().lacking;
    assert_eq!(
        lacking[&DriverAction::DeleteSlice],
        "the runner may not delete placementdecisions: grant delete on placementdecisions"
    );
    assert!(lacking[&DriverAction::PutForeignSlice].contains("may not create placementdecisions"));
    assert!(!lacking.contains_key(&DriverAction::EmptySlice));
    assert_eq!(seen.driver().touched_slices.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn hooks_for_placements_are_not_used_where_only_profiles_are_judged() {
    let world = world().await;
    let scheduler = Scheduler::new(&world, on_members()).await;
    let mut plan = placing(&scheduler);
    plan.claim.edition = Edition::Standard;
    let seen = run_scheduler(&world, &scheduler, &plan, future::pending()).await;
    assert_eq!(
        scheduler.hooks.calls.lock().expect("no panic").as_slice(),
        [""; 0]
    );
    let driver = seen.driver();
    assert!(driver.able.iter().all(|action| !action.is_on_placements()));
    assert_eq!(driver.touched_slices.len(), 0);
}
