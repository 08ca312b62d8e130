//! A monitor that lacks rights names the role that grants them.

use apiserver::{AccessRule, User};

use super::*;
use crate::command::apis::Apis;

impl World {
    /// Gives `viewer` all rights, except for some resources.
    fn grant_all_but(&self, denied: &[&str]) {
        let resources = [
            "clusterprofiles",
            "namespaces",
            "customresourcedefinitions",
            "leases",
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
    fn viewer(&self) -> Connection {
        Connection::new(self.hub.client_as("viewer", "m").expect("a client"), "lab")
    }

    /// What a replica is told that may do nothing.
    async fn refusal(&self, replica: Replica) -> String {
        let viewer = self.viewer();
        let source = Source::Own(&viewer);
        let ended = run(
            replica.settings,
            source,
            &replica.shared,
            self.clock,
            replica.stop,
        );
        ended.await.expect_err("it may not").to_string()
    }
}

#[tokio::test(start_paused = true)]
async fn a_hub_that_forbids_the_lease_or_the_list_is_a_clear_error() {
    let world = World::new().await;
    for (lease, parts) in [
        (
            Some("default/monitor"),
            ["leases", "rbac --monitor --lease default/monitor`"],
        ),
        (
            None,
            ["clusterprofiles", "name: clusterprofile-conformance-monitor\n"],
        ),
    ] {
        let told = world.refusal(world.replica_by(lease)).await;
        for part in parts {
            assert!(told.contains(part), "{part:?} is not in {told}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_role_for_placements_is_named_wherever_they_are_judged() {
    let world = World::with_placements(&[]).await;
    for apis in [Apis::Placement, Apis::All] {
        let told = world.refusal(world.replica_of(apis)).await;
        assert!(
            told.contains("resources: [placementdecisions]"),
            "{apis:?}: {told}"
        );
        let mut replica = world.replica_of(apis);
        replica.settings.lease = Some("default/monitor".parse().expect("a name"));
        let told = world.refusal(replica).await;
        let command = "`clusterprofile-conformance rbac --monitor --api placement --lease default/monitor`";
        assert!(told.contains(command), "{apis:?}: {told}");
    }
}

/// Who takes a grant away, and gives it again, need not restart the monitor.
#[tokio::test(start_paused = true)]
async fn grants_that_are_taken_away_are_waited_for() {
    for taken in ["clusterprofiles", "leases"] {
        let world = World::new().await;
        world.profile("a", "other").await;
        world.grant_all_but(&[]);
        let lease = (taken == "leases").then_some("default/monitor");
        let (replica, hub) = (world.replica_by(lease), world.viewer());
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
