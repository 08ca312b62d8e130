//! A run of a day: its evidence grows with what changed, not with time.

use std::{collections::HashSet, sync::Arc};

use collect::{MemberWay, connect::USER_AGENT};
use evidence::ObjectKey;
use lab::member::{MemberState, StandIn};

use super::*;

const HOUR: u64 = 3600;

/// A profile with much that seldom changes.
fn large(name: &str) -> Value {
    let property =
        |number: usize| json!({"name": format!("p{number}.example.com"), "value": "x".repeat(100)});
    let mut large = profile(name);
    large["status"] = json!({"properties": (0..20).map(property).collect::<Vec<_>>()});
    large
}

/// Creates a profile, and its status.
async fn join(world: &World, name: &str) {
    let profile = large(name);
    world.create(PROFILES, profile.clone()).await;
    let path = format!("{PROFILES}/{name}/status");
    let status = json!({"status": profile["status"]});
    let patched = world.send(Method::PATCH, &path, Some(status)).await;
    patched.expect("patched");
}

/// The lengths of the evidence file's records of a kind.
fn lengths(evidence: &Evidence, kind: &str) -> Vec<usize> {
    let mut file = Vec::new();
    evidence::file::write_to(evidence, &mut file).expect("written");
    let text = String::from_utf8(file).expect("text");
    let beginning = format!("{{\"{kind}\":");
    let records = text.lines().filter(|line| line.starts_with(&beginning));
    records.map(str::len).collect()
}

#[tokio::test(start_paused = true)]
async fn a_quiet_day_is_no_larger_than_a_quiet_hour() {
    let mut sizes = Vec::new();
    for hours in [1, 24] {
        let world = World::new().await;
        for number in 0..10 {
            join(&world, &format!("a{number}")).await;
        }
        // Each watch that ends is taken up again, and the hub's bookmarks go on.
        let events = async {
            for _ in 0..6 * hours - 1 {
                after(HOUR / 6).await;
                world.server.misbehave(Misbehaviour::DropWatches);
            }
        };
        let evidence = world.watch(hours * HOUR, events).await;
        assert!(evidence.is_whole(Kind::Timeline), "{:?}", evidence.gaps);
        assert_eq!(lengths(&evidence, "patch").len(), 0);
        let mut file = Vec::new();
        evidence::file::write_to(&evidence, &mut file).expect("written");
        sizes.push(file.len());
    }
    let (hour, day) = (sizes[0], sizes[1]);
    assert!(day.abs_diff(hour) < 100, "{hour} bytes, then {day}");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_shows_nothing_new_adds_nothing() {
    let world = World::new().await;
    join(&world, "a").await;
    let events = async {
        for _ in 0..5 {
            after(HOUR).await;
            // The hub no longer has the changes: all profiles are listed again.
            world.die();
            after(20).await;
            world.server.misbehave(Misbehaviour::Recover);
            world.profile("passing").await;
            world.delete("passing").await;
            world.server.misbehave(Misbehaviour::CompactHistory);
        }
    };
    let evidence = world.watch(6 * HOUR, events).await;
    assert_eq!(gaps(&evidence, Kind::Timeline).len(), 5, "one for each list");
    assert_eq!(story(&evidence, "a").len(), 1);
    assert_eq!(lengths(&evidence, "patch").len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_member_that_answers_the_same_adds_times_and_no_more() {
    const HOURS: u64 = 3;
    let world = World::new().await;
    world.profile("a").await;
    let state = MemberState {
        custom_resource_groups: (0..100)
            .map(|group| format!("group-{group}.example.com"))
            .collect(),
        ..MemberState::default()
    };
    let stand_in = StandIn::new("a", world.clock, state);
    let key = ObjectKey {
        namespace: "default".to_owned(),
        name: "a".to_owned(),
    };
    let client = stand_in.client_as(StandIn::ASKER, USER_AGENT);
    // Before the next look.
    let mut plan = plan(HOURS * HOUR - 30);
    plan.members.ways = vec![MemberWay::by_client(key, "a test", client)];
    let evidence = world.collect(&plan, async {}).await.expect("evidence");
    let looks = &evidence.members[0].looks;
    assert_eq!(looks.len() as u64, 60 * HOURS);
    let sets: HashSet<_> = looks
        .iter()
        .map(|look| look.leases.as_ref().map(Arc::as_ptr))
        .collect();
    assert!(sets.len() < 10, "each look has leases of its own: {}", sets.len());
    let later = lengths(&evidence, "memberSample");
    assert_eq!(later.len(), looks.len() - 1);
    let longest = later.iter().max();
    assert!(
        longest < Some(&300),
        "{longest:?} bytes, of {:?}",
        lengths(&evidence, "member")
    );
}

#[tokio::test(start_paused = true)]
async fn evidence_grows_by_what_changed() {
    const PROFILES: usize = 5;
    const HOURS: usize = 6;
    let world = World::new().await;
    for number in 0..PROFILES {
        join(&world, &format!("a{number}")).await;
    }
    let events = async {
        for hour in 0..HOURS {
            for minute in (0..60).step_by(10) {
                after(HOUR / 6 - 1).await;
                for number in 0..PROFILES {
                    world
                        .report(&format!("a{number}"), &format!("v1.{hour}.{minute}"))
                        .await;
                }
                after(1).await;
            }
            join(&world, &format!("new{hour}")).await;
            world.delete(&format!("new{hour}")).await;
        }
        after(60).await;
    };
    let evidence = world.watch(HOURS as u64 * HOUR + 120, events).await;
    let profiles = lengths(&evidence, "profile");
    let changes = lengths(&evidence, "patch");
    assert_eq!(profiles.len(), PROFILES + HOURS);
    assert_eq!(lengths(&evidence, "deleted").len(), HOURS);
    // A write a profile every 10 minutes, and the first status of each that came.
    let writes = PROFILES * HOURS * 6;
    assert_eq!(changes.len(), writes + HOURS);
    let small = changes.iter().filter(|length| **length < 500).count();
    assert_eq!(
        small, writes,
        "a write of one field repeats no other: {changes:?}"
    );
    assert!(profiles[0] > 2000, "{profiles:?}");
}
