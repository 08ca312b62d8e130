//! Lists in smaller pages than those that the run asks for.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use http::Response;
use kube::client::Body;

use super::*;

/// Marks the tokens of pages without items.
const AFTER_EMPTY: &str = "after-empty-";

/// A proxy before the hub whose pages have two items; `answer` may answer in the hub's place.
fn paging(world: &World, answer: impl Fn(&str) -> Option<Response<Body>> + Send + Sync + 'static) -> Client {
    let (hub, answer) = (world.hub.connection.client.clone(), Arc::new(answer));
    let service = tower::service_fn(move |mut request: Request<Body>| {
        let (hub, answer) = (hub.clone(), Arc::clone(&answer));
        async move {
            let uri = request.uri().to_string();
            if let Some(answered) = answer(&uri) {
                return Ok(answered);
            }
            let uri = with_pages_of(2, &uri).replace(AFTER_EMPTY, "");
            *request.uri_mut() = uri.parse().expect("a path");
            hub.send(request).await
        }
    });
    Client::new(service, "default")
}

#[tokio::test(start_paused = true)]
async fn a_list_in_pages_is_read_to_its_end() {
    for window in [0, 30] {
        let mut world = World::new().await;
        for name in ["a", "b", "c", "d", "e"] {
            world.profile(name).await;
            let labels = json!({"x-k8s.io/cluster-profile": name});
            let secret = json!({"metadata": {"name": name, "labels": labels}});
            world.create(SECRETS, secret).await;
            world.namespace(name).await;
        }
        world.hub.connection.client = paging(&world, |_| None);
        let evidence = world.watch(window, async {}).await;
        assert_eq!(evidence.inventory().count(), 5);
        assert_eq!(evidence.secrets.len(), 5);
        assert!(evidence.namespaces.len() > 5, "{:?}", evidence.namespaces);
        assert!(evidence.gaps.is_empty(), "{:?}", evidence.gaps);
    }
}

/// Servers may send a page without items when they filter: only an empty token ends a list.
#[tokio::test(start_paused = true)]
async fn pages_without_items_do_not_end_a_list() {
    let mut world = World::of(&["a", "b", "c"]).await;
    world.hub.connection.client = paging(&world, |uri| {
        let (_, token) = uri.split_once("&continue=")?;
        let list = json!({"metadata": {"continue": format!("{AFTER_EMPTY}{token}")}, "items": []});
        let is_first = !token.starts_with(AFTER_EMPTY);
        is_first.then(|| Response::new(Body::from(list.to_string().into_bytes())))
    });
    let evidence = world.watch(0, async {}).await;
    assert_eq!(evidence.inventory().count(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_expires_between_its_pages_is_read_anew() {
    let mut world = World::of(&["a", "b", "c"]).await;
    let expired = AtomicUsize::new(0);
    world.hub.connection.client = paging(&world, move |uri| {
        let is_rest = uri.contains("clusterprofiles?limit=10000&continue=");
        let is_first = is_rest && expired.fetch_add(1, Ordering::Relaxed) == 0;
        let status = json!({"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"});
        let body = Body::from(status.to_string().into_bytes());
        is_first.then(|| Response::builder().status(410).body(body).expect("a response"))
    });
    let evidence = world.watch(0, async {}).await;
    assert_eq!(evidence.inventory().count(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_list_without_an_end_is_none() {
    let mut world = World::new().await;
    world.hub.connection.client = paging(&world, |uri| {
        let list = json!({"metadata": {"resourceVersion": "1", "continue": "again"}, "items": []});
        let is_list = uri.contains("/clusterprofiles");
        is_list.then(|| Response::new(Body::from(list.to_string().into_bytes())))
    });
    let error = world.refusal(&plan(0)).await;
    assert!(error.contains("the list does not end"), "{error}");
}
