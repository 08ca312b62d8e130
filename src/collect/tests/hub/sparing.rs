//! A hub that ends watches early is spared, and an honest manager on it is not blamed.

use super::*;

/// A world with that many namespaces next to `default`, and a plan for all of them.
async fn wide(namespaces: usize, seconds: u64) -> (World, Plan) {
    let world = World::new().await;
    let mut plan = plan(seconds);
    for number in 0..namespaces {
        let name = format!("n{number}");
        world.namespace(&name).await;
        world.profile_in(&name, "a").await;
        plan.scope.namespaces.push(name);
    }
    (world, plan)
}

/// How many watches were opened.
fn watches(world: &World) -> usize {
    let requests = world.requests();
    let uris = requests.iter().filter_map(|event| event["requestURI"].as_str());
    uris.filter(|uri| uri.contains("watch=true")).count()
}

#[tokio::test(start_paused = true)]
async fn a_manager_that_writes_now_and_then_is_seen_in_time() {
    let world = World::of(&["a"]).await;
    world.server.misbehave(Misbehaviour::DropWatchesAfter(1));
    let events = async {
        for number in 1..=12 {
            after(10).await;
            world.report("a", &format!("v{number}")).await;
        }
    };
    let evidence = world.watch(130, events).await;
    assert!(evidence.is_whole(Kind::Timeline), "{:?}", evidence.gaps);
    let seen: String = (1..=12).map(|number| format!(" v{number}@{number}0")).collect();
    assert_eq!(story(&evidence, "a"), [format!("Listed -@0{seen}")]);
    assert!(watches(&world) <= 16, "{}", watches(&world));
}

#[tokio::test(start_paused = true)]
async fn changes_that_come_too_fast_for_such_a_hub_leave_a_gap() {
    let world = World::of(&["a"]).await;
    world.server.misbehave(Misbehaviour::DropWatchesAfter(1));
    let events = async {
        for number in 1..=300 {
            sleep(Duration::from_millis(200)).await;
            world.report("a", &format!("v{number}")).await;
        }
    };
    let evidence = world.watch(90, events).await;
    let gap = only_gap(&evidence, Kind::Timeline);
    let (from, until) = span(gap);
    assert!(from <= 10 && until >= 90, "{gap:?}");
    assert!(watches(&world) <= 120, "{}", watches(&world));
    let of_a = &story(&evidence, "a")[0];
    assert!(
        of_a.contains(" v300@"),
        "the list at the end has the last one: {of_a}"
    );
}

#[tokio::test(start_paused = true)]
async fn many_watches_together_spare_the_hub_as_one_does() {
    let (world, plan) = wide(50, 300).await;
    let events = async {
        after(10).await;
        // From now on, no watch lasts.
        world.server.misbehave(Misbehaviour::DropWatchesAfter(0));
        world.server.misbehave(Misbehaviour::DropWatches);
    };
    world.collect(&plan, events).await;
    // Those at the start, those that came back at once, and one a second.
    assert!(watches(&world) <= 50 + 110 + 300, "{}", watches(&world));
}

#[tokio::test(start_paused = true)]
async fn many_watches_come_back_together_when_the_hub_restarts() {
    let (world, plan) = wide(50, 60).await;
    let events = async {
        after(10).await;
        world.server.misbehave(Misbehaviour::DropWatches);
        for namespace in &plan.scope.namespaces {
            let path = format!("{}/a", PROFILES.replace("default", namespace));
            let patch = json!({"spec": {"displayName": "changed"}});
            world.patch(&path, patch).await;
        }
    };
    let evidence = world.collect(&plan, events).await;
    assert!(evidence.is_whole(Kind::Timeline), "{:?}", evidence.gaps);
    for history in &evidence.profiles {
        let versions = history.versions.iter();
        let versions: Vec<i64> = versions.map(|version| seconds(version.received())).collect();
        assert!(matches!(versions[..], [0, 10..=12]), "{versions:?}");
    }
}
