//! The lab's scheduler, driven: what the run asks of it, what it writes, and how all of it is taken back.

use DriverAction::*;
use evidence::api::Edition;
use lab::{
    manager,
    scheduler::{self, Fault},
};

use super::{safety::JournalFolder, *};

/// A scheduler that is driven. The members are the manager's.
pub(super) struct Scheduler {
    admin: Client,
    manager: Manager,
    /// Whether it selects from the manager's members alone, and the run judges nothing else.
    is_on_members: bool,
    life: Life,
}

/// A hub that serves what the lab's scheduler needs.
pub(super) async fn world() -> World {
    World::with(&scheduler::hub_definitions(&[])).await
}

impl Scheduler {
    /// A scheduler with an inventory of its own.
    pub(super) async fn new(world: &World, habits: Habits, fault: Option<&str>) -> Self {
        let faults = fault.iter().map(|id| Fault::parse(id).expect("a fault"));
        let scheduler = scheduler::Scheduler::new(faults.collect(), world.clock);
        Self::of(world, habits, scheduler, false).await
    }

    pub(super) async fn on_members(world: &World) -> Self {
        let scheduler = scheduler::Scheduler::of_fleet(Default::default(), world.clock);
        Self::of(world, Habits::default(), scheduler, true).await
    }

    async fn of(
        world: &World,
        habits: Habits,
        mut scheduler: scheduler::Scheduler,
        is_on_members: bool,
    ) -> Self {
        let client = world.server.client(scheduler::Scheduler::NAME);
        scheduler.set_up(&client).await.expect("set up");
        Self {
            admin: world.admin.clone(),
            manager: Manager::with(world, habits, &[], Some(scheduler.remote())).await,
            is_on_members,
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

/// A plan for the scheduler, on members that the manager offers where they are missing.
pub(super) fn placing(scheduler: &Scheduler) -> Plan {
    let mut plan = driving(&scheduler.manager);
    plan.claim.edition = Edition::Placement2025M09;
    if scheduler.is_on_members {
        let namespaces = [manager::Manager::NAMESPACE, scheduler::Scheduler::NAMESPACE];
        plan.scope.namespaces = namespaces.map(str::to_owned).into();
    }
    let driver = driver_of(&mut plan);
    // A hundred members join within seconds.
    driver.file.scale.at_once = 20;
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
    let scheduler = Scheduler::on_members(&world).await;
    let seen = run_scheduler(&world, &scheduler, &placing(&scheduler), future::pending()).await;
    let driver = seen.driver();
    let unavailable = &driver.unavailable_actions;
    assert!(unavailable.is_empty(), "{unavailable:?}");
    seen.assert_done();
    let waiting = [Restart, PutForeignSlice, Join];
    for step in &driver.steps {
        assert!(waiting.contains(&step.action) || took(step) < 20, "{step:?}");
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
        [(Place, 100), (Reschedule, 101), (Reschedule, 100), (Unplace, 100),]
    );
    let few = asked(Scenario::Placement).into_iter().map(|(action, _)| action);
    let few: Vec<DriverAction> = few.collect();
    assert_eq!(few, [Place, DeleteSlice, EmptySlice, Reschedule, Unplace]);
    // The run wrote to one decision and to a slice of its own, and to no profile.
    let deleted = driver.steps_of(DriverAction::DeleteSlice).next().expect("a step");
    let tampered = deleted.slice.as_ref().expect("a slice");
    let touched = driver.written_slices.iter().map(|key| key.name.as_str());
    assert!(touched.eq(["conformance-t-foreign", tampered.name.as_str()]));
    assert!(driver.written_profiles.is_empty());
    assert_eq!(scheduler.of_the_run("placementdecisions").await, [""; 0]);
    assert_eq!(scheduler.of_the_run("clusterprofiles").await, [""; 0]);
    assert_eq!(seen.warnings, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_stopped_takes_everything_back() {
    // With a placement of one slice, and after the restart.
    for seconds in [30, 200] {
        let world = world().await;
        let scheduler = Scheduler::on_members(&world).await;
        let mut plan = placing(&scheduler);
        let journal = JournalFolder::of(&mut plan, &world);
        run_scheduler(&world, &scheduler, &plan, after(seconds)).await;
        assert_eq!(scheduler.manager.joined(), [].into(), "stopped after {seconds} s");
        let left = scheduler.of_the_run("placementdecisions").await;
        assert_eq!(left, [""; 0], "stopped after {seconds} s");
        assert!(!journal.remains(plan));
    }
}

#[tokio::test(start_paused = true)]
async fn a_placement_that_is_not_taken_back_stays_in_the_journal() {
    for (failures, remains) in [(1, false), (usize::MAX, true)] {
        let world = world().await;
        let scheduler = Scheduler::new(&world, Habits::failing(failures), None).await;
        let mut plan = placing(&scheduler);
        let journal = JournalFolder::of(&mut plan, &world);
        let seen = run_scheduler(&world, &scheduler, &plan, future::pending()).await;
        let said = seen.warnings.join("\n");
        assert!(said.contains("failed to unplace"), "{said}");
        let is_left = said.contains("failed to call the hook `unplace` for conformance-t-1");
        assert_eq!(is_left, remains, "{said}");
        assert_eq!(journal.remains(plan), remains);
    }
}

#[tokio::test(start_paused = true)]
async fn a_printed_key_identifies_the_decision() {
    let world = world().await;
    let habits = Habits {
        prints_key: true,
        ..Habits::default()
    };
    let scheduler = Scheduler::new(&world, habits, None).await;
    let seen = run_scheduler(&world, &scheduler, &placing(&scheduler), future::pending()).await;
    for action in [Place, Reschedule, EmptySlice] {
        for step in seen.driver().steps_of(action) {
            assert_eq!(step.outcome, StepOutcome::Done, "{step:?}");
            assert!(took(step) < 20, "{step:?}");
            let placement = step.placement.as_ref().expect("a placement");
            assert!(placement.decision.is_some(), "{step:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_run_waits_for_a_late_decision() {
    let world = world().await;
    let fault = Some("placement-lifecycle/placed");
    let scheduler = Scheduler::new(&world, Habits::default(), fault).await;
    let seen = run_scheduler(&world, &scheduler, &placing(&scheduler), future::pending()).await;
    let place = seen.step(Scenario::Placement, DriverAction::Place);
    assert!((240..250).contains(&took(place)), "{place:?}");
    let rescheduled = seen.steps(Scenario::SliceLimit, DriverAction::Reschedule);
    assert_eq!(rescheduled.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_missing_right_on_slices_is_the_reason() {
    let profiles = refusals::reading_profiles("*");
    let mut slices = profiles.clone();
    slices.resources = vec!["placementdecisions".to_owned()];
    slices.verbs.push("patch".to_owned());
    let world = world().await.with_rules(vec![profiles, slices]);
    let scheduler = Scheduler::new(&world, Habits::default(), None).await;
    let seen = run_scheduler(&world, &scheduler, &placing(&scheduler), future::pending()).await;
    let may_not_delete = "the runner may not delete placementdecisions: grant delete on placementdecisions";
    seen.assert_lacking(DriverAction::DeleteSlice, may_not_delete);
    seen.assert_lacking(DriverAction::PutForeignSlice, "may not create placementdecisions");
    let driver = seen.driver();
    assert!(!driver.unavailable_actions.contains_key(&DriverAction::EmptySlice));
    assert_eq!(driver.written_slices.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn placement_hooks_are_unused_if_only_profiles_are_judged() {
    let world = world().await;
    let scheduler = Scheduler::on_members(&world).await;
    let mut plan = placing(&scheduler);
    plan.claim.edition = Edition::Standard;
    let seen = run_scheduler(&world, &scheduler, &plan, future::pending()).await;
    let calls = scheduler.manager.calls.lock().expect("no panic").clone();
    assert!(!calls.iter().any(|call| call.contains("place")), "{calls:?}");
    let driver = seen.driver();
    let mut available = driver.available_actions.iter();
    assert!(available.all(|action| !action.is_on_placements()));
    assert_eq!(driver.written_slices.len(), 0);
}
