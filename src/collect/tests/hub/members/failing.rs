//! Members that do not answer as they should.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_member_that_never_answers_is_a_gap_of_its_own() {
    let world = World::of(&["a"]).await;
    let down = FakeMember::new("a", world.clock, state());
    down.alter(|member| member.unreachable = true);
    let up = FakeMember::new("b", world.clock, state());
    let evidence = world.ask(60, vec![lab_way("a", &down), lab_way("b", &up)]).await;
    let gap = only_gap(&evidence, Kind::Members);
    assert_eq!(gap.object.as_ref().expect("of one member").path(), "default/a");
    assert!(gap.reason.contains("connection refused"), "{}", gap.reason);
    assert!(member(&evidence, "a").samples.is_empty());
    let samples = &member(&evidence, "b").samples;
    assert!(samples.iter().all(|sample| sample.missing.is_empty()));
}

#[tokio::test(start_paused = true)]
async fn an_outage_stands_between_the_samples() {
    let world = World::new().await;
    let fake_member = FakeMember::new("a", world.clock, state());
    let events = async {
        after(45).await;
        fake_member.alter(|member| member.unreachable = true);
        after(60).await;
        fake_member.alter(|member| member.unreachable = false);
    };
    let accesses = vec![lab_way("a", &fake_member)];
    let evidence = world.collect(&asking(140, accesses), events).await;
    assert!(evidence.gaps.is_empty(), "{:?}", evidence.gaps);
    let samples = &member(&evidence, "a").samples;
    let whole: Vec<bool> = samples.iter().map(|sample| sample.missing.is_empty()).collect();
    assert_eq!(whole, [true, true, false, false, true]);
    assert_eq!(
        missed(&samples[2], "refused").len(),
        6,
        "{:?}",
        samples[2].missing
    );
}

#[tokio::test(start_paused = true)]
async fn what_the_runner_may_not_read_is_missed_with_the_grant() {
    let world = World::new().await;
    let fake_member = FakeMember::new("a", world.clock, state());
    let accesses = vec![way("a", fake_member.client_as(FakeMember::CONSUMER, USER_AGENT))];
    let evidence = world.ask(0, accesses).await;
    let sample = &member(&evidence, "a").samples[0];
    assert!(sample.version.is_some() && sample.readyz.is_some());
    let forbidden = missed(sample, "403 Forbidden: grant ");
    assert_eq!(forbidden.len(), 4, "{:?}", sample.missing);
    assert!(sample.missing[&MemberPart::Nodes].contains("grant list on nodes"));
}

#[tokio::test(start_paused = true)]
async fn a_slow_member_is_given_up_within_the_budget() {
    let world = World::new().await;
    let (dead, slow) = (Fake::slow(11).client(), Fake::slow(9).client());
    let evidence = world.ask(0, vec![way("dead", dead), way("slow", slow)]).await;
    let gap = only_gap(&evidence, Kind::Members);
    assert!(gap.reason.contains("no answer came for 10 s"), "{gap:?}");
    let sample = &member(&evidence, "slow").samples[0];
    assert!(sample.readyz.is_some() && sample.version.is_some());
    assert_eq!(missed(sample, "at most 30 s").len(), 4, "{:?}", sample.missing);
    assert_eq!(seconds(sample.until) - seconds(sample.from), 30);
}

#[tokio::test(start_paused = true)]
async fn one_part_that_fails_spoils_no_other() {
    use MemberPart::{ClusterProperties, CustomResourceGroups, Leases, Nodes, Readyz, Version};

    let world = World::new().await;
    let huge: &str = format!("{{\"items\": [{{\"a\": \"{}", "x".repeat(70 << 20)).leak();
    let long: &str = "x".repeat(2 << 20).leak();
    let cases = [
        ("/version", 200, "<html>CANARY", Version, "cannot be read"),
        (
            "/version",
            302,
            "CANARY",
            Version,
            "302 Found, which is not followed",
        ),
        ("/version", 200, long, Version, "too large"),
        (
            "/api/v1/nodes",
            200,
            "{\"items\": [CANARY",
            Nodes,
            "cannot be read",
        ),
        (
            "/api/v1/nodes",
            401,
            r#"{"message": "CANARY"}"#,
            Nodes,
            "401 Unauthorized",
        ),
        (
            "/apis/coordination",
            200,
            r#"{"spec": "CANARY"}"#,
            Leases,
            "cannot be read",
        ),
        ("/apis/about", 500, "CANARY", ClusterProperties, "answered 500"),
        ("/readyz", 503, "CANARY no backend", Readyz, "answered 503"),
        ("/apis/apiext", 200, huge, CustomResourceGroups, "too large"),
    ];
    for (path, code, body, part, words) in cases {
        let fake = Fake::but_for(path, code, body);
        let evidence = world.ask(0, vec![way("a", fake.client())]).await;
        assert!(evidence.gaps.is_empty(), "{:?}", evidence.gaps);
        let sample = &member(&evidence, "a").samples[0];
        assert_eq!(missed(sample, words), [&part], "{path}: {:?}", sample.missing);
        assert_eq!(sample.missing.len(), 1, "{path}: {:?}", sample.missing);
        assert!(!format!("{:?}", fake.seen()).contains("CANARY"), "{path}");
        assert_no_canary(&evidence);
    }
}

#[tokio::test(start_paused = true)]
async fn a_member_s_list_brings_no_more_than_it_may() {
    let world = World::new().await;
    let fake = Fake::new(|_, path| match path.strip_prefix("/apis/about.k8s.io") {
        Some("") => (200, json!({"versions": [{"version": "v1"}]}).to_string()),
        // Pages without an end, of 2 MiB each.
        Some(_) => {
            let rest = json!({"continue": "x".repeat(path.len())});
            let page = json!({"metadata": rest, "items": [{"a": "x".repeat(2 << 20)}]});
            (200, page.to_string())
        }
        None => well(path),
    });
    let evidence = world.ask(0, vec![way("a", fake.client())]).await;
    let sample = &member(&evidence, "a").samples[0];
    let large = missed(sample, "the list is too large: more than 4 MiB");
    assert_eq!(large, [&MemberPart::ClusterProperties], "{:?}", sample.missing);
}

#[tokio::test(start_paused = true)]
async fn a_member_that_is_busy_for_a_moment_is_asked_once_more() {
    let world = World::new().await;
    let busy = Arc::new(Mutex::new(2));
    let fake = Fake::new(move |_, path| {
        let mut left = busy.lock().expect("no panic");
        if path == "/version" && *left > 0 {
            *left -= 1;
            return (429, String::new());
        }
        well(path)
    });
    let evidence = world.ask(45, vec![way("a", fake.client())]).await;
    let samples = member(&evidence, "a").samples.iter();
    assert!(samples.map(|sample| sample.version.is_some()).eq([false, true]));
}

#[tokio::test(start_paused = true)]
async fn the_age_of_a_lease_is_told_by_the_member_s_clock() {
    let world = World::new().await;
    let ahead = world.clock.skewed(jiff::SignedDuration::from_hours(5));
    let fake_member = FakeMember::new("a", ahead, state());
    let accesses = vec![lab_way("a", &fake_member)];
    let evidence = world.ask(0, accesses).await;
    let sample = &member(&evidence, "a").samples[0];
    let leases = sample.leases.as_ref().expect("leases");
    let is_fresh = |lease: &Lease| (-1..=2).contains(&lease.age_seconds);
    assert!(leases.len() == 2 && leases.iter().all(is_fresh), "{leases:?}");
}
