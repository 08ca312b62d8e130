//! The hub envtest: the audit log has no Secret, and a run stores nothing.

use std::{fs, path::Path};

use collect::clock::Clock;
use envtest::Assets;
use http::Method;
use kube::Client;
use lab::{
    hub::{Hub, envtest_options},
    manager::Manager,
    scheduler::{Scheduler, hub_definitions},
};
use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::{
    command::{assert_contains, call, in_background},
    send::send,
    trials::{assets_or_reason, async_trial_with},
};

pub fn trials() -> Vec<Trial> {
    vec![
        trial("the_audit_log_has_no_secret", the_audit_log_has_no_secret),
        trial("a_run_and_the_doctor_store_nothing", nothing_is_stored),
        trial("the_scheduler_publishes_on_a_real_hub", the_scheduler_publishes),
    ]
}

fn trial<F: Future<Output = ()> + 'static>(name: &str, test: fn(Assets) -> F) -> Trial {
    async_trial_with(format!("real::envtest::{name}"), assets_or_reason, test)
}

async fn the_audit_log_has_no_secret(assets: Assets) {
    let hub = Hub::envtest(&assets, envtest_options()).await.unwrap();
    let client = hub.connection.client.clone();
    let namespace = json!({"metadata": {"name": "fleet"}});
    let secret = json!({"metadata": {"name": "credentials"}, "stringData": {"Config": "a-canary"}});
    for (path, object) in [
        ("/api/v1/namespaces", namespace),
        ("/api/v1/namespaces/fleet/secrets", secret),
    ] {
        send(&client, Method::POST, path, Some(object)).await.unwrap();
    }

    let text = fs::read_to_string(hub.as_envtest().unwrap().audit_log()).unwrap();
    let has_secret = text.contains("a-canary") || text.contains("YS1jYW5hcn");
    assert!(!has_secret, "the log has the secret");
    let created = |resource: &str, name: &str| {
        let mut events = events_of_runner(&text).into_iter();
        let event = events.find(|event| {
            let object = &event["objectRef"];
            // A name that is only in the body is not in the reference.
            let named = object["name"] == name || event["requestObject"]["metadata"]["name"] == name;
            named && object["resource"] == resource && event["verb"] == "create"
        });
        event.unwrap_or_else(|| panic!("no event for {resource} {name}"))
    };
    assert!(created("namespaces", "fleet")["requestObject"].is_object());
    assert!(created("secrets", "credentials")["requestObject"].is_null());
    hub.stop().await.unwrap();
}

/// The events of the user who runs the suite, from the text of an audit log.
pub fn events_of_runner(log: &str) -> Vec<Value> {
    let events = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("an event"));
    events
        .filter(|event| event["user"]["username"] == "conformance")
        .collect()
}

/// By default the command stores nothing, though it has all permissions. The hub's audit log shows it.
async fn nothing_is_stored(assets: Assets) {
    let hub = Hub::envtest(&assets, envtest_options()).await.unwrap();
    let envtest = hub.as_envtest().unwrap();
    let manager = hub.client_as("reference-manager", "reference-manager").unwrap();
    let mut published = Manager::new(Vec::new(), Clock::system());
    published.set_up(&manager).await.unwrap();
    let before = everything(&manager).await;
    let kubeconfig = envtest.folder().join("kubeconfig");
    fs::write(&kubeconfig, envtest.kubeconfig("conformance")).unwrap();
    let kubeconfig = kubeconfig.display();
    let log = envtest.audit_log();

    // The hub itself was prepared by `admin`.
    let flags = "--observe 2s --settle 0s --feature consumer-secrets -v";
    let line = format!("run {flags} --kubeconfig {kubeconfig}");
    let done = in_background(move || call(line)).await;
    let printed = done.printed();
    assert!(printed.contains("identity/manager-immutable"), "{printed}");
    assert!(matches!(done.code, Some(0 | 1 | 3)), "{printed}");
    let requests = requests_of_runner(&log);
    let is_read = |(verb, uri): &(String, String)| {
        let reviews = ["/selfsubjectaccessreviews", "/selfsubjectreviews"];
        let is_review = verb == "create" && reviews.iter().any(|review| uri.ends_with(review));
        is_review || matches!(verb.as_str(), "get" | "list" | "watch")
    };
    let is_dry = |(verb, uri): &(String, String)| {
        matches!(verb.as_str(), "patch" | "update") && uri.contains("?dryRun=All&")
    };
    for request in &requests {
        assert!(is_read(request) || is_dry(request), "{request:?}");
    }
    assert!(requests.iter().any(is_dry), "no dry run: {printed}");
    assert_eq!(everything(&manager).await, before);

    // The doctor understands a real API server: the user, the permissions, and the CRD.
    let flags = format!("--kubeconfig {kubeconfig} --audit-log {}", log.display());
    let done = in_background(move || call(format!("doctor --format json {flags}"))).await;
    let diagnosis: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(done.code, Some(0), "{diagnosis:#}");
    assert_eq!(diagnosis["hub"]["user"], "conformance");
    assert_eq!(diagnosis["hub"]["apiVersion"], "v1alpha1");
    assert!(diagnosis["hub"]["profiles"].as_u64() > Some(10), "{diagnosis:#}");
    for check in diagnosis["checks"].as_array().unwrap() {
        let is_ok = matches!(check["state"].as_str(), Some("ok" | "missing"));
        assert!(is_ok, "{check:#}");
    }
    assert_contains(&diagnosis.to_string(), &["writes at level RequestResponse"]);
    for request in &requests_of_runner(&log)[requests.len()..] {
        assert!(is_read(request), "{request:?}");
    }
    assert_eq!(everything(&manager).await, before);
    hub.stop().await.unwrap();
}

fn requests_of_runner(log: &Path) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let events = events_of_runner(&fs::read_to_string(log).unwrap()).into_iter();
    let request = |event: Value| (text(&event["verb"]), text(&event["requestURI"]));
    events.map(request).collect()
}

/// The reference scheduler needs only a real API server, and a second start writes nothing.
async fn the_scheduler_publishes(assets: Assets) {
    let hub = Hub::envtest_with(&assets, envtest_options(), &hub_definitions(&[]))
        .await
        .unwrap();
    let client = hub.client_as(Scheduler::NAME, Scheduler::NAME).unwrap();
    let slices = async |version: &str| -> Vec<(String, usize, String)> {
        let path = format!("/apis/multicluster.x-k8s.io/{version}/placementdecisions");
        let list = send(&client, Method::GET, &path, None).await.unwrap();
        let slice = |slice: &Value| {
            let text = |key: &str| slice["metadata"][key].as_str().unwrap().to_owned();
            let clusters = slice["decisions"].as_array().unwrap().len();
            (text("name"), clusters, text("resourceVersion"))
        };
        list["items"].as_array().unwrap().iter().map(slice).collect()
    };
    let publish = async || {
        let mut scheduler = Scheduler::new(Vec::new(), Clock::system());
        scheduler.set_up(&client).await.unwrap();
    };
    publish().await;
    let published = slices("v1alpha1").await;
    let sizes = published.iter().map(|(name, clusters, _)| {
        let name = name.trim_start_matches("reference-scheduler-");
        format!("{name} {clusters}")
    });
    let expected = "at-the-edge-0 3, few-0 5, full-0 100, growing-0 99, large-0 100, large-1 10, none-0 0, unordered-0 8";
    assert_eq!(sizes.collect::<Vec<_>>().join(", "), expected);
    assert_eq!(slices("v1alpha2").await, published);
    publish().await;
    assert_eq!(slices("v1alpha1").await, published);
    hub.stop().await.unwrap();
}

/// Names and versions of all objects that the suite reads.
async fn everything(client: &Client) -> Vec<String> {
    let mut found = Vec::new();
    for path in [
        "/apis/multicluster.x-k8s.io/v1alpha1/clusterprofiles",
        "/api/v1/secrets",
        "/api/v1/namespaces",
    ] {
        let list = send(client, Method::GET, path, None).await.unwrap();
        for item in list["items"].as_array().unwrap() {
            let (name, version) = (&item["metadata"]["name"], &item["metadata"]["resourceVersion"]);
            found.push(format!("{path} {name} {version}"));
        }
    }
    assert!(found.len() > 20, "{found:?}");
    found
}
