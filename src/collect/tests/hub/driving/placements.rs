//! A scheduler that is driven: what the run asks of it, what it writes, and how all of it is taken back.

use std::{collections::BTreeMap, sync::Mutex};

use collect::driver::{Call, Called, Hooks};
use evidence::{
    ObjectKey,
    api::{Edition, names},
};
use futures::{FutureExt as _, future::BoxFuture};

use super::*;

const SLICES: &str = "/apis/multicluster.x-k8s.io/v1alpha1/namespaces/default/placementdecisions";
/// How often the scheduler compares its slices.
const LOOK: Duration = Duration::from_secs(2);

/// How the scheduler differs from one that does everything right.
#[derive(Clone, Debug, Default)]
struct Ways {
    /// Its slices do not name their placement, but the hook `place` tells the key.
    tells_key_only: bool,
    /// Its hook `unplace` fails so many times.
    clings: usize,
    /// It takes so long for a decision.
    takes: u64,
}

/// What the scheduler and its hooks know. The members are the manager's.
#[derive(Clone)]
struct Scheduler {
    client: Client,
    manager: Manager,
    ways: Ways,
    /// How many clusters each placement asks for, and since when.
    placed: Arc<Mutex<BTreeMap<String, (usize, Timestamp)>>>,
    refusals: Arc<Mutex<usize>>,
    calls: Arc<Mutex<Vec<String>>>,
    clock: Clock,
}

impl Scheduler {
    fn new(world: &World, ways: Ways) -> Self {
        let habits = Habits::default();
        Self {
            client: world.server.client("reference-scheduler"),
            manager: Manager::new(world, habits),
            ways,
            placed: Arc::default(),
            refusals: Arc::default(),
            calls: Arc::default(),
            clock: world.clock,
        }
    }

    async fn live(&self) {
        loop {
            self.look().await;
            sleep(LOOK).await;
        }
    }

    async fn list(&self, path: &str) -> Vec<Value> {
        let list = send(&self.client, Method::GET, path, None).await.expect("a list");
        list["items"].as_array().expect("items").clone()
    }

    fn key(&self, placement: &str) -> String {
        if self.ways.tells_key_only {
            let number = placement.rsplit('-').next().unwrap_or_default();
            format!("k{number}")
        } else {
            placement.to_owned()
        }
    }

    async fn look(&self) {
        let profiles = self.list(PROFILES).await;
        let well = profiles
            .iter()
            .filter(|profile| !profile["status"]["conditions"].is_null());
        let names: Vec<&Value> = well.map(|profile| &profile["metadata"]["name"]).collect();
        let mut wanted = BTreeMap::new();
        let placed = self.placed.lock().expect("nobody panics").clone();
        for (placement, (count, since)) in placed {
            if self.clock.now().duration_since(since).as_secs() < self.ways.takes.cast_signed() {
                continue;
            }
            let selected = &names[..count.min(names.len())];
            let parts: Vec<&[&Value]> = match selected {
                [] => vec![&[]],
                selected => selected.chunks(100).collect(),
            };
            for (index, part) in parts.iter().enumerate() {
                let key = self.key(&placement);
                let decisions = part
                    .iter()
                    .map(|name| json!({"clusterProfileRef": {"name": name}}));
                wanted.insert(
                    format!("{key}-{index}"),
                    json!({
                        "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "PlacementDecision",
                        "metadata": {"name": format!("{key}-{index}"), "labels": {names::LABEL_DECISION_KEY: key}},
                        "schedulerName": "s", "decisions": decisions.collect::<Vec<_>>(),
                    }),
                );
            }
        }
        let there = self.list(SLICES).await;
        let own = there.iter().filter(|slice| slice["schedulerName"] == "s");
        let own: BTreeMap<&str, &Value> = own
            .map(|slice| (slice["metadata"]["name"].as_str().expect("a name"), slice))
            .collect();
        for (name, slice) in &wanted {
            let path = format!("{SLICES}/{name}");
            let sent = match own.get(name.as_str()) {
                None => send(&self.client, Method::POST, SLICES, Some(slice.clone())).await,
                Some(known) if known["decisions"] == slice["decisions"] => continue,
                Some(_) => {
                    let patch = json!({"decisions": slice["decisions"]});
                    send(&self.client, Method::PATCH, &path, Some(patch)).await
                }
            };
            sent.expect("written");
        }
        for name in own.keys().filter(|name| !wanted.contains_key(**name)) {
            let path = format!("{SLICES}/{name}");
            send(&self.client, Method::DELETE, &path, None)
                .await
                .expect("deleted");
        }
    }

    fn act(&self, call: &Call<'_>) -> Called {
        let Some(placement) = call.placement else {
            return Called::done();
        };
        let told = format!("{} {} {}", call.action, placement.name, placement.clusters);
        self.calls.lock().expect("nobody panics").push(told);
        let mut placed = self.placed.lock().expect("nobody panics");
        if call.action == DriverAction::Unplace {
            let mut refusals = self.refusals.lock().expect("nobody panics");
            *refusals += 1;
            if *refusals <= self.ways.clings {
                return Called::failed("it does not let go");
            }
            placed.remove(&placement.name);
            return Called::done();
        }
        let now = self.clock.now();
        let since = placed.get(&placement.name).map_or(now, |(_, since)| *since);
        placed.insert(placement.name.clone(), (placement.clusters, since));
        Called {
            decision: self.ways.tells_key_only.then(|| ObjectKey {
                namespace: "default".to_owned(),
                name: self.key(&placement.name),
            }),
            ..Called::done()
        }
    }
}

impl Hooks for Scheduler {
    fn lacking(&self, _: DriverAction) -> Option<String> {
        None
    }

    fn call<'a>(&'a self, call: &'a Call<'a>, stop: CancellationToken) -> BoxFuture<'a, Called> {
        if call.placement.is_some() {
            async { self.act(call) }.boxed()
        } else {
            self.manager.call(call, stop)
        }
    }
}

/// A plan for the scheduler, on members that the manager offers.
fn placing(scheduler: &Scheduler) -> Plan {
    let mut plan = driving(&scheduler.manager);
    plan.claim.edition = Edition::Placement2025M09;
    let driver = plan.driver.as_mut().expect("a driver");
    driver.hooks = Arc::new(scheduler.clone());
    plan
}

async fn run_scheduler(
    world: &World,
    scheduler: &Scheduler,
    plan: &Plan,
    stop: impl Future<Output = ()>,
) -> Seen {
    select! {
        seen = run_until(world, &scheduler.manager, plan, stop) => seen,
        () = scheduler.live() => unreachable!("it never ends"),
    }
}

#[tokio::test(start_paused = true)]
async fn stand_ins_fill_the_inventory_and_everything_is_taken_back() {
    let world = World::new().await;
    let scheduler = Scheduler::new(&world, Ways::default());
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
    assert_eq!(touched, [tampered.name.as_str(), "conformance-t-foreign"]);
    assert!(driver.touched.is_empty());
    assert_eq!(scheduler.list(SLICES).await, [Value::Null; 0]);
    assert_eq!(scheduler.list(PROFILES).await, [Value::Null; 0]);
    assert_eq!(seen.warnings, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_stopped_takes_everything_back() {
    for seconds in [5, 30, 60, 100, 200] {
        let world = World::new().await;
        let folder = tempfile::tempdir().expect("a folder");
        let scheduler = Scheduler::new(&world, Ways::default());
        let mut plan = placing(&scheduler);
        let driver = plan.driver.as_mut().expect("a driver");
        driver.journal = Some(super::safety::journal(folder.path(), &world).into());
        run_scheduler(&world, &scheduler, &plan, after(seconds)).await;
        assert!(
            scheduler.placed.lock().expect("nobody panics").is_empty(),
            "stopped after {seconds} s"
        );
        assert_eq!(scheduler.manager.joined(), [""; 0], "stopped after {seconds} s");
        scheduler.look().await;
        assert_eq!(scheduler.list(SLICES).await, [Value::Null; 0]);
        drop(plan);
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_placement_that_is_not_taken_back_stays_written_down() {
    for (clings, remains) in [(1, false), (usize::MAX, true)] {
        let world = World::new().await;
        let folder = tempfile::tempdir().expect("a folder");
        let ways = Ways {
            clings,
            ..Ways::default()
        };
        let scheduler = Scheduler::new(&world, ways);
        let mut plan = placing(&scheduler);
        let driver = plan.driver.as_mut().expect("a driver");
        driver.journal = Some(super::safety::journal(folder.path(), &world).into());
        let seen = run_scheduler(&world, &scheduler, &plan, future::pending()).await;
        let said = seen.warnings.join("\n");
        assert!(said.contains("failed to unplace"), "{said}");
        assert_eq!(said.contains("was not taken back"), remains, "{said}");
        drop(plan);
        let left = std::fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(left, usize::from(remains));
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_that_the_hook_tells_is_enough() {
    let world = World::new().await;
    let ways = Ways {
        tells_key_only: true,
        ..Ways::default()
    };
    let scheduler = Scheduler::new(&world, ways);
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
    let world = World::new().await;
    let ways = Ways {
        takes: 200,
        ..Ways::default()
    };
    let scheduler = Scheduler::new(&world, ways);
    let seen = run_scheduler(&world, &scheduler, &placing(&scheduler), future::pending()).await;
    let place = seen.step(Scenario::Placement, DriverAction::Place);
    assert!((200..210).contains(&took(place)), "{place:?}");
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
    let world = World::new().await.with_rules(rules);
    let scheduler = Scheduler::new(&world, Ways::default());
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
    let world = World::new().await;
    let scheduler = Scheduler::new(&world, Ways::default());
    let mut plan = placing(&scheduler);
    plan.claim.edition = Edition::Standard;
    let seen = run_scheduler(&world, &scheduler, &plan, future::pending()).await;
    assert_eq!(scheduler.calls.lock().expect("nobody panics").as_slice(), [""; 0]);
    let driver = seen.driver();
    assert!(driver.able.iter().all(|action| !action.is_on_placements()));
    assert_eq!(driver.touched_slices.len(), 0);
}
