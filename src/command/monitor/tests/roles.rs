//! A monitor that lacks rights names the role that grants them.

use apiserver::{AccessRule, User};
use evidence::api::Role;

use super::*;

impl World {
    /// Gives `viewer` all rights, except for some resources.
    fn grant_all_but(&self, denied: &[&str]) {
        let resources = [
            "clusterprofiles",
            "namespaces",
            "customresourcedefinitions",
            "placementdecisions",
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

    /// What a monitor is told that may do nothing.
    async fn refusal(&self, monitor: Monitor) -> String {
        let viewer = self.viewer();
        let source = Source::Own(&viewer);
        let ended = run(
            monitor.settings,
            source,
            &monitor.shared,
            self.clock,
            monitor.stop,
        );
        ended.await.expect_err("it may not").to_string()
    }
}

#[tokio::test(start_paused = true)]
async fn a_hub_that_forbids_the_list_is_a_clear_error() {
    let world = World::new().await;
    let told = world.refusal(world.monitor()).await;
    for part in ["clusterprofiles", "name: clusterprofile-conformance-monitor\n"] {
        assert!(told.contains(part), "{part:?} is not in {told}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_role_for_placements_is_printed_wherever_they_are_judged() {
    let world = World::with_placements(&[]).await;
    for roles in [&[Role::Scheduler][..], &[Role::Manager, Role::Scheduler]] {
        let told = world.refusal(world.monitor_of(roles)).await;
        assert!(
            told.contains("resources: [placementdecisions]"),
            "{roles:?}: {told}"
        );
    }
}

/// Who takes a grant away, and gives it again, need not restart the monitor.
#[tokio::test(start_paused = true)]
async fn grants_that_are_taken_away_are_waited_for() {
    let world = World::new().await;
    world.profile("a", "other").await;
    world.grant_all_but(&[]);
    let (monitor, hub) = (world.monitor(), world.viewer());
    let shared = Arc::clone(&monitor.shared);
    let seen = async {
        after(200).await;
        assert_eq!(findings(&shared).await, Some(1.0));
        world.grant_all_but(&["clusterprofiles"]);
        world.server().misbehave(Misbehaviour::DropWatches);
        after(150).await;
        let (status, why) = get(&shared, "/readyz").await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{why}");
        assert!(why.contains("403"), "{why}");
        assert_eq!(findings(&shared).await, None);
        world.grant_all_but(&[]);
        after(300).await;
        assert_eq!(findings(&shared).await, Some(1.0));
    };
    world.run_by(Source::Own(&hub), monitor, seen).await;
}

#[tokio::test(start_paused = true)]
async fn a_new_observation_that_is_forbidden_names_the_command_that_prints_the_role() {
    let world = World::with_placements(&[]).await;
    world.grant_all_but(&[]);
    let (monitor, hub) = (world.monitor_of(&[Role::Scheduler]), world.viewer());
    let shared = Arc::clone(&monitor.shared);
    let seen = async {
        after(60).await;
        assert_eq!(get(&shared, "/readyz").await.0, StatusCode::OK);
        world.refuse();
        after(60).await;
        world.grant_all_but(&["placementdecisions"]);
        world.server().misbehave(Misbehaviour::Recover);
        after(60).await;
        let (status, why) = get(&shared, "/readyz").await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{why}");
        let command = "`clusterprofile-conformance rbac --monitor --role scheduler`";
        assert!(why.contains(command), "{why}");
        world.grant_all_but(&[]);
        after(60).await;
        assert_eq!(get(&shared, "/readyz").await.0, StatusCode::OK);
    };
    world.run_by(Source::Own(&hub), monitor, seen).await;
}
