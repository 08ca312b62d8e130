//! Observations that go on.

use collect::ongoing::{self, Following, View};
use jiff::SignedDuration;
use judge::{Selection, Verdict, judge};

use super::*;

const HOUR: u64 = 3600;

impl World {
    /// Begins an observation with a window of an hour.
    pub(super) async fn go_on(&self) -> (Following, View) {
        let (plan, stop) = (plan(30), CancellationToken::new());
        let window = Duration::from_secs(HOUR);
        ongoing::observe(&self.hub.connection, &plan, window, self.clock, &Quiet, stop)
            .await
            .expect("an observation")
    }

    /// All requests are answered again.
    fn recover(&self) {
        self.server.misbehave(Misbehaviour::Recover);
    }
}

/// Follows the hub while `events` happens beside.
pub(super) async fn follow<T>(following: &mut Following, events: impl Future<Output = T>) -> T {
    tokio::select! {
        biased;
        outcome = events => outcome,
        never = following.follow() => match never {},
    }
}

#[tokio::test(start_paused = true)]
async fn shows_what_a_run_sees_until_now() {
    let world = World::new().await;
    world.profile("a").await;
    let (mut following, mut view) = world.go_on().await;
    assert!(view.refresh(false), "the first look is at everything");
    follow(&mut following, async {
        after(10).await;
        world.report("a", "v1").await;
        world.profile("b").await;
        after(1).await;
        assert!(view.is_behind());
        assert!(!view.refresh(false), "what changed is enough");
        assert_eq!(story(view.evidence(), "a"), ["Listed -@0 v1@10"]);
        assert_eq!(story(view.evidence(), "b"), ["Created -@10"]);
        let window = view.evidence().header.window.expect("a window");
        assert_eq!((seconds(window.from), seconds(window.until)), (0, 11));
        after(9).await;
        assert!(!view.is_behind());
        world.delete("b").await;
        world
            .create("/api/v1/namespaces", json!({"metadata": {"name": "new"}}))
            .await;
        after(1).await;
        assert!(view.is_behind());
        assert!(!view.refresh(false));
        assert_eq!(story(view.evidence(), "b"), ["Created -@10 gone@20"]);
        assert!(view.evidence().namespace("new").is_some());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_window_rolls_on() {
    let world = World::new().await;
    world.profile("a").await;
    world.profile("gone").await;
    let (mut following, mut view) = world.go_on().await;
    follow(&mut following, async {
        after(10).await;
        world.report("a", "v1").await;
        world.delete("gone").await;
        after(HOUR).await;
        world.report("a", "v2").await;
        after(1).await;
        // The window goes from 11 s to an hour later.
        assert!(view.refresh(true));
        assert_eq!(story(view.evidence(), "a"), ["Listed v1@11 v2@3610"]);
        assert!(story(view.evidence(), "gone").is_empty());
        let window = view.evidence().header.window.expect("a window");
        assert_eq!((seconds(window.from), seconds(window.until)), (11, 3611));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_hub_that_is_away_leaves_a_gap_and_comes_back() {
    let world = World::new().await;
    world.profile("a").await;
    let (mut following, mut view) = world.go_on().await;
    view.refresh(true);
    follow(&mut following, async {
        after(100).await;
        assert_eq!(view.health().lost, None);
        world.die();
        after(300).await;
        let health = view.health();
        let lost = health.lost.expect("it is lost");
        assert!(lost.contains("503"), "{lost}");
        assert!((95..=101).contains(&seconds(health.heard)), "{:?}", health.heard);
        view.refresh(false);
        let [gap] = gaps(view.evidence(), Kind::Timeline)[..] else {
            panic!("{:?}", view.evidence().gaps)
        };
        assert_eq!(span(gap).1, 400);
        let away = view.gap_seconds();
        assert!((295.0..=305.0).contains(&away), "{away}");

        world.recover();
        after(60).await;
        world.report("a", "v1").await;
        after(1).await;
        assert_eq!(view.health().lost, None);
        view.refresh(false);
        assert_eq!(story(view.evidence(), "a").len(), 1);
        assert!(story(view.evidence(), "a")[0].ends_with(" v1@460"));
        assert!(view.gap_seconds() >= away);
        // A bookmark tells a minute later that nothing happened meanwhile.
        after(HOUR).await;
        view.refresh(true);
        assert!(
            gaps(view.evidence(), Kind::Timeline).is_empty(),
            "it lies before the window"
        );
        assert!(view.gap_seconds() >= away, "and counts still");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn lost_history_is_made_up_for_by_a_list() {
    let world = World::new().await;
    world.profile("a").await;
    world.profile("b").await;
    let (mut following, mut view) = world.go_on().await;
    follow(&mut following, async {
        after(30).await;
        world.die();
        after(60).await;
        // Changed while nobody watched, and then forgotten.
        world.recover();
        world.report("a", "v1").await;
        world.delete("b").await;
        world
            .server
            .misbehave(Misbehaviour::CompactBefore(Default::default()));
        after(120).await;
        view.refresh(true);
        assert!(
            story(view.evidence(), "a")[0].contains(" v1@"),
            "{:?}",
            story(view.evidence(), "a")
        );
        assert!(story(view.evidence(), "b")[0].contains(" gone@"));
        assert!(!gaps(view.evidence(), Kind::Timeline).is_empty());
        assert_eq!(view.health().lost, None);
    })
    .await;
}

/// What a monitor holds depends on the hub and the window, and not on how long it lasts.
#[tokio::test(start_paused = true)]
async fn three_days_with_churn_hold_no_more_than_a_day() {
    const MINUTES: u64 = 3 * 24 * 60;
    let world = World::new().await;
    for name in ["a", "b", "c"] {
        world.profile(name).await;
    }
    let (mut following, mut view) = world.go_on().await;
    let mut most = [0; 3];
    follow(&mut following, async {
        for minute in 0..MINUTES {
            world.report("a", &format!("v1.{minute}")).await;
            if minute % 30 == 0 {
                world.profile(&format!("new-{minute}")).await;
            }
            if minute % 30 == 15 {
                world.delete(&format!("new-{}", minute - 15)).await;
            }
            if minute % (12 * 60) == 600 {
                world.server.misbehave(Misbehaviour::DropWatches);
            }
            after(60).await;
            view.refresh(true);
            let day = usize::try_from(minute / (24 * 60)).expect("a day");
            most[day] = most[day].max(view.versions());
        }
    })
    .await;
    // One profile with 60 changes an hour, and two that come and go.
    assert!(most[0] < 100, "{most:?}");
    assert!(
        most.iter().all(|most_of_day| most_of_day.abs_diff(most[1]) <= 2),
        "{most:?}"
    );
    assert_eq!(view.evidence().inventory().count(), 3);
    let judgement = judge(view.evidence(), &Selection::default());
    let rate = judgement
        .verdicts
        .iter()
        .find(|verdict| verdict.rule.id == "updates/average-rate");
    assert_eq!(rate.map(|verdict| verdict.verdict), Some(Verdict::Pass));
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_profile_is_out_until_it_can_be_read() {
    let world = World::new().await;
    world.profile("a").await;
    let (mut following, mut view) = world.go_on().await;
    view.refresh(true);
    let place = |labels: Value| {
        let metadata = json!({"name": "odd", "namespace": "default", "uid": "odd", "labels": labels});
        world.server.place(
            ("multicluster.x-k8s.io", "clusterprofiles"),
            json!({"apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile", "metadata": metadata}),
        );
    };
    follow(&mut following, async {
        after(10).await;
        place(json!("none"));
        after(1).await;
        assert!(view.refresh(false));
        assert_eq!(view.evidence().unreadable.len(), 1);
        assert_eq!(view.evidence().inventory().count(), 1);
        after(10).await;
        place(json!({}));
        after(1).await;
        view.refresh(false);
        assert!(
            view.evidence().unreadable.is_empty(),
            "{:?}",
            view.evidence().unreadable
        );
        assert_eq!(view.evidence().inventory().count(), 2);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn clocks_that_are_set_later_are_noticed() {
    let world = World::new().await;
    world.profile("a").await;
    let (mut following, mut view) = world.go_on().await;
    view.refresh(true);
    assert_eq!(view.evidence().header.clock_skew_ms, Some(0));
    follow(&mut following, async {
        for hours in [1, -2, 0] {
            world.server.misbehave(Misbehaviour::Recover);
            let ahead = SignedDuration::from_hours(hours);
            world.server.misbehave(Misbehaviour::SkewClock(ahead));
            after(300).await;
            view.refresh(true);
            let skew = view.evidence().header.clock_skew_ms.expect("it is known");
            let error = i128::from(skew) - ahead.as_millis();
            assert!(error.abs() <= 1000, "{skew} ms at {hours} h");
        }
    })
    .await;
}
