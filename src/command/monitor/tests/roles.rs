//! A monitor that lacks rights names the role that grants them.

use super::*;
use crate::command::apis::Apis;

impl World {
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
            ["leases", "rbac --monitor --lease default/monitor --events`"],
        ),
        (
            None,
            ["clusterprofiles", "name: clusterprofile-conformance-monitor\n"],
        ),
    ] {
        let told = world.refusal(world.replica_by(lease, true)).await;
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
