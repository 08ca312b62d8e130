//! What several replicas show, and what they cost the hub.

use std::collections::BTreeSet;

use apiserver::{Affected, AuditLevel};

use super::{super::status::Leading, *};

const LEASE: &str = "default/monitor";

/// Requests for that purpose, as the metric tells.
async fn requests(shared: &Shared, purpose: &str) -> Option<f64> {
    value(shared, &format!("hub_requests_total{{purpose=\"{purpose}\"}}")).await
}

impl World {
    /// How many requests of the monitor the audit log has: those for Leases, and the others.
    fn audited(&self) -> (usize, usize) {
        let mut events = self.server().audit_events();
        events.retain(|event| event["user"]["username"] == "conformance");
        let of = |leases: bool| {
            let ids = events
                .iter()
                .filter(|event| (event["objectRef"]["resource"] == "leases") == leases);
            ids.map(|event| event["auditID"].to_string())
                .collect::<BTreeSet<_>>()
                .len()
        };
        (of(true), of(false))
    }

    /// Writes somebody else into the Lease.
    async fn take_lease(&self) {
        let kind = GroupVersionKind::gvk("coordination.k8s.io", "v1", "Lease");
        let client = self.hub.client_as("admin", "m").expect("a client");
        let leases: Api<DynamicObject> =
            Api::namespaced_with(client, "default", &ApiResource::from_gvk(&kind));
        let patch = Patch::Merge(json!({"spec": {"holderIdentity": "other"}}));
        let patched = leases.patch("monitor", &PatchParams::default(), &patch).await;
        patched.expect("patched");
    }
}

#[tokio::test(start_paused = true)]
async fn each_request_is_counted_once_and_by_its_purpose() {
    let world = World::new().await;
    world.server().set_audit_level(AuditLevel::Metadata);
    world.profile("a", "m").await;
    let replica = world.replica_by(Some(LEASE));
    let shared = Arc::clone(&replica.shared);
    let before = world.audited();
    let seen = async {
        for _ in 0..3 {
            after(300).await;
            assert_eq!(value(&shared, "leader").await, Some(1.0));
            world.take_lease().await;
            after(10).await;
            assert_eq!(value(&shared, "leader").await, Some(0.0));
        }
        after(300).await;
        let (leases, others) = world.audited();
        for (purpose, audited) in [("lease", leases - before.0), ("watch", others - before.1)] {
            let told = requests(&shared, purpose).await.expect("a series");
            let audited = audited as f64;
            // Three terms ended, perhaps each with a request that was given up.
            assert!(
                (audited..=audited + 3.0).contains(&told),
                "{purpose}: {told} of {audited}"
            );
        }
        let lease = requests(&shared, "lease").await;
        assert!(
            lease.is_some_and(|lease| lease < 640.0),
            "the holder asks once every 2 s: {lease:?}"
        );
    };
    world.run(replica, seen).await;
}

#[tokio::test(start_paused = true)]
async fn a_replica_is_not_ready_before_it_knows_who_leads() {
    let world = World::new().await;
    world.server().misbehave(Misbehaviour::Delay {
        affected: Affected {
            verb: None,
            resource: Some("leases".to_owned()),
        },
        by: Duration::from_secs(3600),
    });
    let replica = world.replica_by(Some(LEASE));
    let shared = Arc::clone(&replica.shared);
    let (status, why) = get(&shared, "/readyz").await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{why}");
    let seen = async {
        after(4).await;
        let (status, why) = get(&shared, "/readyz").await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{why}");
        assert!(why.contains("Lease"), "{why}");
        after(60).await;
        assert_eq!(get(&shared, "/readyz").await.0, StatusCode::SERVICE_UNAVAILABLE);
    };
    world.run(replica, seen).await;
}

/// A Service leads to any replica: the one that waits says where to look.
#[tokio::test(start_paused = true)]
async fn the_page_of_a_replica_that_waits_names_the_one_that_works() {
    let world = World::new().await;
    let replica = world.replica_by(Some(LEASE));
    let shared = Arc::clone(&replica.shared);
    shared.lead(Leading::Follows(Some("pod-b_0123abcd".to_owned())));
    let (status, page) = get(&shared, "/").await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(
        page.contains("pod-b_0123abcd") && page.contains("pod/pod-b"),
        "{page}"
    );
}
