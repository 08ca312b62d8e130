//! A monitor ends in time, and tells nothing old meanwhile.

use apiserver::Affected;
use tokio::time::{Instant, timeout};

use super::*;

/// Runs a monitor until it ends, which has to be within seconds of its stop.
async fn ends_after(world: &World, monitor: Monitor, stopping: impl Future<Output = ()>) {
    let source = Source::Own(&world.hub.connection);
    let stop = monitor.stop.clone();
    let running = run(
        monitor.settings,
        source,
        &monitor.shared,
        world.clock,
        monitor.stop,
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
async fn a_monitor_that_stops_ends_within_seconds() {
    let world = World::new().await;
    world.profile("a", "m").await;
    let monitor = world.monitor();
    let shared = Arc::clone(&monitor.shared);
    ends_after(&world, monitor, after(60)).await;
    assert_eq!(value(&shared, "watch_up").await, Some(0.0));
}

#[tokio::test(start_paused = true)]
async fn a_page_that_is_rendered_does_not_keep_it_from_ending() {
    let world = World::new().await;
    world.profile("a", "m").await;
    let monitor = world.monitor();
    let shared = Arc::clone(&monitor.shared);
    let mut rendered = None;
    let stopping = async {
        after(30).await;
        let observation = shared.observation().expect("an observation");
        rendered = Some(observation.lock_owned().await);
    };
    ends_after(&world, monitor, stopping).await;
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
    ends_after(&world, world.monitor(), after(10)).await;
}

/// Rendering may take long, or wait for a judgement that does.
#[tokio::test(start_paused = true)]
async fn a_page_that_is_asked_for_before_the_observation_ends_is_not_shown() {
    let world = World::new().await;
    world.profile("a", "m").await;
    let monitor = world.monitor();
    let shared = Arc::clone(&monitor.shared);
    let seen = async {
        after(30).await;
        assert_eq!(get(&shared, "/").await.0, StatusCode::OK);
        let observation = shared.observation().expect("an observation");
        let rendered = observation.lock_owned().await;
        let waited = async {
            after(1).await;
            shared.end();
            drop(rendered);
        };
        let ((status, why), ()) = tokio::join!(get(&shared, "/"), waited);
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{why}");
    };
    world.run(monitor, seen).await;
}
