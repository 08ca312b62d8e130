//! Copies of the evidence while the run goes on.

use std::sync::Mutex;

use evidence::api::Edition;
use judge::{Selection, judge};

use super::*;

/// Copies the evidence whenever it may.
#[derive(Default)]
pub(crate) struct Copies(pub(crate) Mutex<Vec<Evidence>>);

impl Progress for Copies {
    fn wants_snapshot(&self, _: bool) -> bool {
        true
    }

    fn snapshot(&self, so_far: Evidence) {
        self.0.lock().expect("a lock").push(so_far);
    }
}

/// A run's copies, one a second, and its evidence.
async fn copies(world: &World, plan: &Plan, events: impl Future<Output = ()>) -> (Vec<Evidence>, Evidence) {
    let copies = Copies::default();
    let collected = world.collect_and_report(plan, &copies, events, future::pending());
    let evidence = collected.await.expect("evidence");
    (copies.0.into_inner().expect("copies"), evidence)
}

/// From when on a copy does not know the timeline.
fn known_until(copy: &Evidence) -> i64 {
    let unknown = copy.gaps(Kind::Timeline).map(|gap| span(gap).0);
    unknown.min().expect("a gap up to the end")
}

#[tokio::test(start_paused = true)]
async fn a_copy_holds_what_was_seen_by_then_and_says_what_is_missing() {
    let world = World::of(&["kept", "gone"]).await;
    let events = async {
        after(10).await;
        world.report("kept", "v1").await;
        world.delete("gone").await;
        after(20).await;
        world.profile("new").await;
    };
    let plan = Plan {
        secrets: EvidenceRequest::Explicit,
        ..plan(40)
    };
    let (copies, evidence) = copies(&world, &plan, events).await;
    let at = |second: i64| {
        let is_it = |copy: &&Evidence| seconds(copy.header.window.expect("a window").until) == second;
        copies.iter().find(is_it).expect("a copy a second")
    };
    assert_eq!(story(at(5), "kept"), ["Listed -@0"]);
    let middle = at(20);
    assert_eq!(story(middle, "kept"), ["Listed -@0 v1@10"]);
    assert_eq!(story(middle, "gone"), ["Listed -@0 gone@10"]);
    assert!(story(middle, "new").is_empty());
    assert_eq!(known_until(middle), 10, "nothing was heard since");
    assert!(middle.is_whole(Kind::Inventory) && middle.is_whole(Kind::Namespaces));
    assert_eq!(gaps(middle, Kind::Secrets).len(), 1);
    assert!(middle.namespace("default").is_some());
    assert!(judge(middle, &Selection::default()).partial);

    // When the window is over, the timeline is whole, and the rest is still missing.
    let last = copies.last().expect("a copy");
    assert_eq!(last.profiles, evidence.profiles);
    assert!(last.is_whole(Kind::Timeline) && !last.is_whole(Kind::Secrets));
    assert!(last.header.cut_short.is_some() && evidence.header.cut_short.is_none());
    assert!(evidence.is_whole(Kind::Secrets));
}

#[tokio::test(start_paused = true)]
async fn a_copy_knows_no_more_than_the_watch_has_heard() {
    let world = World::of(&["a"]).await;
    let events = async {
        after(60).await;
        world.die();
    };
    let (copies, _) = copies(&world, &plan(200), events).await;
    // A hub that is down looks like one on which nothing changes.
    let late = copies.iter().filter(|copy| {
        let until = copy.header.window.expect("a window").until;
        (100..200).contains(&seconds(until))
    });
    let known: Vec<i64> = late.map(known_until).collect();
    assert!(known.len() > 90, "{known:?}");
    assert!(known.iter().all(|known| *known == 60), "{known:?}");
}

#[tokio::test(start_paused = true)]
async fn a_copy_holds_the_slices_too() {
    let world = World::with(&lab::scheduler::hub_definitions(&[])).await;
    world.profile("a").await;
    let slice = |name: &str| slice(name, "default", &["a"]);
    world.create(SLICES, slice("first")).await;
    let events = async {
        after(10).await;
        world.create(SLICES, slice("second")).await;
        after(20).await;
        world.create(SLICES, slice("third")).await;
    };
    let mut plan = plan(40);
    plan.claim.edition = Edition::Placement2025M09;
    let (copies, evidence) = copies(&world, &plan, events).await;
    let middle = &copies[20];
    let names = middle.slices.iter().map(|slice| &*slice.last().metadata.name);
    assert!(names.eq(["first", "second"]), "{:?}", middle.slices);
    assert!(middle.is_whole(Kind::PlacementDecisions));
    let unknown = gaps(middle, Kind::PlacementTimeline)[0];
    assert_eq!(span(unknown).0, 10, "nothing was heard since");
    assert_eq!(evidence.slices.len(), 3);
    assert!(evidence.is_whole(Kind::PlacementTimeline));
}

#[tokio::test(start_paused = true)]
async fn a_copy_leaves_out_what_a_run_has_touched() {
    let world = World::new().await;
    let mut own = profile("own");
    own["metadata"]["labels"] = json!({evidence::runs::LABEL_RUN: "r4n6d", "x-k8s.io/cluster-manager": "m"});
    world.create(PROFILES, own).await;
    world.profile("theirs").await;
    let (copies, _) = copies(&world, &plan(10), async {}).await;
    assert_eq!(inventory(&copies[0]), ["theirs"]);
}
