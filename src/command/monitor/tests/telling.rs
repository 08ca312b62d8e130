//! Events on a hub that does not always take them.

use apiserver::{AccessRule, Affected, User};

use super::*;

impl World {
    /// Answers requests for Events with that code from now on.
    fn fail_events(&self, code: u16) {
        self.server().misbehave(Misbehaviour::Fail {
            affected: Affected {
                verb: None,
                resource: Some("events".to_owned()),
            },
            code,
            retry_after: None,
            every: 1,
            times: usize::MAX,
        });
    }

    /// Gives `viewer` all rights, except for some resources.
    fn grant_all_but(&self, denied: &[&str]) {
        let resources = [
            "clusterprofiles",
            "namespaces",
            "customresourcedefinitions",
            "leases",
            "events",
        ];
        let granted = resources.iter().filter(|resource| !denied.contains(resource));
        let all = || vec!["*".to_owned()];
        let rule = AccessRule {
            verbs: all(),
            api_groups: all(),
            resources: granted.map(ToString::to_string).collect(),
            namespaces: all(),
            ..AccessRule::default()
        };
        self.server().add_user(User::with_rules("viewer", vec![rule]));
    }

    /// A user that has no rights yet.
    pub(super) fn viewer(&self) -> Connection {
        Connection::new(self.hub.client_as("viewer", "m").expect("a client"), "lab")
    }

    /// The names of the profiles that Events tell of.
    async fn told(&self) -> Vec<String> {
        let client = self.hub.client_as("admin", "m").expect("a client");
        let mut events = events(client).await;
        events.retain(|event| event["note"].as_str().is_some_and(|note| note.contains(RULE)));
        let names = events
            .iter()
            .map(|event| event["regarding"]["name"].as_str().unwrap_or_default().to_owned());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }
}

pub(super) async fn events(client: Client) -> Vec<Value> {
    let kind = GroupVersionKind::gvk("events.k8s.io", "v1", "Event");
    let events: Api<DynamicObject> = Api::namespaced_with(client, "default", &ApiResource::from_gvk(&kind));
    let list = events.list(&ListParams::default()).await.expect("Events");
    let values = list.items.into_iter().map(|event| event.data);
    values.collect()
}

#[tokio::test(start_paused = true)]
async fn each_finding_that_appears_is_one_event() {
    let world = World::new().await;
    world.profile("a", "other").await;
    world.profile("b", "m").await;
    let admin = || world.hub.client_as("admin", "m").expect("a client");
    let of_rule = async || {
        let mut events = events(admin()).await;
        events.retain(|event| event["note"].as_str().is_some_and(|note| note.contains(RULE)));
        events
    };
    for life in 0..2 {
        let replica = world.replica_by(None, true);
        let shared = Arc::clone(&replica.shared);
        world
            .run(replica, async {
                after(200).await;
                let told = of_rule().await;
                assert_eq!(told.len(), 1, "life {life}: {told:#?}");
                assert_eq!(told[0]["regarding"]["name"], "a");
                assert_eq!(told[0]["series"], Value::Null, "a restart is no news");
                let outcome = ["written", "known"][life];
                assert!(value(&shared, &format!("events_total{{outcome=\"{outcome}\"}}")).await >= Some(1.0));
            })
            .await;
    }
    let replica = world.replica_by(None, true);
    world
        .run(replica, async {
            after(200).await;
            // It is mended, the window forgets it, and it comes back.
            world.label("a", "m").await;
            after(2 * 3600).await;
            world.label("a", "other").await;
            after(200).await;
            let told = of_rule().await;
            assert_eq!(told.len(), 1, "{told:#?}");
            assert_eq!(told[0]["series"]["count"], 2);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn an_event_that_could_not_be_written_is_written_later() {
    let world = World::new().await;
    for name in ["a", "b", "c"] {
        world.profile(name, "other").await;
    }
    world.fail_events(503);
    let replica = world.replica_by(None, true);
    let shared = Arc::clone(&replica.shared);
    let seen = async {
        after(600).await;
        assert_eq!(
            value(&shared, "events_total{outcome=\"written\"}").await,
            Some(0.0)
        );
        let failed = value(&shared, "events_total{outcome=\"failed\"}").await;
        assert!(
            failed.is_some_and(|failed| (3.0..10.0).contains(&failed)),
            "{failed:?}"
        );
        world.server().misbehave(Misbehaviour::Recover);
        // No judgement differs from the one before.
        after(330).await;
        assert_eq!(world.told().await, ["a", "b", "c"]);
        assert_eq!(
            value(&shared, "events_total{outcome=\"dropped\"}").await,
            Some(0.0)
        );
    };
    world.run(replica, seen).await;
}

#[tokio::test(start_paused = true)]
async fn events_that_are_forbidden_are_seldom_tried_until_they_are_granted() {
    let world = World::new().await;
    for number in 0..30 {
        world.profile(&format!("p{number}"), "other").await;
    }
    world.grant_all_but(&["events"]);
    let (replica, hub) = (world.replica_by(None, true), world.viewer());
    let shared = Arc::clone(&replica.shared);
    let seen = async {
        after(1800).await;
        let failed = value(&shared, "events_total{outcome=\"failed\"}").await;
        assert!(
            failed.is_some_and(|failed| (1.0..20.0).contains(&failed)),
            "{failed:?}"
        );
        assert_eq!(findings(&shared).await, Some(30.0), "verdicts are not concerned");
        world.grant_all_but(&[]);
        after(400).await;
        assert_eq!(world.told().await.len(), 30);
    };
    world.run_by(Source::Own(&hub), replica, seen).await;
}

/// Who takes a grant away, and gives it again, need not restart the monitor.
#[tokio::test(start_paused = true)]
async fn grants_that_are_taken_away_are_waited_for() {
    for taken in ["clusterprofiles", "leases"] {
        let world = World::new().await;
        world.profile("a", "other").await;
        world.grant_all_but(&[]);
        let lease = (taken == "leases").then_some("default/monitor");
        let (replica, hub) = (world.replica_by(lease, false), world.viewer());
        let shared = Arc::clone(&replica.shared);
        let seen = async {
            after(200).await;
            assert_eq!(findings(&shared).await, Some(1.0), "{taken}");
            world.grant_all_but(&[taken]);
            world.server().misbehave(Misbehaviour::DropWatches);
            after(150).await;
            let (status, why) = get(&shared, "/readyz").await;
            assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{taken}: {why}");
            assert!(why.contains("403"), "{taken}: {why}");
            assert_eq!(findings(&shared).await, None, "{taken}");
            world.grant_all_but(&[]);
            after(300).await;
            assert_eq!(findings(&shared).await, Some(1.0), "{taken}");
        };
        world.run_by(Source::Own(&hub), replica, seen).await;
    }
}
