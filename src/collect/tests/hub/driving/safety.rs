//! What the run writes, and what it leaves behind: nothing that it was not allowed to, and nothing.

use std::collections::BTreeSet;

use collect::driver::{Journal, JournalHead};
use evidence::{ObjectKey, ObjectRef, Requested, runs::LABEL_RUN};
use tempfile::TempDir;

use super::*;
use crate::snapshots::Copies;

/// What the runner has stored on the hub: verb and the profile's name.
fn stored(world: &World) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let writes = world.requests().into_iter().filter(|event| {
        let verb = event["verb"].as_str().unwrap_or_default();
        let reads = matches!(verb, "get" | "list" | "watch");
        let review = event["objectRef"]["resource"] == "selfsubjectaccessreviews";
        let dry = text(&event["requestURI"]).contains("dryRun=All");
        let is_done = event["responseStatus"]["code"].as_u64() < Some(300);
        !reads && !review && !dry && is_done
    });
    let named = writes.map(|event| {
        assert_eq!(event["objectRef"]["resource"], "clusterprofiles", "{event}");
        let uri = text(&event["requestURI"]);
        let is_named = uri.contains("fieldManager=clusterprofile-conformance");
        assert!(event["verb"] == "delete" || is_named, "{event}");
        let mut name = text(&event["objectRef"]["name"]);
        if name.is_empty() {
            name = text(&event["requestObject"]["metadata"]["name"]);
        }
        (text(&event["verb"]), name)
    });
    named.collect()
}

/// All profiles of the hub.
async fn everything(world: &World) -> Vec<Value> {
    let all = "/apis/multicluster.x-k8s.io/v1alpha1/clusterprofiles";
    let list = world.send(Method::GET, all, None).await.expect("a list");
    list["items"].as_array().cloned().unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn only_profiles_of_the_runs_own_members_are_written_to() {
    let world = World::new().await;
    for name in ["a", "b"] {
        world.profile(name).await;
        world.report(name, "v1.34.1").await;
    }
    let before = everything(&world).await;
    let manager = Manager::new(&world, Habits::default()).await;
    let seen = run(&world, &manager, &driving(&manager)).await;
    assert_eq!(everything(&world).await, before);

    let stored = stored(&world);
    let written: BTreeSet<&str> = stored.iter().map(|(_, name)| name.as_str()).collect();
    let touched = &seen.driver().written_profiles;
    let named: BTreeSet<&str> = touched.iter().map(|key| key.name.as_str()).collect();
    assert_eq!(written, named);
    // Four that were tampered with, and the foreign one.
    assert_eq!(touched.len(), 5, "{touched:?}");
    let is_own = |name: &&str| name.contains("conformance-t-");
    assert!(written.iter().all(is_own), "{written:?}");
    let counts = |verb: &str| stored.iter().filter(|(done, _)| done == verb).count();
    // The version, the label, the name and the name again; of the foreign one, the status twice and the name. It is
    // created twice, and deleted twice, as is the profile of a member once.
    assert_eq!((counts("create"), counts("delete"), counts("patch")), (2, 3, 7));

    // Rules judge every object that the run has not written to.
    let judged = seen
        .evidence
        .histories()
        .map(|history| ObjectRef::from(history.last()));
    let judged: Vec<ObjectKey> = judged.map(|profile| ObjectKey::from(&profile)).collect();
    assert!(judged.iter().all(|key| !touched.contains(key)));
    assert!(judged.iter().any(|key| key.name.contains("conformance-t-")));
}

#[tokio::test(start_paused = true)]
async fn without_the_flag_nothing_is_written() {
    let world = World::new().await;
    let manager = Manager::new(&world, Habits::default()).await;
    let mut plan = driving(&manager);
    driver_of(&mut plan).mutations = false;
    let seen = run(&world, &manager, &plan).await;
    assert_eq!(stored(&world), []);
    assert!(seen.driver().written_profiles.is_empty());
    seen.assert_lacking(DriverAction::TamperStatus, "the run may not write to the hub");
    assert!(seen.steps(Scenario::Outage, DriverAction::Heal).len() == 1);
}

#[tokio::test(start_paused = true)]
async fn a_profile_from_before_the_run_is_never_written_to() {
    let world = World::new().await;
    let habits = Habits {
        names_profile: true,
        ..Habits::idle()
    };
    let manager = Manager::new(&world, habits).await;
    for number in 1..20 {
        let key = manager.profile(&format!("conformance-t-{number}"));
        world.profile_in(&key.namespace, &key.name).await;
    }
    let before = everything(&world).await;
    let mut plan = driving(&manager);
    driver_of(&mut plan).file.scale.members = Some(0);
    let seen = run(&world, &manager, &plan).await;
    use DriverAction::*;
    for action in [DeleteProfile, TamperStatus, RemoveLabel, SetDisplayName] {
        let reason = reason(seen.step(Scenario::Tampering, action));
        assert!(reason.contains("refusing to write to ClusterProfile"), "{reason}");
    }
    let mut after = everything(&world).await;
    after.retain(|profile| profile["metadata"]["labels"][LABEL_RUN].is_null());
    assert!(after.iter().all(|profile| before.contains(profile)));
    let stored = stored(&world);
    assert!(
        stored.iter().all(|(_, name)| name == "conformance-t-foreign"),
        "{stored:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_stopped_undoes_what_it_did() {
    for seconds in [1, 5, 9, 14, 20, 60, 150, 200] {
        let world = World::of(&["a"]).await;
        let before = everything(&world).await;
        // Members of its own, as these stay: what was done to them has to be undone.
        let manager = Manager::new(&world, Habits::default()).await;
        let mut plan = driving(&manager);
        let journal = JournalFolder::of(&mut plan, &world);
        let seen = run_until(&world, &manager, &plan, after(seconds)).await;
        assert_eq!(manager.joined(), [].into(), "stopped after {seconds} s");
        assert_eq!(everything(&world).await, before, "stopped after {seconds} s");
        assert!(!journal.remains(plan));
        assert_eq!(*seen.evidence.requested(Kind::Driver), Requested::Yes);
        let gap = only_gap(&seen.evidence, Kind::Driver);
        assert!(gap.reason.contains("stopped before"), "{gap:?}");
        assert_eq!(seen.warnings, [""; 0], "stopped after {seconds} s");
        let broken = seen.driver().steps_of(DriverAction::Break);
        let broken = broken.filter(|step| step.outcome == StepOutcome::Done);
        let healed = seen.driver().steps_of(DriverAction::Heal);
        assert_eq!(healed.count(), broken.count());
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_after_the_last_step_leaves_no_gap() {
    let world = World::new().await;
    let manager = Manager::new(&world, Habits::default()).await;
    let plan = Plan {
        observe: Duration::from_secs(3600),
        ..driving(&manager)
    };
    let seen = run_until(&world, &manager, &plan, after(3000)).await;
    assert!(gaps(&seen.evidence, Kind::Driver).is_empty());
    assert_eq!(gaps(&seen.evidence, Kind::Timeline).len(), 1);
    seen.assert_done();
}

/// The folder in which a run keeps its journal.
pub(super) struct JournalFolder(TempDir);

impl JournalFolder {
    /// Gives the plan's driver a journal.
    pub(super) fn of(plan: &mut Plan, world: &World) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let head = JournalHead {
            run: "t".to_owned(),
            began: world.clock.now(),
            server: "https://hub.example".to_owned(),
            hub: "lab".to_owned(),
            driver_file: "/driver.yaml".into(),
        };
        let journal = Journal::begin(folder.path(), head).expect("a journal");
        driver_of(plan).journal = journal.into();
        Self(folder)
    }

    /// Whether the journal is there when the run is over.
    pub(super) fn remains(self, plan: Plan) -> bool {
        drop(plan);
        self.0.path().read_dir().expect("a folder").count() > 0
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_undone_is_reported_and_stays_in_the_journal() {
    let world = World::new().await;
    // A second attempt at the end helps those that refuse once.
    for (failures, remains) in [(1, false), (2, true)] {
        let manager = Manager::new(&world, Habits::failing(failures)).await;
        let mut plan = driving(&manager);
        let journal = JournalFolder::of(&mut plan, &world);
        driver_of(&mut plan).file.scale.members = Some(0);
        let seen = run(&world, &manager, &plan).await;
        let leave = seen.step(Scenario::JoinAndLeave, DriverAction::Leave);
        assert_eq!(reason(leave), "the hook fails");
        let leaves = manager.leaves.lock().expect("no panic").clone();
        for (member, calls) in &leaves {
            let [first, last] = &calls[..] else {
                panic!("{member}: {calls:?}")
            };
            assert_eq!(first, last, "{member}");
            assert!(last.starts_with("kubeconfig: true, served: true"), "{last}");
        }
        let last = &leaves["conformance-t-1"][1];
        assert!(last.contains("profile: Some"), "{last}");
        let said = seen.warnings.join("\n");
        for warning in [
            "failed to call the hook `leave` for conformance-t-1",
            "the run could not undo everything",
        ] {
            assert_eq!(said.contains(warning), remains, "{said}");
        }
        assert_eq!(journal.remains(plan), remains);
    }
}

#[tokio::test(start_paused = true)]
async fn a_missing_right_on_profiles_is_the_reason() {
    let mut patching = refusals::reading_profiles("*");
    patching.verbs.push("patch".to_owned());
    let world = World::new().await.with_rules(vec![patching]);
    let manager = Manager::new(&world, Habits::default()).await;
    let seen = run(&world, &manager, &driving(&manager)).await;
    let may_not_delete = "the runner may not delete clusterprofiles: grant delete on clusterprofiles";
    seen.assert_lacking(DriverAction::DeleteProfile, may_not_delete);
    seen.assert_lacking(DriverAction::PutForeignProfile, "may not create clusterprofiles");
    seen.assert_lacking(DriverAction::TamperStatus, "may not patch clusterprofiles/status");
    // The rest is done.
    let driver = seen.driver();
    assert!(
        !driver
            .unavailable_actions
            .contains_key(&DriverAction::RemoveLabel)
    );
    assert_eq!(driver.written_profiles.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_leaves_out_what_the_run_has_written_to() {
    let world = World::new().await;
    let manager = Manager::new(&world, Habits::default()).await;
    let (plan, copies) = (driving(&manager), Copies::default());
    let evidence = select! {
        evidence = world.collect_and_report(&plan, &copies, async {}, future::pending()) => evidence.expect("evidence"),
        never = manager.life.live() => match never {},
    };
    let copies = copies.0.into_inner().expect("no panic");
    let until = |evidence: &Evidence| evidence.header.window.map(|window| window.until);
    let is_on_the_way = |copy: &&Evidence| until(copy) < until(&evidence);
    let last = copies.iter().rfind(is_on_the_way).expect("a copy on the way");
    let touched = &evidence.driver.as_ref().expect("a driver").written_profiles;
    assert!(!touched.is_empty() && touched.is_subset(&last.header.other_runs));
}
