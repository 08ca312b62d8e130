//! What happens between the hub and us: answers that break off, dawdle or fall silent.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use futures::{StreamExt as _, stream};
use http::Response;
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use kube::client::Body;

use super::*;

type Pieces = std::pin::Pin<Box<dyn futures::Stream<Item = Result<Frame<Bytes>, Infallible>> + Send>>;

impl World {
    /// The hub behind a proxy with pages of 500: `tamper` gets the request's path and query, and the pieces of the answer.
    fn tampered(mut self, tamper: impl Fn(&str, Pieces) -> Pieces + Send + Sync + 'static) -> Self {
        let (direct, tamper) = (self.hub.connection.client.clone(), Arc::new(tamper));
        let between = tower::service_fn(move |mut request: Request<Body>| {
            let (direct, tamper) = (direct.clone(), Arc::clone(&tamper));
            async move {
                let uri = with_pages_of(500, &request.uri().to_string());
                *request.uri_mut() = uri.parse().expect("a path");
                let (head, body) = direct.send(request).await?.into_parts();
                let pieces = body
                    .into_data_stream()
                    .map(|piece| Ok(Frame::data(piece.expect("a piece"))));
                let body = StreamBody::new(tamper(&uri, Box::pin(pieces)));
                Ok::<_, kube::Error>(Response::from_parts(head, body))
            }
        });
        self.hub.connection.client = Client::new(between, "default");
        self
    }
}

fn is_list(uri: &str) -> bool {
    uri.contains("/clusterprofiles?limit=")
}

fn is_watch(uri: &str) -> bool {
    uri.contains("/clusterprofiles?watch=true")
}

#[tokio::test(start_paused = true)]
async fn reads_a_list_again_that_broke_off() {
    let broken = AtomicUsize::new(0);
    let world = World::new().await.tampered(move |uri, pieces| {
        if is_list(uri) && broken.fetch_add(1, Ordering::Relaxed) == 0 {
            // The first answer ends in the middle of it.
            return Box::pin(pieces.map(|piece| {
                let data = piece.expect("a piece").into_data().expect("data");
                Ok(Frame::data(data.slice(..data.len() / 2)))
            }));
        }
        pieces
    });
    for name in ["a", "b", "c"] {
        world.profile(name).await;
    }
    let evidence = world.watch(0, async {}).await;
    assert_eq!(evidence.inventory().count(), 3);
    assert!(evidence.gaps.is_empty(), "{:?}", evidence.gaps);
}

/// A hub that takes 20 s for each page of its list of 1,100 profiles.
async fn slow_world() -> World {
    let world = World::new().await;
    for index in 0..1100 {
        world.profile(&format!("p{index}")).await;
    }
    world.tampered(move |uri, pieces| {
        if !is_list(uri) {
            return pieces;
        }
        let slow = stream::once(after(20)).filter_map(|()| async { None });
        Box::pin(slow.chain(pieces))
    })
}

#[tokio::test(start_paused = true)]
async fn reads_a_large_list_from_a_slow_hub_where_there_is_time() {
    let mut world = slow_world().await;
    world.hub.connection.request_timeout = Duration::from_secs(600);
    let evidence = world.watch(0, async {}).await;
    assert_eq!(evidence.inventory().count(), 1100);
    let window = evidence.header.window.expect("a window");
    assert!(window.seconds() >= 60, "{window:?}");
    assert!(evidence.gaps.is_empty(), "{:?}", evidence.gaps);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_takes_too_long_is_judged_as_far_as_it_came() {
    let world = slow_world().await;
    let evidence = world.watch(0, async {}).await;
    assert_eq!(evidence.inventory().count(), 500);
    let gap = only_gap(&evidence, Kind::Inventory);
    assert!(gap.reason.contains("not all profiles were listed"), "{gap:?}");
    assert!(seconds(world.clock.now()) <= 60, "{}", world.clock.now());
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_dead_is_found_out_in_the_end() {
    let world = World::new().await.tampered(|uri, pieces| {
        if uri.contains("sendInitialEvents=true") {
            // Somewhere on the way, everything is lost from the 30th second on, without an error.
            let lost = Box::pin(sleep(Duration::from_secs(30)));
            return Box::pin(pieces.take_until(lost).chain(stream::pending()));
        }
        pieces
    });
    world.profile("a").await;
    let events = async {
        after(60).await;
        world.report("a", "v1").await;
    };
    let evidence = world.watch(200, events).await;
    assert_eq!(story(&evidence, "a"), ["Listed -@0 v1@200"]);
    let gap = only_gap(&evidence, Kind::Timeline);
    assert_eq!(span(gap), (0, 200));
    assert!(gap.reason.contains("seen late"), "{gap:?}");
}

#[tokio::test(start_paused = true)]
async fn nonsense_in_a_watch_is_a_gap() {
    let world = World::new().await.tampered(|uri, pieces| {
        if is_watch(uri) && !uri.contains("sendInitialEvents") {
            return Box::pin(stream::iter([Ok(Frame::data(Bytes::from_static(b"<html>\n")))]));
        }
        pieces
    });
    world.profile("a").await;
    let events = async {
        after(30).await;
        world.server.misbehave(Misbehaviour::DropWatches);
    };
    let evidence = world.watch(120, events).await;
    assert_eq!(evidence.inventory().count(), 1);
    let gap = only_gap(&evidence, Kind::Timeline);
    assert_eq!(span(gap), (30, 120));
}

/// The pieces, with the first `from` in each replaced by bytes that are no UTF-8, of the same number.
fn spoilt(pieces: Pieces, from: &'static str) -> Pieces {
    Box::pin(pieces.map(move |piece| {
        let mut bytes = piece.expect("a piece").into_data().expect("data").to_vec();
        let place = bytes
            .windows(from.len())
            .position(|window| window == from.as_bytes());
        if let Some(place) = place {
            bytes[place..place + from.len()].fill(0xE9);
        }
        Ok(Frame::data(bytes.into()))
    }))
}

#[tokio::test(start_paused = true)]
async fn bytes_that_are_no_text_cost_one_object() {
    for seconds in [0, 60] {
        let world = World::new().await;
        let world = world.tampered(|uri, pieces| match uri {
            _ if uri.contains("/clusterprofiles") => spoilt(pieces, "SPOILT"),
            _ => pieces,
        });
        world.profile("a").await;
        let mut odd = profile("odd");
        odd["spec"]["displayName"] = json!("SPOILT");
        world.create(PROFILES, odd).await;
        world.profile("b").await;
        let events = async {
            if seconds > 0 {
                after(10).await;
                world.report("odd", "v1").await;
                world.report("a", "v1").await;
                world.delete("b").await;
            }
        };
        let evidence = world.watch(seconds, events).await;
        let [odd] = &evidence.unreadable[..] else {
            panic!("{:?}", evidence.unreadable)
        };
        let expected = "ClusterProfile default/odd could not be read: it is not UTF-8 text";
        assert_eq!(odd.to_string(), expected);
        assert!(!odd.object.uid.is_empty());
        // The watch has gone on.
        assert!(evidence.gaps.is_empty(), "{:?}", evidence.gaps);
        let stories = match seconds {
            0 => ["Listed -@0", "Listed -@0"],
            _ => ["Listed -@0 v1@10", "Listed -@0 gone@10"],
        };
        assert_eq!([story(&evidence, "a"), story(&evidence, "b")].concat(), stories);
    }
}

/// A list of these items.
fn answers(items: Value) -> impl Fn() -> Pieces {
    let list = json!({"items": items, "metadata": {"resourceVersion": "9"}}).to_string();
    move || Box::pin(stream::iter([Ok(Frame::data(Bytes::from(list.clone())))]))
}

#[tokio::test(start_paused = true)]
async fn objects_of_one_uid_do_not_hide_one_another() {
    let item = |name: &str, status: Value| {
        let metadata = json!({"name": name, "namespace": "default", "uid": "u", "resourceVersion": "5"});
        json!({"metadata": metadata, "spec": profile(name)["spec"], "status": status})
    };
    let items = json!([
        item("a", json!({})),
        item("odd", json!(7)),
        item("b", json!({})),
        item("odder", json!([7])),
    ]);
    let list = answers(items);
    let world = World::new().await;
    let world = world.tampered(move |uri, pieces| match uri {
        _ if is_list(uri) => list(),
        _ => pieces,
    });
    let evidence = world.watch(0, async {}).await;
    assert_eq!(inventory(&evidence), ["a", "b"]);
    let names = evidence.unreadable.iter().map(|odd| odd.object.name.as_str());
    assert!(names.eq(["odd", "odder"]), "{:?}", evidence.unreadable);
}

#[tokio::test(start_paused = true)]
async fn namespaces_and_secrets_that_do_not_fit_are_told() {
    let namespaces = answers(json!([
        {"metadata": {"name": "n", "labels": "canary"}}, {"metadata": {"name": "fine", "labels": {"a": null}}}, {}
    ]));
    let secrets = answers(json!([
        {"metadata": {"name": "s", "labels": ["canary"]}},
        {"metadata": {"name": "fine", "labels": {"x-k8s.io/cluster-profile": "a"}}, "data": null},
        {"metadata": {"name": "t"}, "data": {"Config": "BEYOND"}},
    ]));
    let world = World::new().await.tampered(move |uri, pieces| match uri {
        uri if uri.starts_with("/api/v1/namespaces?") => namespaces(),
        uri if uri.starts_with("/api/v1/secrets") => Box::pin(secrets().map(|piece| {
            let data = piece.expect("a piece").into_data().expect("data");
            let text = String::from_utf8(data.to_vec()).expect("text");
            // More than any number that a Value can hold.
            Ok(Frame::data(text.replace("\"BEYOND\"", "1e999").into()))
        })),
        _ => pieces,
    });
    world.profile("a").await;
    for seconds in [0, 30] {
        let evidence = world.watch(seconds, async {}).await;
        let unreadable: Vec<String> = evidence.unreadable.iter().map(ToString::to_string).collect();
        let expected = [
            "Namespace n could not be read: metadata.labels: invalid type: string, expected a map",
            "a Namespace could not be read: metadata.name is missing",
            "Secret s could not be read: metadata.labels is not a mapping",
            "Secret t could not be read: a number in it is out of range",
        ];
        assert_eq!(unreadable, expected);
        assert_eq!((evidence.namespaces.len(), evidence.secrets.len()), (1, 1));
        assert_eq!(evidence.inventory().count(), 1);
    }
}
