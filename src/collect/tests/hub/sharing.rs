//! A share of the hub's namespaces, as one of several runners observes it.

use evidence::{
    Asked, ProfileHistory, Shard, Tracked as _,
    api::Edition,
    merge::{OF_FIRST_SHARE, Part, merge},
};
use futures::future::{join, join_all};

use super::*;

/// Namespaces, with the share of 3 that each falls to.
const NAMESPACES: [(&str, u32); 4] = [("fleet-00", 0), ("fleet-07", 1), ("fleet-02", 2), ("fleet-13", 2)];

fn path(namespace: &str) -> String {
    format!("/apis/multicluster.x-k8s.io/v1alpha1/namespaces/{namespace}/clusterprofiles")
}

impl World {
    async fn namespace(&self, name: &str) {
        self.create("/api/v1/namespaces", json!({"metadata": {"name": name}}))
            .await;
    }

    async fn profile_in(&self, namespace: &str, name: &str) {
        self.create(&path(namespace), profile(name)).await;
    }

    async fn with_namespaces() -> Self {
        World::new().await.divided().await
    }

    async fn divided(self) -> Self {
        let world = self;
        for (namespace, index) in NAMESPACES {
            assert_eq!(Shard::index_of(namespace, 3), index, "{namespace}");
            world.namespace(namespace).await;
        }
        world
    }
}

fn share_of(index: u32, count: u32, seconds: u64) -> Plan {
    let shard = Some(Shard { index, count });
    let plan = plan(seconds);
    Plan {
        scope: Scope {
            shard,
            ..plan.scope.clone()
        },
        ..plan
    }
}

fn paths(evidence: &Evidence) -> Vec<String> {
    let profiles = evidence.profiles.iter().map(ProfileHistory::last);
    profiles
        .map(|profile| format!("{}/{}", profile.metadata.namespace, profile.metadata.name))
        .collect()
}

/// The runner's lists and watches of profiles, by their paths.
fn reads(world: &World) -> Vec<String> {
    let events = world.requests().into_iter();
    let events = events.filter(|event| event["objectRef"]["resource"] == "clusterprofiles");
    let uris = events.map(|event| event["requestURI"].as_str().unwrap_or_default().to_owned());
    uris.map(|uri| uri.split('?').next().unwrap_or_default().to_owned())
        .collect()
}

/// What is merged of the evidence of all shares.
fn parts(shares: Vec<Result<Evidence, CollectError>>) -> Vec<Part> {
    let part = |(index, evidence): (usize, Result<Evidence, CollectError>)| Part {
        name: index.to_string(),
        evidence: evidence.expect("a share"),
    };
    shares.into_iter().enumerate().map(part).collect()
}

#[tokio::test(start_paused = true)]
async fn shares_divide_the_hub_and_merge_into_what_one_runner_sees() {
    let world = World::with_namespaces().await;
    for (namespace, _) in &NAMESPACES[..3] {
        world.profile_in(namespace, "a").await;
        world.profile_in(namespace, "b").await;
    }
    let events = async {
        after(100).await;
        world.profile_in("fleet-07", "late").await;
        let gone = format!("{}/a", path("fleet-02"));
        world.send(Method::DELETE, &gone, None).await.expect("deleted");
    };
    let plans: Vec<Plan> = (0..3).map(|index| share_of(index, 3, 300)).collect();
    let sharing = join_all(plans.iter().map(|plan| world.collect(plan, async {})));
    let (whole, shares) = join(world.watch(300, events), sharing).await;
    let parts = parts(shares);
    for (part, own) in parts.iter().zip(["fleet-00", "fleet-07", "fleet-02"]) {
        let evidence = &part.evidence;
        assert!(paths(evidence).iter().all(|path| path.starts_with(own)), "{own}");
        assert_eq!(evidence.header.shares[0].namespaces, [own]);
        assert_eq!(evidence.header.shares[0].window, evidence.header.window);
        // Workloads are looked for where schedulers are judged.
        let of_first = OF_FIRST_SHARE.into_iter();
        for kind in of_first.filter(|kind| *kind != Kind::Workloads) {
            let is_left = matches!(evidence.asked(kind), Asked::No(reason) if reason.contains("share 0/3"));
            assert_eq!(is_left, own != "fleet-00", "{kind} in the share of {own}");
        }
    }
    let merged = merge(parts).expect("shares of one run");
    assert_eq!(merged.gaps, []);
    assert_eq!(paths(&merged), paths(&whole));
    assert_eq!(paths(&merged).len(), 7);
    for (one, other) in whole.profiles.iter().zip(&merged.profiles) {
        assert_eq!(one.origin, other.origin);
        assert_eq!(one.deleted.map(seconds), other.deleted.map(seconds));
        assert!(
            one.versions
                .iter()
                .map(|version| &version.object)
                .eq(other.versions.iter().map(|version| &version.object))
        );
    }
    assert_eq!(merged.namespaces, whole.namespaces);
    assert_eq!(merged.header.permissions, whole.header.permissions);
    let asked = |evidence: &Evidence| evidence.header.asked.clone();
    assert_eq!(asked(&merged), asked(&whole));
}

#[tokio::test(start_paused = true)]
async fn a_share_reads_no_other_namespaces() {
    let world = World::with_namespaces().await;
    world.profile_in("fleet-02", "a").await;
    let evidence = world
        .collect(&share_of(2, 3, 300), async {})
        .await
        .expect("evidence");
    assert_eq!(paths(&evidence), ["fleet-02/a"]);
    let read = reads(&world);
    assert!(!read.is_empty());
    for read in &read {
        let own = read.split('/').nth(5).unwrap_or_default();
        assert_eq!(Shard::index_of(own, 3), 2, "{read}");
    }
    // A namespace without profiles is listed when the window begins and ends, and not watched.
    let of_empty = read.iter().filter(|read| **read == path("fleet-13"));
    assert_eq!(of_empty.count(), 2, "{read:?}");
    let secrets = |event: &Value| event["objectRef"]["resource"] == "secrets";
    assert!(!world.requests().iter().any(secrets));
}

#[tokio::test(start_paused = true)]
async fn profiles_that_come_to_an_empty_namespace_are_seen_at_the_end() {
    let world = World::with_namespaces().await;
    world.profile_in("fleet-02", "a").await;
    assert_eq!(Shard::index_of("fleet-17", 3), 2);
    let events = async {
        after(100).await;
        world.profile_in("fleet-13", "late").await;
        world.namespace("fleet-17").await;
        world.profile_in("fleet-17", "later").await;
        world.profile_in("fleet-07", "of-another-share").await;
    };
    let evidence = world
        .collect(&share_of(2, 3, 300), events)
        .await
        .expect("evidence");
    assert_eq!(
        paths(&evidence),
        ["fleet-02/a", "fleet-13/late", "fleet-17/later"]
    );
    assert_eq!(
        evidence.header.shares[0].namespaces,
        ["fleet-02", "fleet-13", "fleet-17"]
    );
    let gaps: Vec<&str> = evidence.gaps.iter().map(|gap| &*gap.reason).collect();
    assert_eq!(
        gaps,
        [
            "the watch of namespace fleet-13 began late: it held no ClusterProfile when the window began",
            "the watch of namespace fleet-17 began late: it held no ClusterProfile when the window began",
        ]
    );
    assert!(evidence.gaps.iter().all(|gap| gap.kind == Kind::Timeline));
}

#[tokio::test(start_paused = true)]
async fn an_empty_share_waits_for_its_window() {
    let world = World::with_namespaces().await;
    world.profile_in("fleet-00", "a").await;
    let evidence = world
        .collect(&share_of(1, 3, 300), async {})
        .await
        .expect("evidence");
    assert_eq!(paths(&evidence), [""; 0]);
    assert_eq!(evidence.gaps, []);
    let window = evidence.header.window.expect("a window");
    assert_eq!(window.seconds(), 300);
    let at_once = world
        .collect(&share_of(1, 3, 0), async {})
        .await
        .expect("evidence");
    assert_eq!(at_once.header.window.expect("a window").seconds(), 0);
}

#[tokio::test(start_paused = true)]
async fn named_namespaces_are_divided_without_listing_all() {
    let world = World::with_namespaces().await;
    for (namespace, _) in NAMESPACES {
        world.profile_in(namespace, "a").await;
    }
    let mut plan = share_of(2, 3, 0);
    plan.scope.namespaces = ["fleet-07", "fleet-13"].map(str::to_owned).into();
    let evidence = world.collect(&plan, async {}).await.expect("evidence");
    assert_eq!(paths(&evidence), ["fleet-13/a"]);
}

#[tokio::test(start_paused = true)]
async fn without_the_namespaces_there_is_no_share() {
    let rules = vec![refusals::rule(
        &["get", "list", "watch"],
        "multicluster.x-k8s.io",
        "clusterprofiles",
        "*",
    )];
    let world = World::with_namespaces().await.with_rules(rules);
    let refused = world.collect(&share_of(0, 3, 0), async {}).await;
    let error = refused.expect_err("a refusal");
    assert!(matches!(error, CollectError::Undivided { .. }), "{error}");
    assert!(error.to_string().contains("grant list on namespaces"), "{error}");
    let mut named = share_of(2, 3, 0);
    named.scope.namespaces = vec!["fleet-13".to_owned()];
    assert!(world.collect(&named, async {}).await.is_ok());
}

fn slices_path(namespace: &str) -> String {
    path(namespace).replace("clusterprofiles", "placementdecisions")
}

#[tokio::test(start_paused = true)]
async fn slices_are_divided_as_profiles_are() {
    let world = World::with(&lab::scheduler::hub_definitions(&[])).await;
    let world = world.divided().await;
    world.profile_in("fleet-00", "a").await;
    let slice = |name: &str| slice(name, "fleet-00", &["a"]);
    for namespace in ["fleet-02", "fleet-07"] {
        world.create(&slices_path(namespace), slice("one")).await;
    }
    let events = async {
        after(100).await;
        world.create(&slices_path("fleet-07"), slice("late")).await;
    };
    let of_scheduler = |mut plan: Plan| {
        plan.claim.edition = Edition::Placement2025M09;
        plan
    };
    let plans: Vec<Plan> = (0..3)
        .map(|index| of_scheduler(share_of(index, 3, 300)))
        .collect();
    let whole = of_scheduler(plan(300));
    let sharing = join_all(plans.iter().map(|plan| world.collect(plan, async {})));
    let (whole, shares) = join(world.collect(&whole, events), sharing).await;
    let whole = whole.expect("evidence");
    let parts = parts(shares);
    let held: Vec<usize> = parts.iter().map(|part| part.evidence.slices.len()).collect();
    assert_eq!(held, [0, 2, 1]);
    assert_eq!(parts[2].evidence.header.shares[0].namespaces, ["fleet-02"]);
    let merged = merge(parts).expect("shares of one run");
    assert_eq!(merged.gaps, []);
    let names = |evidence: &Evidence| -> Vec<String> {
        let slices = evidence.slices.iter();
        slices.map(|history| history.last().object_ref().path()).collect()
    };
    assert_eq!(names(&merged), names(&whole));
    assert_eq!(merged.header.asked, whole.header.asked);
    // Of fleet-13, which holds none, slices are listed when the window begins and ends, and not watched.
    let of_empty = world.requests().into_iter().filter(|event| {
        let uri = event["requestURI"].as_str().unwrap_or_default();
        uri.split('?').next() == Some(&*slices_path("fleet-13"))
    });
    assert_eq!(of_empty.count(), 2);
}
