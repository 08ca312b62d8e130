//! A monitor ends in time, and tells nothing old meanwhile.

use apiserver::Affected;
use tokio::time::{Instant, timeout};

use super::{super::status::Leading, *};

/// Runs a replica until it ends, which has to be within seconds of its stop.
async fn ends_after(world: &World, replica: Replica, stopping: impl Future<Output = ()>) {
    let source = Source::Own(&world.hub.connection);
    let stop = replica.stop.clone();
    let running = run(
        replica.settings,
        source,
        &replica.shared,
        world.clock,
        replica.stop,
    );
    let stopping = async {
        stopping.await;
        stop.cancel();
        Instant::now()
    };
    let both = async { tokio::join!(running, stopping) };
    let (ended, stopped) = timeout(HOUR, both).await.expect("it ends");
    assert!(ended.is_ok());
    let took = stopped.elapsed();
    assert!(took < Duration::from_secs(3), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_stops_ends_within_seconds() {
    let world = World::new().await;
    world.profile("a", "m").await;
    let replica = world.replica_by(Some("default/monitor"));
    let shared = Arc::clone(&replica.shared);
    ends_after(&world, replica, after(60)).await;
    assert_eq!(value(&shared, "watch_up").await, Some(0.0));
}

#[tokio::test(start_paused = true)]
async fn a_page_that_is_rendered_does_not_keep_it_from_ending() {
    let world = World::new().await;
    world.profile("a", "m").await;
    for lease in [None, Some("default/monitor")] {
        let replica = world.replica_by(lease);
        let shared = Arc::clone(&replica.shared);
        let mut rendered = None;
        let stopping = async {
            after(30).await;
            let bench = shared.bench().expect("an observation");
            rendered = Some(bench.lock_owned().await);
        };
        ends_after(&world, replica, stopping).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_first_list_that_takes_long_does_not_keep_it_from_ending() {
    let world = World::new().await;
    world.server().misbehave(Misbehaviour::Delay {
        affected: Affected {
            verb: None,
            resource: Some("clusterprofiles".to_owned()),
        },
        by: Duration::from_secs(25),
    });
    for lease in [None, Some("default/monitor")] {
        ends_after(&world, world.replica_by(lease), after(10)).await;
    }
}

/// Rendering may take long, or wait for a judgement that does.
#[tokio::test(start_paused = true)]
async fn a_page_that_is_asked_for_before_another_replica_leads_is_not_shown() {
    let world = World::new().await;
    world.profile("a", "m").await;
    let replica = world.replica();
    let shared = Arc::clone(&replica.shared);
    let seen = async {
        after(30).await;
        assert_eq!(get(&shared, "/").await.0, StatusCode::OK);
        let bench = shared.bench().expect("an observation");
        let rendered = bench.lock_owned().await;
        let waited = async {
            after(1).await;
            shared.lead(Leading::Follows(Some("pod-b_0123abcd".to_owned())));
            drop(rendered);
        };
        let ((status, why), ()) = tokio::join!(get(&shared, "/"), waited);
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{why}");
        assert!(why.contains("pod-b"), "{why}");
    };
    world.run(replica, seen).await;
}
