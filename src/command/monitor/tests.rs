//! A monitor on the lab, under the paused clock.

mod certificates;
mod cost;
mod ending;
mod placements;
mod reconnecting;
mod roles;
mod series;
mod serving;

use std::{future::Future, sync::Arc, time::Duration};

use apiserver::{ApiServer, Misbehaviour};
use bytes::Bytes;
use collect::{clock::Clock, connect::Connection};
use evidence::{Claim, Scope};
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use judge::Selection;
use kube::{
    Api,
    api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams},
};
use lab::{hub::Hub, manager::Manager};
use serde_json::json;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::{
    flags::plan,
    hosts::Hosts,
    observing::{Settings, Source, run},
    serve::respond,
    status::Shared,
    verdicts::Verdicts,
};

const HOUR: Duration = Duration::from_secs(3600);
/// A rule that grants a new fault 2 min, and one that does not.
const RULE: &str = "identity/manager-label-matches";
const BUDGET: &str = "updates/status-writes-within-budget";

/// A hub with a monitor on it.
struct World {
    hub: Hub,
    clock: Clock,
}

/// One monitor.
struct Monitor {
    shared: Arc<Shared>,
    settings: Settings,
    stop: CancellationToken,
}

impl World {
    async fn new() -> Self {
        let clock = Clock::system();
        let hub = Hub::lab(clock).await.expect("a hub");
        Self { hub, clock }
    }

    fn server(&self) -> &ApiServer {
        self.hub.as_lab().expect("the lab")
    }

    /// Answers everything with 503 from now on.
    fn fail(&self) {
        self.fail_with(503);
    }

    /// Refuses the monitor's credentials from now on. After half a minute, a new observation begins.
    fn refuse(&self) {
        self.fail_with(401);
        self.server().misbehave(Misbehaviour::DropWatches);
    }

    fn fail_with(&self, code: u16) {
        self.server().misbehave(Misbehaviour::Fail {
            affected: Default::default(),
            code,
            retry_after: None,
            every: 1,
            times: usize::MAX,
        });
    }

    fn profiles(&self) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("multicluster.x-k8s.io", "v1alpha1", "ClusterProfile");
        let client = self.hub.client_as("admin", "m").expect("a client");
        Api::namespaced_with(client, "default", &ApiResource::from_gvk(&kind))
    }

    async fn stop_serving_v1alpha1(&self) {
        let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        let client = self.hub.client_as("admin", "m").expect("a client");
        let definitions: Api<DynamicObject> = Api::all_with(client, &ApiResource::from_gvk(&kind));
        let name = "clusterprofiles.multicluster.x-k8s.io";
        let mut definition = definitions.get(name).await.expect("a definition");
        assert_eq!(definition.data["spec"]["versions"][0]["name"], "v1alpha1");
        definition.data["spec"]["versions"][0]["served"] = false.into();
        let replaced = definitions
            .replace(name, &PostParams::default(), &definition)
            .await;
        replaced.expect("replaced");
    }

    /// A profile whose label names that manager.
    async fn profile(&self, name: &str, label: &str) {
        let profile = json!({
            "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
            "metadata": {"name": name, "labels": {"x-k8s.io/cluster-manager": label}},
            "spec": {"displayName": name, "clusterManager": {"name": "m"}},
        });
        let profile = serde_json::from_value(profile).expect("a profile");
        let created = self.profiles().create(&PostParams::default(), &profile).await;
        created.expect("created");
    }

    async fn label(&self, name: &str, label: &str) {
        let patch = Patch::Merge(json!({"metadata": {"labels": {"x-k8s.io/cluster-manager": label}}}));
        let patched = self.profiles().patch(name, &PatchParams::default(), &patch).await;
        patched.expect("patched");
    }

    async fn report(&self, name: &str, version: &str) {
        let patch = Patch::Merge(json!({"status": {"version": {"kubernetes": version}}}));
        let patched = self
            .profiles()
            .patch_status(name, &PatchParams::default(), &patch)
            .await;
        patched.expect("patched");
    }

    fn monitor(&self) -> Monitor {
        let claim = Claim::default();
        Monitor {
            shared: Arc::new(Shared::new(self.clock, &claim)),
            settings: Settings {
                plan: plan(claim, Scope::default(), None),
                window: HOUR,
                verdicts: Verdicts::new(Selection::default(), None),
            },
            stop: CancellationToken::new(),
        }
    }

    /// Puts a profile of a manager into the hub's store, whatever the schema says of it.
    fn place(&self, name: &str, manager: &str) {
        let profile = json!({
            "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
            "metadata": {"name": name, "namespace": "default", "uid": name},
            "spec": {"clusterManager": {"name": manager}},
        });
        self.server()
            .place(("multicluster.x-k8s.io", "clusterprofiles"), profile);
    }

    /// Runs a monitor while `events` happens beside.
    async fn run<T>(&self, monitor: Monitor, events: impl Future<Output = T>) -> T {
        self.run_by(Source::Own(&self.hub.connection), monitor, events)
            .await
    }

    /// The same by another way to the hub.
    async fn run_by<T>(&self, source: Source<'_>, monitor: Monitor, events: impl Future<Output = T>) -> T {
        let stop = monitor.stop.clone();
        let running = run(monitor.settings, source, &monitor.shared, self.clock, stop);
        tokio::select! {
            outcome = events => outcome,
            ended = running => panic!("the monitor ended: {:?}", ended.map_err(|failure| failure.to_string())),
        }
    }
}

/// Asks for a path by that name of the host.
async fn ask(shared: &Shared, method: &Method, path: &str, host: &str) -> Response<Full<Bytes>> {
    let hosts = Hosts::of("127.0.0.1:8080".parse().expect("an address"), &[]);
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::HOST, host);
    respond(shared, &hosts, &request.body(()).expect("a request")).await
}

async fn get(shared: &Shared, path: &str) -> (StatusCode, String) {
    let response = ask(shared, &Method::GET, path, "localhost").await;
    let status = response.status();
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    (status, String::from_utf8(body.to_vec()).expect("UTF-8"))
}

async fn after(seconds: u64) {
    sleep(Duration::from_secs(seconds)).await;
}

/// The value of a series; none if there is no such series.
async fn value(shared: &Shared, series: &str) -> Option<f64> {
    let (status, metrics) = get(shared, "/metrics").await;
    assert_eq!(status, StatusCode::OK);
    let line = metrics.lines().find_map(|line| {
        line.strip_prefix("clusterprofile_conformance_")?
            .strip_prefix(series)
    });
    line.map(|value| value.trim().parse().expect("a number"))
}

/// How many findings a rule has; none if it has no series.
async fn findings_of(shared: &Shared, rule: &str) -> Option<f64> {
    let labels = format!(
        "cluster_manager=\"m\",inventory_namespace=\"default\",level=\"MUST\",rule=\"{rule}\",verdict=\"fail\""
    );
    value(shared, &format!("findings{{{labels}}}")).await
}

/// The same for [`RULE`].
async fn findings(shared: &Shared) -> Option<f64> {
    findings_of(shared, RULE).await
}

#[tokio::test(start_paused = true)]
async fn a_conforming_manager_is_told_to_break_nothing() {
    let world = World::new().await;
    let client = world
        .hub
        .client_as(Manager::NAME, Manager::NAME)
        .expect("a client");
    let mut manager = Manager::new(Vec::new(), world.clock);
    manager.set_up(&client).await.expect("set up");
    let monitor = world.monitor();
    let shared = Arc::clone(&monitor.shared);
    assert_eq!(get(&shared, "/readyz").await.0, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(value(&shared, "watch_up").await, Some(0.0));
    let watched = async {
        tokio::select! {
            () = after(30 * 60) => {}
            ended = manager.run(client) => panic!("{ended:?}"),
        }
        assert_eq!(get(&shared, "/readyz").await, (StatusCode::OK, "ok\n".to_owned()));
        assert_eq!(
            value(&shared, "decision{decision=\"no-violation\"}").await,
            Some(1.0)
        );
        assert_eq!(
            value(&shared, "decision{decision=\"not-conformant\"}").await,
            Some(0.0)
        );
        assert_eq!(value(&shared, "watch_up").await, Some(1.0));
        assert_eq!(value(&shared, "findings_dropped").await, Some(0.0));
        let (_, metrics) = get(&shared, "/metrics").await;
        assert!(!metrics.contains("_findings{"), "{metrics}");
        let of_manager = "{cluster_manager=\"reference-manager\",inventory_namespace=\"lab-fleet\"}";
        assert!(
            value(&shared, &format!("profiles{of_manager}")).await > Some(1.0),
            "{metrics}"
        );
        assert!(value(&shared, &format!("status_writes_total{of_manager}")).await > Some(0.0));
        let left = value(&shared, &format!("status_write_tokens{of_manager}")).await;
        assert!(left.is_some_and(|left| (0.0..10.0).contains(&left)), "{left:?}");
        let (status, page) = get(&shared, "/").await;
        assert_eq!(status, StatusCode::OK);
        assert!(
            page.starts_with("<!doctype html>") || page.starts_with("<!DOCTYPE html>"),
            "{}",
            &page[..40]
        );
    };
    world.run(monitor, watched).await;
}

#[tokio::test(start_paused = true)]
async fn a_broken_rule_is_shown_in_seconds_and_gone_when_it_is_mended() {
    let world = World::new().await;
    world.profile("a", "m").await;
    let monitor = world.monitor();
    let shared = Arc::clone(&monitor.shared);
    let seen = async {
        after(5).await;
        assert_eq!(findings_of(&shared, BUDGET).await, None);
        for number in 0..15 {
            world.report("a", &format!("v1.{number}")).await;
        }
        after(3).await;
        assert_eq!(findings_of(&shared, BUDGET).await, Some(1.0));
        let verdict = format!("rule_verdict{{level=\"MUST\",rule=\"{BUDGET}\",verdict=\"fail\"}}");
        assert_eq!(value(&shared, &verdict).await, Some(1.0));
        assert_eq!(
            value(&shared, "decision{decision=\"not-conformant\"}").await,
            Some(1.0)
        );
        let (_, page) = get(&shared, "/").await;
        assert!(page.contains(BUDGET));
        let of_m = "{cluster_manager=\"m\",inventory_namespace=\"default\"}";
        assert_eq!(
            value(&shared, &format!("status_writes_total{of_m}")).await,
            Some(15.0)
        );
        after(60).await;
        let left = value(&shared, &format!("status_write_tokens{of_m}")).await;
        assert!(left < Some(-3.0), "{left:?}");

        // Most rules grant a new fault 2 min.
        world.label("a", "other").await;
        after(60).await;
        assert_eq!(findings(&shared).await, None);
        after(125).await;
        assert_eq!(findings(&shared).await, Some(1.0));
        world.label("a", "m").await;
        after(2 * 3600).await;
        assert_eq!(findings(&shared).await, None);
        assert_eq!(findings_of(&shared, BUDGET).await, None);
        assert_eq!(
            value(&shared, &format!("status_writes_total{of_m}")).await,
            Some(15.0)
        );
    };
    world.run(monitor, seen).await;
}

#[tokio::test(start_paused = true)]
async fn old_verdicts_are_not_shown_as_fresh() {
    let world = World::new().await;
    world.profile("a", "other").await;
    let monitor = world.monitor();
    let shared = Arc::clone(&monitor.shared);
    let seen = async {
        after(180).await;
        assert_eq!(findings(&shared).await, Some(1.0));
        world.fail();
        world.server().misbehave(Misbehaviour::DropWatches);
        after(30).await;
        // A hub that restarts is back soon.
        assert_eq!(get(&shared, "/readyz").await.0, StatusCode::OK);
        assert_eq!(value(&shared, "watch_up").await, Some(0.0));
        after(90).await;
        let (status, why) = get(&shared, "/readyz").await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        assert!(why.starts_with("not ready: the watch is down for 1"), "{why}");
        assert_eq!(get(&shared, "/").await.0, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(get(&shared, "/healthz").await.0, StatusCode::OK);
        assert_eq!(findings(&shared).await, None);
        assert_eq!(
            value(&shared, "decision{decision=\"not-conformant\"}").await,
            None
        );
        assert_eq!(value(&shared, "verdicts_fresh").await, Some(0.0));
        let gap = value(&shared, "watch_gap_seconds_total").await;
        assert!(gap > Some(100.0), "{gap:?}");

        world.server().misbehave(Misbehaviour::Recover);
        world
            .server()
            .misbehave(Misbehaviour::CompactBefore(Default::default()));
        after(60).await;
        assert_eq!(get(&shared, "/readyz").await.0, StatusCode::OK);
        assert_eq!(value(&shared, "watch_up").await, Some(1.0));
        assert_eq!(findings(&shared).await, Some(1.0));
        assert!(value(&shared, "watch_gap_seconds_total").await >= gap);
    };
    world.run(monitor, seen).await;
}

/// The last step of a migration to `v1alpha2`.
#[tokio::test(start_paused = true)]
async fn a_version_that_is_no_longer_served_gives_way_to_the_other() {
    let world = World::new().await;
    world.profile("a", "m").await;
    let monitor = world.monitor();
    let shared = Arc::clone(&monitor.shared);
    let seen = async {
        after(180).await;
        assert_eq!(get(&shared, "/readyz").await.0, StatusCode::OK);
        world.stop_serving_v1alpha1().await;
        world.server().misbehave(Misbehaviour::DropWatches);
        after(120).await;
        assert_eq!(get(&shared, "/readyz").await, (StatusCode::OK, "ok\n".to_owned()));
        let of_m = "{cluster_manager=\"m\",inventory_namespace=\"default\"}";
        assert_eq!(value(&shared, &format!("profiles{of_m}")).await, Some(1.0));
    };
    world.run(monitor, seen).await;
}

/// The monitor compares the watch with a list each half hour, which is no interruption.
#[tokio::test(start_paused = true)]
async fn a_hub_on_which_nothing_happens_leaves_no_gap() {
    let world = World::new().await;
    world.profile("a", "m").await;
    let monitor = world.monitor();
    let shared = Arc::clone(&monitor.shared);
    let seen = async {
        // A gap may end in the meantime, but stays counted.
        after(3 * 3600).await;
        assert_eq!(value(&shared, "watch_gap_seconds_total").await, Some(0.0));
        assert_eq!(value(&shared, "watch_up").await, Some(1.0));
    };
    world.run(monitor, seen).await;
}

#[tokio::test(start_paused = true)]
async fn a_hub_that_is_away_at_first_is_waited_for() {
    let world = World::new().await;
    world.profile("a", "m").await;
    world.fail();
    let monitor = world.monitor();
    let shared = Arc::clone(&monitor.shared);
    let seen = async {
        after(300).await;
        let (status, why) = get(&shared, "/readyz").await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        assert!(why.contains("503"), "{why}");
        world.server().misbehave(Misbehaviour::Recover);
        after(60).await;
        assert_eq!(get(&shared, "/readyz").await.0, StatusCode::OK);
    };
    world.run(monitor, seen).await;
}

/// Requests for the page render it once for each judgement at most, and none is answered with an older one than 10 s.
#[tokio::test(start_paused = true)]
async fn a_flood_of_requests_renders_one_page() {
    let world = World::new().await;
    world.profile("a", "m").await;
    let monitor = world.monitor();
    let shared = Arc::clone(&monitor.shared);
    let seen = async {
        after(5).await;
        let pages = futures::future::join_all((0..100).map(|_| get(&shared, "/"))).await;
        assert!(pages.iter().all(|page| *page == pages[0]));
        world.report("a", "v2").await;
        after(12).await;
        let (_, page) = get(&shared, "/").await;
        assert_ne!(page, pages[0].1);
    };
    world.run(monitor, seen).await;
}

#[tokio::test(start_paused = true)]
async fn what_the_hub_names_is_bounded_and_escaped() {
    let world = World::new().await;
    let hostile = format!("\u{202e}\"}} evil 1\\\n{}", "x".repeat(5000));
    world.place("a", &hostile);
    for number in 0..1200 {
        world.place(&format!("p{number}"), &format!("m{number}"));
    }
    let monitor = world.monitor();
    let shared = Arc::clone(&monitor.shared);
    let seen = async {
        after(30).await;
        let (_, metrics) = get(&shared, "/metrics").await;
        let of = |name: &str| metrics.lines().filter(|line| line.contains(name)).count();
        assert_eq!(of("_profiles{"), 1000);
        assert_eq!(value(&shared, "profiles_dropped").await, Some(201.0));
        assert_eq!(of("_findings{"), 1000);
        assert!(value(&shared, "findings_dropped").await > Some(200.0));
        for line in metrics.lines() {
            assert!(
                line.starts_with("# ") || line.starts_with("clusterprofile_conformance_"),
                "{line}"
            );
            assert!(line.len() < 600 && !line.contains('\u{202e}'), "{line}");
        }
    };
    world.run(monitor, seen).await;
}

#[tokio::test(start_paused = true)]
async fn other_requests_are_refused() {
    let world = World::new().await;
    let shared = world.monitor().shared;
    assert_eq!(get(&shared, "/nowhere").await.0, StatusCode::NOT_FOUND);
    let response = ask(&shared, &Method::POST, "/metrics", "localhost").await;
    assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
}

/// A website whose name resolves to this machine reads nothing, and none may put the page into a frame.
#[tokio::test(start_paused = true)]
async fn other_websites_get_nothing() {
    let world = World::new().await;
    let shared = world.monitor().shared;
    for path in ["/", "/metrics", "/readyz", "/nowhere"] {
        let refused = ask(&shared, &Method::GET, path, "evil.example:8080").await;
        assert_eq!(refused.status(), StatusCode::MISDIRECTED_REQUEST, "{path}");
    }
    let health = ask(&shared, &Method::GET, "/healthz", "any.name.example").await;
    assert_eq!(health.status(), StatusCode::OK);
    for path in ["/", "/metrics", "/healthz"] {
        let answer = ask(&shared, &Method::GET, path, "localhost").await;
        let headers = answer.headers();
        assert_eq!(
            headers[header::CONTENT_SECURITY_POLICY],
            "frame-ancestors 'none'",
            "{path}"
        );
        assert_eq!(headers[header::X_FRAME_OPTIONS], "DENY", "{path}");
    }
}
