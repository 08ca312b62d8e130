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
    assert!(member(&evidence, "a").looks.is_empty());
    let looks = &member(&evidence, "b").looks;
    assert!(looks.iter().all(|look| look.missing.is_empty()));
}

#[tokio::test(start_paused = true)]
async fn an_outage_stands_between_the_looks() {
    let world = World::new().await;
    let fake_member = FakeMember::new("a", world.clock, state());
    let events = async {
        after(45).await;
        fake_member.alter(|member| member.unreachable = true);
        after(60).await;
        fake_member.alter(|member| member.unreachable = false);
    };
    let ways = vec![lab_way("a", &fake_member)];
    let evidence = world.collect(&asking(140, ways), events).await.expect("evidence");
    assert!(evidence.gaps.is_empty(), "{:?}", evidence.gaps);
    let looks = &member(&evidence, "a").looks;
    let whole: Vec<bool> = looks.iter().map(|look| look.missing.is_empty()).collect();
    assert_eq!(whole, [true, true, false, false, true]);
    assert_eq!(missed(&looks[2], "refused").len(), 6, "{:?}", looks[2].missing);
}

#[tokio::test(start_paused = true)]
async fn what_the_runner_may_not_read_is_missed_with_the_grant() {
    let world = World::new().await;
    let fake_member = FakeMember::new("a", world.clock, state());
    let ways = vec![way("a", fake_member.client_as(FakeMember::CONSUMER, USER_AGENT))];
    let evidence = world.ask(0, ways).await;
    let look = &member(&evidence, "a").looks[0];
    assert!(look.version.is_some() && look.readyz.is_some());
    assert_eq!(
        missed(look, "403 Forbidden: grant ").len(),
        4,
        "{:?}",
        look.missing
    );
    assert!(look.missing[&MemberPart::Nodes].contains("grant list on nodes"));
}

#[tokio::test(start_paused = true)]
async fn a_slow_member_is_given_up_within_the_budget() {
    let world = World::new().await;
    let ways = vec![
        way("dead", Fake::slow(11).client()),
        way("slow", Fake::slow(9).client()),
    ];
    let evidence = world.ask(0, ways).await;
    assert!(
        gaps(&evidence, Kind::Members)[0]
            .reason
            .contains("no answer came for 10 s")
    );
    let look = &member(&evidence, "slow").looks[0];
    assert!(look.readyz.is_some() && look.version.is_some());
    assert_eq!(missed(look, "at most 30 s").len(), 4, "{:?}", look.missing);
    assert_eq!(seconds(look.until) - seconds(look.from), 30);
}

#[tokio::test(start_paused = true)]
async fn one_part_that_fails_spoils_no_other() {
    let world = World::new().await;
    let huge: &str = format!("{{\"items\": [{{\"a\": \"{}", "x".repeat(70 << 20)).leak();
    let long: &str = "x".repeat(2 << 20).leak();
    let definitions = "/apis/apiextensions.k8s.io";
    let cases = [
        (
            "/version",
            200,
            "<html>CANARY",
            MemberPart::Version,
            "cannot be read",
        ),
        (
            "/version",
            302,
            "CANARY",
            MemberPart::Version,
            "302 Found, which is not followed",
        ),
        ("/version", 200, long, MemberPart::Version, "too large"),
        (
            "/api/v1/nodes",
            200,
            "{\"items\": [CANARY",
            MemberPart::Nodes,
            "cannot be read",
        ),
        (
            "/api/v1/nodes",
            401,
            "{\"message\": \"unknown token CANARY\"}",
            MemberPart::Nodes,
            "401 Unauthorized",
        ),
        (
            "/apis/coordination.k8s.io",
            200,
            "{\"spec\": \"CANARY\"}",
            MemberPart::Leases,
            "cannot be read",
        ),
        (
            "/apis/about.k8s.io",
            500,
            "CANARY",
            MemberPart::ClusterProperties,
            "answered 500",
        ),
        (
            "/readyz",
            503,
            "CANARY no backend",
            MemberPart::Readyz,
            "answered 503",
        ),
        (
            definitions,
            200,
            huge,
            MemberPart::CustomResourceGroups,
            "too large",
        ),
    ];
    let fakes = cases.map(|(path, code, body, ..)| Fake::but_for(path, code, body));
    let ways = fakes.iter().enumerate();
    let ways = ways
        .map(|(number, fake)| way(&format!("m{number}"), fake.client()))
        .collect();
    let evidence = world.ask(0, ways).await;
    assert!(evidence.gaps.is_empty(), "{:?}", evidence.gaps);
    for (number, (path, _, _, part, words)) in cases.iter().enumerate() {
        let look = &member(&evidence, &format!("m{number}")).looks[0];
        assert_eq!(missed(look, words), [part], "{path}: {:?}", look.missing);
        assert_eq!(look.missing.len(), 1, "{path}: {:?}", look.missing);
        let paths = fakes[number].seen();
        assert!(
            !paths.iter().any(|(_, path, _)| path.contains("CANARY")),
            "{path}"
        );
    }
    let told = format!("{evidence:?}");
    assert!(!told.contains("CANARY"), "{told}");
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
    let look = &member(&evidence, "a").looks[0];
    assert_eq!(
        missed(look, "the list is too large: more than 4 MiB"),
        [&MemberPart::ClusterProperties],
        "{:?}",
        look.missing
    );
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
    let versions: Vec<bool> = member(&evidence, "a")
        .looks
        .iter()
        .map(|look| look.version.is_some())
        .collect();
    assert_eq!(versions, [false, true]);
}

#[tokio::test(start_paused = true)]
async fn the_age_of_a_lease_is_told_by_the_member_s_clock() {
    let world = World::new().await;
    let ahead = world.clock.skewed(jiff::SignedDuration::from_hours(5));
    let fake_member = FakeMember::new("a", ahead, state());
    let ways = vec![lab_way("a", &fake_member)];
    let evidence = world.ask(0, ways).await;
    let look = &member(&evidence, "a").looks[0];
    let ages: Vec<i64> = look
        .leases
        .as_deref()
        .unwrap_or_default()
        .iter()
        .map(|lease| lease.age_seconds)
        .collect();
    assert!(
        ages.len() == 2 && ages.iter().all(|age| (-1..=2).contains(age)),
        "{ages:?}"
    );
}
