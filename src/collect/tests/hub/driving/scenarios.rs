//! What the implementation is made to do, and what is noted of it.

use collect::driver;

use super::*;

/// How long an unanswered step takes, in seconds: the patience, and how late the watch may be.
const UNANSWERED: i64 = 130;

#[tokio::test(start_paused = true)]
async fn all_scenarios_run_and_their_reactions_are_recorded() {
    let world = World::of(&["a"]).await;
    let manager = Manager::new(&world, Habits::default()).await;
    let seen = run(&world, &manager, &driving(&manager)).await;
    assert_eq!(seen.warnings, [""; 0]);
    assert!(seen.evidence.gaps.is_empty(), "{:?}", seen.evidence.gaps);
    let driver = seen.driver();
    let namespaces = [DriverAction::DeleteNamespace, DriverAction::CreateNamespace];
    let unavailable = &driver.unavailable_actions;
    assert!(unavailable.keys().eq(&namespaces), "{unavailable:?}");
    seen.assert_done();
    for step in &driver.steps {
        let is_foreign = step.scenario == Scenario::ForeignProfile;
        let of_hub = is_foreign || matches!(step.action, DriverAction::Restart | DriverAction::Disconnect);
        let negative = of_hub || step.action == DriverAction::SetDisplayName;
        // The manager asks members for their health every 10 s, and for their version every minute; 2 s more are watched. Of many, all are watched until the last has stayed.
        let seconds = took(step);
        let stays = step.scenario == Scenario::Scale && step.action == DriverAction::Join;
        assert!(
            match (negative, stays) {
                (true, _) => seconds >= 120,
                (_, true) => (60..100).contains(&seconds),
                _ if step.action == DriverAction::Upgrade => seconds <= 75,
                _ => seconds <= 15,
            },
            "{step:?}"
        );
        let whole = of_hub || step.action == DriverAction::Reconnect;
        assert_eq!(step.member.is_empty(), whole, "{step:?}");
        if step.action != DriverAction::Restart {
            assert!(step.profile.is_some(), "{step:?}");
        }
        if step.action == DriverAction::Leave {
            // One for each consumer.
            assert_eq!(step.secrets_before, Some(2), "{step:?}");
        }
    }
    use DriverAction::{Break, Disconnect, Heal, Join, Leave, Reconnect, Restart, Upgrade};
    for (scenario, actions) in [
        (Scenario::JoinAndLeave, &[][..]),
        (Scenario::Outage, &[Break, Heal]),
        (Scenario::Upgrade, &[Upgrade]),
        (Scenario::CutOff, &[Disconnect, Reconnect]),
        (Scenario::Restart, &[Restart]),
    ] {
        let steps = driver.steps.iter().filter(|step| step.scenario == scenario);
        let order: Vec<DriverAction> = steps.map(|step| step.action).collect();
        let expected = [&[Join], actions, &[Leave]].concat();
        assert_eq!(order, expected, "{scenario:?}");
    }
    assert_eq!(seen.steps(Scenario::Tampering, DriverAction::Join).len(), 4);
    assert_eq!(seen.steps(Scenario::Scale, DriverAction::Join).len(), 6);
    assert_eq!(manager.joined(), [].into());
    check_changes(&seen);

    // The restart came when all others were over, and the whole took no longer than the longest and the restart.
    let restart = seen.step(Scenario::Restart, DriverAction::Restart);
    let is_other =
        |step: &&DriverStep| !matches!(step.scenario, Scenario::Restart | Scenario::ForeignProfile);
    let mut others = driver.steps.iter().filter(is_other);
    assert!(others.all(|step| step.observed_until <= restart.from));
    let window = seen.evidence.header.window.expect("a window");
    // The manager stays cut off for twice its time to react.
    assert!(window.seconds() < 4 * 120 + 90, "{window:?}");
    // The foreign profile was there all the time, and saw the restart too.
    let foreign = seen.step(Scenario::ForeignProfile, DriverAction::RecreateForeignProfile);
    assert!(foreign.observed_until >= restart.observed_until);
    // Only so many hooks of the fleet ran at a time, next to one of each other scenario.
    let most = manager.most_at_work.load(std::sync::atomic::Ordering::Relaxed);
    assert!(most <= 2 + 9, "{most}");
}

/// Each change names the value before it, and is in the history before the step looks for a reaction.
fn check_changes(seen: &Seen) {
    use DriverAction::{RemoveLabel, SetDisplayName, TamperStatus, Upgrade};

    let label = "metadata.labels[x-k8s.io/cluster-manager]";
    let (version, name) = ("status.version.kubernetes", "spec.displayName");
    let (old_name, new_name) = ("Cluster conformance-t-", "set by conformance run t");
    for (action, path, before, after) in [
        (Upgrade, version, "v1.34.2", Some("v1.35.1")),
        (TamperStatus, version, "v1.34.2", Some("v0.0.1")),
        (RemoveLabel, label, "reference-manager", None),
        (SetDisplayName, name, old_name, Some(new_name)),
    ] {
        let step = seen.driver().steps_of(action).next().expect("a step");
        let change = step.change.as_ref().expect("a change");
        assert_eq!((&*change.path, change.after.as_deref()), (path, after));
        let before_it = change.before.as_deref().unwrap_or_default();
        assert!(before_it.starts_with(before), "{change:?}");
    }
    // What the run wrote is in the history before the step looks for an answer.
    let step = seen.step(Scenario::Tampering, DriverAction::RemoveLabel);
    let profile = step.profile.as_ref().expect("a profile");
    let mut histories = seen.evidence.histories_named(&profile.namespace, &profile.name);
    let versions = &histories.next().expect("a history").versions;
    let label = |version: &evidence::Version| version.object.label("x-k8s.io/cluster-manager").is_some();
    assert!(versions.iter().any(|version| !label(version)));
}

#[tokio::test(start_paused = true)]
async fn an_idle_manager_gets_its_whole_time() {
    let world = World::of(&["a"]).await;
    let manager = Manager::new(&world, Habits::idle()).await;
    let seen = run(&world, &manager, &driving(&manager)).await;
    let join = seen.step(Scenario::JoinAndLeave, DriverAction::Join);
    assert_eq!((reason(join), took(join)), ("", UNANSWERED));
    let broken = seen.step(Scenario::Outage, DriverAction::Break);
    assert_eq!(reason(broken), "no profile of the member was found");
    assert!(seen.steps(Scenario::Outage, DriverAction::Heal).is_empty());
    let deleted = seen.step(Scenario::Tampering, DriverAction::DeleteProfile);
    assert_eq!(reason(deleted), "no profile of the member was found");
    let left = seen.step(Scenario::JoinAndLeave, DriverAction::Leave);
    assert!(took(left) <= 2, "{left:?}");
    // An object of another manager can still be created next to these.
    let foreign = seen.step(Scenario::ForeignProfile, DriverAction::PutForeignProfile);
    assert_eq!(reason(foreign), "");
    assert_eq!(manager.joined(), [].into());
    assert!(world.requests().iter().all(|event| event["verb"] != "update"));
}

#[tokio::test(start_paused = true)]
async fn an_unrecognized_profile_is_inconclusive_unless_the_hook_prints_it() {
    let world = World::new().await;
    let mut habits = Habits {
        renames: true,
        ..Habits::default()
    };
    let manager = Manager::new(&world, habits.clone()).await;
    let seen = run(&world, &manager, &driving(&manager)).await;
    let join = seen.step(Scenario::JoinAndLeave, DriverAction::Join);
    let hint = "none shows that it is the member's: let the hook `join` print";
    assert!(reason(join).contains(hint), "{join:?}");
    // Nothing is written to profiles that may be anybody's.
    let mut touched = seen.driver().written_profiles.iter();
    assert!(touched.all(|key| key.name.ends_with("-foreign")));

    habits.names_profile = true;
    let manager = Manager::new(&world, habits).await;
    let seen = run(&world, &manager, &driving(&manager)).await;
    seen.assert_done();
}

#[tokio::test(start_paused = true)]
async fn the_run_restores_what_the_manager_does_not() {
    let world = World::new().await;
    let faults = [
        "lifecycle/deleted-profile-restored",
        "lifecycle/status-restored",
        "lifecycle/label-restored",
    ];
    let manager = Manager::with(&world, Habits::default(), &faults, None).await;
    let seen = run(&world, &manager, &driving(&manager)).await;
    assert_eq!(seen.warnings, [""; 0]);
    use DriverAction::*;
    for action in [DeleteProfile, TamperStatus, RemoveLabel] {
        let step = seen.step(Scenario::Tampering, action);
        assert_eq!((reason(step), took(step)), ("", UNANSWERED), "{step:?}");
        let profile = step.profile.as_ref().expect("a profile");
        let mut histories = seen.evidence.histories_named(&profile.namespace, &profile.name);
        let last = histories.next().expect("a history").last();
        // As it was when its member left.
        assert!(last.label("x-k8s.io/cluster-manager").is_some(), "{step:?}");
        assert_eq!(
            last.status.version.kubernetes.as_deref(),
            Some("v1.34.2"),
            "{step:?}"
        );
    }
}

/// A manager, and a plan with these own members.
async fn with_own_members(world: &World, names: &[&str], habits: Habits) -> (Manager, Plan) {
    let manager = Manager::new(world, habits).await;
    let mut own = Vec::new();
    for name in names {
        manager.own(name).await;
        own.push(driver::HookMember::named((*name).to_owned()));
    }
    let mut plan = driving(&manager);
    let driver = driver_of(&mut plan);
    driver.offer = None;
    driver.file.members = own;
    driver.file.upgrade_to = Some("v1.35.1".to_owned());
    driver.file.scale.members = Some(0);
    (manager, plan)
}

#[tokio::test(start_paused = true)]
async fn scenarios_continue_with_the_members_that_have_left() {
    let world = World::new().await;
    let habits = Habits {
        fails_for: Some("lisbon"),
        ..Habits::failing(1)
    };
    let (manager, mut plan) = with_own_members(&world, &["lisbon", "oslo"], habits).await;
    driver_of(&mut plan).file.scale.members = Some(2);
    let seen = run(&world, &manager, &plan).await;
    let joins = seen.driver().steps_of(DriverAction::Join);
    let (scale, others): (Vec<_>, Vec<_>) = joins.partition(|step| step.scenario == Scenario::Scale);
    assert_eq!(others.len(), 9);
    for step in others {
        assert_eq!(reason(step), "", "{step:?}");
    }
    // It needs both.
    let expected = "too few members: 2 needed, 1 usable; the others failed to leave";
    assert!(scale.into_iter().map(reason).eq([expected]));
    let calls = manager.calls.lock().expect("no panic").clone();
    let count = |call: &str| calls.iter().filter(|known| *known == call).count();
    assert_eq!((count("join lisbon"), count("join oslo")), (1, 8));
    assert_eq!(manager.joined(), [].into());
}

#[tokio::test(start_paused = true)]
async fn own_members_are_shared_by_the_scenarios() {
    let world = World::new().await;
    let (manager, plan) = with_own_members(&world, &["lisbon"], Habits::default()).await;
    let seen = run(&world, &manager, &plan).await;
    seen.assert_done();
    let calls = manager.calls.lock().expect("no panic").clone();
    let mut joined = false;
    for call in &calls {
        assert_eq!(joined, call != "join lisbon", "{calls:?}");
        joined = call != "leave lisbon";
    }
    assert_eq!(calls.iter().filter(|call| *call == "join lisbon").count(), 9);
    let upgrade = seen.step(Scenario::Upgrade, DriverAction::Upgrade);
    let change = upgrade.change.as_ref().expect("a change");
    assert_eq!(change.after.as_deref(), Some("v1.35.1"));
}

#[tokio::test(start_paused = true)]
async fn an_impossible_action_has_a_reason() {
    let world = World::of(&["a"]).await;
    let habits = Habits {
        missing: [DriverAction::Join, DriverAction::Leave].into(),
        ..Habits::default()
    };
    let manager = Manager::new(&world, habits).await;
    let mut plan = driving(&manager);
    driver_of(&mut plan).mutations = false;
    let seen = run(&world, &manager, &plan).await;
    let driver = seen.driver();
    assert_eq!(driver.available_actions, [DriverAction::Restart].into());
    seen.assert_lacking(DriverAction::Break, "there is no hook `join`");
    seen.assert_lacking(
        DriverAction::PutForeignProfile,
        "the run may not write to the hub",
    );
    let calls = manager.calls.lock().expect("no panic").clone();
    assert_eq!(calls, ["restart"]);
    let restart = seen.step(Scenario::Restart, DriverAction::Restart);
    assert_eq!(took(restart), UNANSWERED);
}
