//! A hub that is restored from a backup: what it shows afterwards is of a new history, whatever its resourceVersions say.

use apiserver::Backup;
use evidence::{ReasonId, api::Edition};

use super::*;

impl World {
    /// A profile at `v1`, a backup with it, and what the backup lacks: a later report, a new profile, and a profile that is gone.
    async fn backed_up(&self) -> Backup {
        for name in ["changed", "kept", "gone"] {
            self.profile(name).await;
        }
        self.report("changed", "v1").await;
        let backup = self.server.back_up();
        for version in ["v2", "v3", "v4"] {
            self.report("changed", version).await;
        }
        self.profile("new").await;
        self.delete("gone").await;
        backup
    }
}

/// The only gap in the timeline, which must be due to a restore.
fn gap_of_restore(evidence: &Evidence) -> (i64, i64) {
    let of_hub = |gap: &&Gap| gap.object.is_none();
    let [gap] = evidence.gaps(Kind::Timeline).filter(of_hub).collect::<Vec<_>>()[..] else {
        panic!("{:?}", evidence.gaps)
    };
    assert_eq!(gap.reason.id, Some(ReasonId::HubRestored), "{gap:?}");
    let expected = "the hub's resourceVersion went back from";
    assert!(gap.reason.contains(expected), "{gap:?}");
    span(gap)
}

#[tokio::test(start_paused = true)]
async fn a_run_sees_what_a_restored_hub_has_and_what_was_missed() {
    let world = World::of(&["changed", "kept", "gone"]).await;
    let events = async {
        after(10).await;
        world.report("changed", "v1").await;
        let backup = world.server.back_up();
        after(10).await;
        world.report("changed", "v2").await;
        world.profile("new").await;
        world.delete("gone").await;
        after(40).await;
        world.server.restore(&backup);
        after(60).await;
        world.report("kept", "v9").await;
    };
    let evidence = world.watch(300, events).await;
    let (from, until) = gap_of_restore(&evidence);
    assert!(from <= 60 && (60..75).contains(&until), "{from} {until}");
    let changed = format!("Listed -@0 v1@10 v2@20 v1@{until}");
    assert_eq!(story(&evidence, "changed"), [changed]);
    assert_eq!(story(&evidence, "new"), [format!("Created -@20 gone@{until}")]);
    // It is there again, and what became of it between is not known.
    assert_eq!(story(&evidence, "gone"), ["Listed -@0"]);
    let of_gone = evidence.gaps.iter().filter(|gap| gap.object.is_some());
    assert_eq!(of_gone.map(span).collect::<Vec<_>>(), [(20, until)]);
    // The watch goes on.
    assert_eq!(story(&evidence, "kept"), ["Listed -@0 v9@120"]);
}

/// The watch of a namespace notices it. So does the list at the end of a window, if a proxy keeps the watch open.
#[tokio::test(start_paused = true)]
async fn a_watch_of_a_namespace_and_a_silent_one_notice_a_restore() {
    for (window, namespaces, is_held) in [(300, &["default"][..], false), (60, &[], true)] {
        let world = World::new().await;
        let mut plan = plan(window);
        plan.scope.namespaces = namespaces.iter().map(|name| (*name).to_owned()).collect();
        let backup = world.backed_up().await;
        let events = async {
            after(30).await;
            if is_held {
                world.hold(1_000_000);
            }
            world.server.restore(&backup);
        };
        let evidence = world.collect(&plan, events).await;
        let (_, until) = gap_of_restore(&evidence);
        assert_eq!(story(&evidence, "changed"), [format!("Listed v4@0 v1@{until}")]);
    }
}

#[tokio::test(start_paused = true)]
async fn slices_are_listed_again_after_a_restore() {
    let world = World::with(&lab::scheduler::hub_definitions(&[])).await;
    let slice = |name: &str| slice(name, "default", &[]);
    world.create(SLICES, slice("old")).await;
    let backup = world.server.back_up();
    for name in ["new-1", "new-2", "new-3"] {
        world.create(SLICES, slice(name)).await;
    }
    let events = async {
        after(60).await;
        world.server.restore(&backup);
    };
    let mut plan = plan(300);
    plan.claim.edition = Edition::Placement2025M09;
    let evidence = world.collect(&plan, events).await;
    let gap = only_gap(&evidence, Kind::PlacementTimeline);
    assert_eq!(gap.reason.id, Some(ReasonId::HubRestored), "{gap:?}");
    let live = evidence.slices.iter().filter(|slice| slice.deleted.is_none());
    assert!(live.map(|slice| &*slice.last().metadata.name).eq(["old"]));
}
