//! Events on profiles.

use collect::{
    connect::Connection,
    hub_events::{EventError, EventWriter, Told, Written},
};
use evidence::ObjectRef;

use super::*;

const EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/default/events";

fn told(name: &str, note: &str) -> Told {
    Told {
        object: ObjectRef {
            kind: "ClusterProfile".to_owned(),
            namespace: "default".to_owned(),
            name: name.to_owned(),
            uid: "u".to_owned(),
            resource_version: "7".to_owned(),
        },
        api_version: "multicluster.x-k8s.io/v1alpha1".to_owned(),
        digest: "0123456789abcdef".to_owned(),
        reason: "RuleBroken",
        note: note.to_owned(),
    }
}

#[tokio::test(start_paused = true)]
async fn a_finding_is_told_once_and_counted_when_it_comes_back() {
    let world = World::new().await;
    let event = told("a", "the label is missing");
    let writer = EventWriter::new(&world.hub.connection, world.clock, "pod-1");
    assert_eq!(writer.tell(&event).await, Ok(Written::New));
    // As another process would, after a restart.
    let writer = EventWriter::new(&world.hub.connection, world.clock, "pod-2");
    assert_eq!(writer.tell(&event).await, Ok(Written::Known));
    assert_eq!(writer.tell_again(&event, 2).await, Ok(Written::Known));
    let events = world.send(Method::GET, EVENTS, None).await.expect("Events");
    let [event] = &events["items"].as_array().expect("a list")[..] else {
        panic!("{events:#}")
    };
    assert_eq!(event["regarding"]["name"], "a");
    assert_eq!(event["note"], "the label is missing");
    assert_eq!(event["reportingInstance"], "pod-1");
    assert_eq!(event["series"]["count"], 2);
}

#[tokio::test(start_paused = true)]
async fn what_is_too_long_for_an_event_is_cut() {
    let world = World::new().await;
    let writer = EventWriter::new(&world.hub.connection, world.clock, &"i".repeat(500));
    let event = told(&"n".repeat(253), &"ä".repeat(2000));
    assert_eq!(writer.tell(&event).await, Ok(Written::New));
    let events = world.send(Method::GET, EVENTS, None).await.expect("Events");
    let note = events["items"][0]["note"].as_str().expect("a note");
    assert_eq!(note.len(), 1024);
}

#[tokio::test(start_paused = true)]
async fn who_may_not_write_events_is_told() {
    let world = World::new().await;
    let viewer = Connection::new(world.server.client("viewer"), "lab");
    let writer = EventWriter::new(&viewer, world.clock, "pod");
    let refused = writer.tell(&told("a", "n")).await;
    assert!(matches!(refused, Err(EventError::Forbidden(_))), "{refused:?}");
}
