//! The end of the window: the run watches on while violations are open.

use std::sync::Mutex;

use evidence::{Awaited, History, api::ClusterProfile};
use judge::{Selection, Verdict, judge, unsettled};

use super::*;

const RULE: &str = "identity/manager-label-present";

/// Waits for what the rule has open.
#[derive(Default)]
struct Waiting(Mutex<Vec<(u64, String)>>);

impl Progress for Waiting {
    fn open(&self, so_far: &Evidence) -> Awaited {
        unsettled(so_far, &selection())
    }

    fn settling(&self, elapsed: Duration, most: Duration, awaited: &str) {
        assert_eq!(most.as_secs(), 130);
        let mut reported = self.0.lock().expect("a lock");
        reported.push((elapsed.as_secs(), awaited.to_owned()));
    }
}

fn selection() -> Selection {
    Selection {
        filters: vec![RULE.to_owned()],
        exact: true,
        ..Selection::default()
    }
}

impl World {
    /// Watches for a minute and then on, while `events` happens. Returns what was reported of the wait, too.
    async fn settle(
        &self,
        events: impl Future<Output = ()>,
        stop: impl Future<Output = ()>,
    ) -> (Evidence, Vec<(u64, String)>) {
        let plan = Plan {
            settle: Duration::from_secs(130),
            ..plan(60)
        };
        let waiting = Waiting::default();
        let collected = self.collect_and_report(&plan, &waiting, events, stop).await;
        let evidence = collected.expect("evidence");
        let window = evidence.header.window.expect("a window");
        assert_eq!((seconds(window.from), seconds(window.until)), (0, 60));
        assert!(evidence.header.cut_short.is_none() && evidence.is_whole(Kind::Timeline));
        (evidence, waiting.0.into_inner().expect("what was reported"))
    }

    /// Profile `a` loses its label ten seconds before the window ends, and then something happens.
    async fn unlabelled(&self, then: impl Future<Output = ()>) {
        after(50).await;
        self.label("a", None).await;
        then.await;
    }

    /// A profile whose label comes or goes.
    async fn label(&self, name: &str, label: Option<&str>) {
        let patch = json!({"metadata": {"labels": {"x-k8s.io/cluster-manager": label}}});
        self.patch(&format!("{PROFILES}/{name}"), patch).await;
    }
}

/// Until when the run watched on, in seconds since the start, and for how many profiles.
fn settled(evidence: &Evidence) -> (i64, usize) {
    let settled = evidence.header.settled.expect("it is recorded");
    (seconds(settled.until), settled.profiles)
}

fn verdict(evidence: &Evidence) -> Verdict {
    let judgement = judge(evidence, &selection());
    let mut verdicts = judgement.verdicts.iter();
    let found = verdicts.find(|verdict| verdict.rule.id == RULE);
    found.expect("a verdict").verdict
}

/// When the versions of a profile came that were seen after the window, and whether each has the label.
fn later(history: &History<ClusterProfile>) -> Vec<(i64, bool)> {
    let versions = history.versions.iter().map(|version| {
        let label = version.object.label("x-k8s.io/cluster-manager");
        (seconds(version.received()), label.is_some())
    });
    versions.collect()
}

#[tokio::test(start_paused = true)]
async fn ends_at_once_if_nothing_is_open() {
    let world = World::of(&["a"]).await;
    let events = async {
        after(10).await;
        world.label("a", None).await;
        after(20).await;
        world.label("a", Some("m")).await;
    };
    let (evidence, reported) = world.settle(events, future::pending()).await;
    assert_eq!(settled(&evidence), (60, 0));
    assert!(reported.is_empty() && evidence.later.is_empty());
    assert_eq!(verdict(&evidence), Verdict::Pass);
    assert_eq!(seconds(world.clock.now()), 60);
}

#[tokio::test(start_paused = true)]
async fn waits_for_what_is_fixed_in_time() {
    let world = World::of(&["a"]).await;
    world.profile("b").await;
    let then = async {
        after(20).await;
        // What begins after the window counts for nothing.
        world.label("b", None).await;
        after(10).await;
        world.label("a", Some("m")).await;
    };
    let (evidence, reported) = world.settle(world.unlabelled(then), future::pending()).await;
    assert_eq!(settled(&evidence), (81, 1));
    assert_eq!(reported[0], (0, "1 profile".to_owned()));
    assert_eq!(reported.len(), 22, "{reported:?}");
    let [of_a] = &evidence.later.profiles[..] else {
        panic!("{:?}", evidence.later)
    };
    assert_eq!(later(of_a), [(50, false), (80, true)]);
    assert_eq!(verdict(&evidence), Verdict::Pass);
}

#[tokio::test(start_paused = true)]
async fn waits_until_a_violation_is_older_than_its_grace() {
    let world = World::of(&["a"]).await;
    let events = world.unlabelled(future::ready(()));
    let (evidence, _) = world.settle(events, future::pending()).await;
    let (until, profiles) = settled(&evidence);
    assert!((181..=187).contains(&until), "{until}");
    assert_eq!(profiles, 1);
    assert_eq!(verdict(&evidence), Verdict::Fail);
    // The window alone passes nothing that was open.
    let mut cut = evidence.clone();
    cut.later = Default::default();
    assert_eq!(verdict(&cut), Verdict::Inconclusive);
    cut.header.settled = None;
    assert_eq!(verdict(&cut), Verdict::Inconclusive, "evidence of older suites");
}

#[tokio::test(start_paused = true)]
async fn a_deletion_and_what_is_made_again_are_seen() {
    // The re-created profile has the label for a moment, and what begins after the window does not count.
    for label in [Some("m"), None] {
        let world = World::of(&["a"]).await;
        let then = async {
            after(20).await;
            world.delete("a").await;
            world.profile("a").await;
            world.label("a", label).await;
        };
        let (evidence, _) = world.settle(world.unlabelled(then), future::pending()).await;
        assert_eq!(evidence.later.profiles.len(), 2);
        assert_eq!(verdict(&evidence), Verdict::Pass, "{label:?}");
        assert_eq!(settled(&evidence), (71, 1), "{label:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_stopped_meanwhile_keeps_its_window() {
    let world = World::of(&["a"]).await;
    let (evidence, _) = world.settle(world.unlabelled(future::ready(())), after(90)).await;
    assert_eq!(settled(&evidence), (90, 1));
    assert!(evidence.header.settled.is_some_and(|settled| settled.cut_short));
    assert_eq!(verdict(&evidence), Verdict::Inconclusive);
}

#[tokio::test(start_paused = true)]
async fn a_hub_that_goes_away_leaves_it_open() {
    let world = World::of(&["a"]).await;
    let then = async {
        after(20).await;
        world.die();
    };
    let (evidence, _) = world.settle(world.unlabelled(then), future::pending()).await;
    assert_eq!(verdict(&evidence), Verdict::Inconclusive);
    assert!(!evidence.later.gaps.is_empty());
}

/// If a proxy delivers nothing any more, only the list at the end shows that the violation was fixed.
#[tokio::test(start_paused = true)]
async fn a_watch_that_breaks_misses_nothing_and_a_silent_one_fails_nothing() {
    for (is_silent, expected) in [(false, Verdict::Pass), (true, Verdict::Inconclusive)] {
        let world = World::of(&["a"]).await;
        let then = async {
            after(15).await;
            world.server.misbehave(Misbehaviour::DropWatches);
            if is_silent {
                world.hold(1_000_000);
            }
            after(5).await;
            world.label("a", Some("m")).await;
        };
        let (evidence, _) = world.settle(world.unlabelled(then), future::pending()).await;
        assert_eq!(verdict(&evidence), expected);
    }
}
