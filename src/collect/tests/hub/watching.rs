//! The watch, and what a hub may do to it.

use super::*;

/// A hub without streaming lists refuses their options.
#[tokio::test(start_paused = true)]
async fn follows_a_streaming_list_or_another_one() {
    for (streams, expected_lists) in [(true, 1), (false, 2)] {
        let world = World::of(&["kept", "gone", "again"]).await;
        if !streams {
            world.refuse("watch", 422, None, 1);
        }
        let events = async {
            after(10).await;
            world.report("kept", "v1.34.1").await;
            after(10).await;
            world.profile("new").await;
            world.delete("gone").await;
            after(10).await;
            world.delete("again").await;
            after(10).await;
            world.profile("again").await;
        };
        let evidence = world.watch(60, events).await;
        assert_eq!(story(&evidence, "kept"), ["Listed -@0 v1.34.1@10"]);
        assert_eq!(story(&evidence, "new"), ["Created -@20"]);
        assert_eq!(story(&evidence, "gone"), ["Listed -@0 gone@20"]);
        assert_eq!(story(&evidence, "again"), ["Listed -@0 gone@30", "Created -@40"]);
        assert!(evidence.is_whole(Kind::Timeline), "{:?}", evidence.gaps);
        let window = evidence.header.window.expect("a window");
        assert_eq!((seconds(window.from), seconds(window.until)), (0, 60));

        let requests = world.requests();
        let uris = requests.iter().filter_map(|event| event["requestURI"].as_str());
        let has = |words: &str| uris.clone().filter(|uri| uri.contains(words)).count();
        assert!(has("clusterprofiles?watch=true&sendInitialEvents=true") > 0);
        // At the end, and at the beginning if it could not be streamed.
        assert_eq!(has("clusterprofiles?limit="), expected_lists, "{streams}");
    }
}

#[tokio::test(start_paused = true)]
async fn resumes_a_dropped_watch_and_misses_nothing() {
    let world = World::of(&["a"]).await;
    let events = async {
        after(10).await;
        world.server.misbehave(Misbehaviour::DropWatches);
        world.report("a", "v1").await;
        after(20).await;
        // Half an hour of peace: the hub ends the watch now and then, as every hub does.
        after(1800).await;
        world.report("a", "v2").await;
    };
    let evidence = world.watch(1900, events).await;
    assert_eq!(story(&evidence, "a"), ["Listed -@0 v1@10 v2@1830"]);
    assert!(evidence.is_whole(Kind::Timeline), "{:?}", evidence.gaps);
}

#[tokio::test(start_paused = true)]
async fn lists_again_after_410_and_says_what_was_missed() {
    let world = World::of(&["kept", "changed", "gone"]).await;
    let events = async {
        after(10).await;
        world.die();
        after(20).await;
        world.server.misbehave(Misbehaviour::Recover);
        world.report("changed", "v1").await;
        world.report("changed", "v2").await;
        world.delete("gone").await;
        world.profile("new").await;
        world.server.misbehave(Misbehaviour::CompactHistory);
        after(30).await;
        world.report("kept", "v3").await;
    };
    let evidence = world.watch(120, events).await;
    let gap = only_gap(&evidence, Kind::Timeline);
    let (from, until) = span(gap);
    assert!(from == 10 && (30..=45).contains(&until), "{gap:?}");
    assert!(gap.reason.contains("410"), "{gap:?}");
    assert_eq!(story(&evidence, "kept"), ["Listed -@0 v3@60"]);
    assert_eq!(story(&evidence, "changed"), [format!("Listed -@0 v2@{until}")]);
    assert_eq!(story(&evidence, "gone"), [format!("Listed -@0 gone@{until}")]);
    assert_eq!(story(&evidence, "new"), [format!("Relisted -@{until}")]);
}

#[tokio::test(start_paused = true)]
async fn waits_as_long_as_a_busy_hub_asks() {
    let world = World::of(&["a"]).await;
    for verb in ["watch", "list"] {
        world.refuse(verb, 429, Some(7), 2);
    }
    let evidence = world.watch(0, async {}).await;
    assert_eq!(story(&evidence, "a"), ["Listed -@14"]);
    let events = async {
        after(30).await;
        world.report("a", "v1").await;
    };
    let evidence = world.watch(60, events).await;
    assert_eq!(story(&evidence, "a"), ["Listed -@28 v1@44"]);
    assert!(evidence.is_whole(Kind::Timeline), "{:?}", evidence.gaps);
}

#[tokio::test(start_paused = true)]
async fn a_hub_that_dies_leaves_a_gap_to_the_end() {
    let world = World::of(&["a"]).await;
    let events = async {
        after(60).await;
        world.die();
    };
    let evidence = world.watch(600, events).await;
    assert_eq!(story(&evidence, "a"), ["Listed -@0"]);
    let gap = only_gap(&evidence, Kind::Timeline);
    assert_eq!(span(gap), (60, 600));
    assert!(gap.reason.contains("503"), "{gap:?}");
    assert_eq!(gaps(&evidence, Kind::Namespaces).len(), 1);
    assert!(evidence.namespace("default").is_some());
    assert_eq!(gaps(&evidence, Kind::Secrets).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_interruption_is_a_gap_only_when_changes_came_late() {
    for (late, expected) in [(true, 1), (false, 0)] {
        let world = World::of(&["a"]).await;
        let events = async {
            after(60).await;
            world.die();
            after(60).await;
            world.server.misbehave(Misbehaviour::Recover);
            if late {
                world.report("a", "v1").await;
            }
            after(60).await;
            world.report("a", "v2").await;
        };
        let evidence = world.watch(300, events).await;
        let gaps = gaps(&evidence, Kind::Timeline);
        assert_eq!(gaps.len(), expected, "{gaps:?}");
        for gap in gaps {
            let (from, until) = span(gap);
            assert!(from == 60 && (120..140).contains(&until), "{gap:?}");
        }
        let versions = evidence.profiles[0].versions.len();
        assert_eq!(versions, if late { 3 } else { 2 });
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_stopped_keeps_what_it_saw() {
    let world = World::of(&["a"]).await;
    let events = async {
        after(10).await;
        world.report("a", "v1").await;
    };
    let evidence = world.collect_until(&plan(300), events, after(80)).await;
    assert_eq!(story(&evidence, "a"), ["Listed -@0 v1@10"]);
    let gap = only_gap(&evidence, Kind::Timeline);
    assert_eq!(span(gap), (80, 300));
    assert!(gap.reason.contains("80 s of 300 s"), "{gap:?}");
    assert!(evidence.is_whole(Kind::Namespaces) && evidence.namespace("default").is_some());
    assert_eq!(seconds(evidence.header.window.expect("a window").until), 80);
    assert_eq!(seconds(world.clock.now()), 80);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_stopped_has_not_seen_what_it_waited_for_in_vain() {
    let world = World::of(&["a"]).await;
    let events = async {
        after(75).await;
        world.server.misbehave(Misbehaviour::Delay {
            affected: Default::default(),
            by: Duration::from_secs(60),
        });
    };
    let evidence = world.collect_until(&plan(300), events, after(80)).await;
    let until = seconds(evidence.header.window.expect("a window").until);
    let unseen = evidence.gaps(Kind::Timeline).map(|gap| span(gap).0).min();
    assert!(until > 80 && unseen <= Some(80), "{:?}", evidence.gaps);
}

#[tokio::test(start_paused = true)]
async fn tells_how_it_goes_on() {
    use std::sync::Mutex;

    #[derive(Default)]
    struct Notes(Mutex<Vec<(u64, usize, u64)>>);
    impl Progress for Notes {
        fn tick(&self, elapsed: Duration, observe: Duration, profiles: usize, writes: u64) {
            assert_eq!(observe.as_secs(), 10);
            let note = (elapsed.as_secs(), profiles, writes);
            self.0.lock().expect("a lock").push(note);
        }
    }
    let world = World::of(&["a"]).await;
    let notes = Notes::default();
    let (plan, events) = (plan(10), async {
        sleep(Duration::from_millis(4500)).await;
        world.profile("b").await;
        world.report("b", "v1").await;
        world.delete("a").await;
    });
    let collected = world.collect_and_report(&plan, &notes, events, future::pending());
    collected.await.expect("evidence");
    let notes = notes.0.into_inner().expect("notes");
    assert_eq!((notes[0], notes[3], notes[4]), ((1, 1, 0), (4, 1, 0), (5, 1, 3)));
}
