//! A watch counts only until the last list that confirms it.

use evidence::api::names::{LABEL_SECRET_PROFILE, LABEL_SECRET_PROFILE_NAMESPACE};
use judge::{Selection, Verdict, judge};

use super::*;

const FOREVER: u64 = 1_000_000;

#[tokio::test(start_paused = true)]
async fn a_watch_that_tells_nothing_leaves_a_gap() {
    // Short windows, and those in which the hub ends the silent watch or the runner gives it up.
    for window in [14, 100, 300, 900] {
        let world = World::new().await;
        world.hold(FOREVER);
        for name in ["changed", "gone", "kept"] {
            world.profile(name).await;
        }
        let events = async {
            after(5).await;
            world.profile("new").await;
            world.delete("gone").await;
            for version in ["v1", "v2", "v3"] {
                after(1).await;
                world.report("changed", version).await;
            }
        };
        let evidence = world.watch(window, events).await;
        let gap = only_gap(&evidence, Kind::Timeline);
        let (from, until) = span(gap);
        assert!(from == 0 && until >= window as i64, "{window} s: {gap:?}");
        assert!(gap.reason.contains("missed changes"), "{gap:?}");
        // What is judged is what the list shows.
        assert_eq!(story(&evidence, "changed"), [format!("Listed -@0 v3@{until}")]);
        assert_eq!(story(&evidence, "gone"), [format!("Listed -@0 gone@{until}")]);
        assert_eq!(story(&evidence, "new"), [format!("Relisted -@{until}")]);
        assert_eq!(story(&evidence, "kept"), ["Listed -@0"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_gap_begins_with_the_object_that_the_watch_missed_first() {
    let world = World::of(&["early", "late"]).await;
    let events = async {
        after(20).await;
        world.report("late", "v1").await;
        after(10).await;
        world.hold(FOREVER);
        world.server.misbehave(Misbehaviour::DropWatches);
        after(20).await;
        for name in ["early", "late"] {
            world.report(name, "v2").await;
        }
    };
    let evidence = world.watch(60, events).await;
    let gap = only_gap(&evidence, Kind::Timeline);
    assert_eq!(span(gap).0, 0, "{gap:?}");
}

#[tokio::test(start_paused = true)]
async fn a_quiet_watch_is_confirmed() {
    for window in [14, 100, 900] {
        let world = World::new().await;
        world.hold(FOREVER);
        world.profile("a").await;
        let evidence = world.watch(window, async {}).await;
        assert!(evidence.is_whole(Kind::Timeline), "{:?}", evidence.gaps);
        assert_eq!(story(&evidence, "a"), ["Listed -@0"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_at_the_last_moment_of_a_quiet_watch_is_not_late() {
    for window in [100, 240, 250, 480, 900] {
        let world = World::new().await;
        world.server.misbehave(Misbehaviour::WithholdBookmarks);
        world.profile("a").await;
        let events = async {
            after(window).await;
            world.report("a", "v1").await;
        };
        let evidence = world.watch(window, events).await;
        assert!(evidence.is_whole(Kind::Timeline), "{window} s");
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_may_be_a_moment_behind_the_list() {
    let world = World::new().await;
    world.hold(5);
    world.profile("a").await;
    world.profile("b").await;
    let events = async {
        after(58).await;
        world.report("a", "v1").await;
        world.delete("b").await;
        world.profile("c").await;
    };
    let evidence = world.watch(60, events).await;
    assert!(evidence.is_whole(Kind::Timeline), "{:?}", evidence.gaps);
    assert_eq!(story(&evidence, "a"), ["Listed -@0 v1@63"]);
    assert_eq!(story(&evidence, "b"), ["Listed -@0 gone@63"]);
    assert_eq!(story(&evidence, "c"), ["Created -@63"]);
}

#[tokio::test(start_paused = true)]
async fn one_namespace_s_silent_watch_is_no_other_s() {
    let world = World::new().await;
    world.namespace("other").await;
    world.hold(FOREVER);
    world.profile("a").await;
    world.profile_in("other", "b").await;
    let mut scoped = plan(60);
    scoped.scope.namespaces = vec!["default".to_owned(), "other".to_owned()];
    let events = async {
        after(10).await;
        world.report("a", "v1").await;
    };
    let evidence = world.collect(&scoped, events).await;
    let gap = only_gap(&evidence, Kind::Timeline);
    assert!(gap.reason.contains("of namespace default"), "{gap:?}");
    assert_eq!(story(&evidence, "b"), ["Listed -@0"]);
}

/// A consumer's Secret for that profile.
fn secret(profile: &str) -> Value {
    let labels = json!({LABEL_SECRET_PROFILE: profile, LABEL_SECRET_PROFILE_NAMESPACE: "default"});
    json!({"metadata": {"name": format!("for-{profile}"), "labels": labels}, "stringData": {"Config": "{}"}})
}

/// The verdict on whether each Secret names a profile, where a Secret and its profile come together ten seconds in.
async fn verdict_on_secrets(world: &World, then: impl Future<Output = ()>) -> (Verdict, Evidence) {
    world.profile("old").await;
    let events = async {
        after(10).await;
        world.profile("new").await;
        world.create(SECRETS, secret("new")).await;
        then.await;
    };
    let evidence = world.watch(300, events).await;
    let judgement = judge(&evidence, &Selection::default());
    let found = judgement.verdicts.iter();
    let mut found = found.filter(|each| each.rule.id == "consumers/secret-names-profile");
    (found.next().expect("it is judged").verdict, evidence)
}

#[tokio::test(start_paused = true)]
async fn secrets_are_never_newer_than_the_profiles() {
    let world = World::new().await;
    let (verdict, _) = verdict_on_secrets(&world, async {}).await;
    assert_eq!(verdict, Verdict::Pass);

    let world = World::new().await;
    world.hold(FOREVER);
    let (verdict, _) = verdict_on_secrets(&world, async {}).await;
    assert_eq!(verdict, Verdict::Pass, "the list brings the profile");

    // Without the list there is none to compare them with.
    let world = World::new().await;
    world.hold(FOREVER);
    let spoil = async {
        after(100).await;
        for verb in ["list", "watch"] {
            world.refuse(verb, 503, None, usize::MAX);
        }
    };
    let (verdict, evidence) = verdict_on_secrets(&world, spoil).await;
    assert_eq!(verdict, Verdict::Inconclusive);
    let gap = only_gap(&evidence, Kind::Secrets);
    assert!(gap.reason.contains("so Secrets were not compared"), "{gap:?}");
}
