//! What a monitor costs the hub.

use std::collections::BTreeSet;

use apiserver::AuditLevel;

use super::*;

impl World {
    /// How many requests of the monitor the audit log has.
    fn audited(&self) -> usize {
        let mut events = self.server().audit_events();
        events.retain(|event| event["user"]["username"] == "conformance");
        let requests = events.iter().map(|event| event["auditID"].to_string());
        requests.collect::<BTreeSet<_>>().len()
    }
}

#[tokio::test(start_paused = true)]
async fn each_request_is_counted_once() {
    let world = World::new().await;
    world.server().set_audit_level(AuditLevel::Metadata);
    world.profile("a", "m").await;
    let monitor = world.monitor();
    let shared = Arc::clone(&monitor.shared);
    let before = world.audited();
    let seen = async {
        for _ in 0..3 {
            after(300).await;
            assert_eq!(value(&shared, "verdicts_fresh").await, Some(1.0));
            world.refuse();
            after(60).await;
            assert_eq!(value(&shared, "last_judged_timestamp_seconds").await, None);
            world.server().misbehave(Misbehaviour::Recover);
        }
        after(300).await;
        let audited = (world.audited() - before) as f64;
        let told = value(&shared, "hub_requests_total").await.expect("a series");
        // Three observations ended, perhaps each with a request that was given up.
        assert!((audited..=audited + 3.0).contains(&told), "{told} of {audited}");
    };
    world.run(monitor, seen).await;
}
