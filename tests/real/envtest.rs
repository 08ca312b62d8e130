//! The hub envtest: the audit log has no Secret, and a run stores nothing.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use collect::clock::Clock;
use envtest::Assets;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::{
    Client,
    api::{Api, PostParams},
};
use lab::{
    hub::{Hub, envtest_options},
    manager::Manager,
    scheduler::{Scheduler, hub_definitions},
};
use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::trials::{assets_or_reason, trial_with};

pub fn trials() -> Vec<Trial> {
    vec![
        trial("envtest::the_audit_log_has_no_secret", |assets| {
            runtime().block_on(the_audit_log_has_no_secret(assets));
        }),
        trial("envtest::a_run_and_the_doctor_store_nothing", |assets| {
            runtime().block_on(a_run_and_the_doctor_store_nothing(assets));
        }),
        trial("envtest::the_scheduler_publishes_on_a_real_hub", |assets| {
            runtime().block_on(the_scheduler_publishes_on_a_real_hub(assets));
        }),
    ]
}

fn trial(name: &str, test: fn(Assets)) -> Trial {
    trial_with(name, assets_or_reason, test)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Runtime::new().unwrap()
}

async fn the_audit_log_has_no_secret(assets: Assets) {
    let hub = Hub::envtest(&assets, envtest_options()).await.unwrap();
    let client = hub.connection.client.clone();
    let namespaces: Api<Namespace> = Api::all(client.clone());
    namespaces
        .create(&PostParams::default(), &named("fleet"))
        .await
        .unwrap();
    let secrets: Api<Secret> = Api::namespaced(client, "fleet");
    let mut secret: Secret = named("credentials");
    secret.string_data = Some([("Config".to_owned(), "a-canary".to_owned())].into());
    secrets.create(&PostParams::default(), &secret).await.unwrap();
    has_no_secret(&hub.as_envtest().unwrap().audit_log());
    hub.stop().await.unwrap();
}

fn has_no_secret(log: &Path) {
    let text = fs::read_to_string(log).unwrap();
    assert!(
        !text.contains("a-canary") && !text.contains("YS1jYW5hcn"),
        "the log has the secret"
    );
    let events: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let created = |resource: &str, name: &str| {
        let wanted = json!({"resource": resource, "name": name, "verb": "create", "user": "conformance"});
        let found = events.iter().find(|event| {
            let object = &event["objectRef"];
            // A name that comes in the body alone is not in the reference.
            let named = object["name"] == name || event["requestObject"]["metadata"]["name"] == name;
            named && object["resource"] == resource && event["verb"] == "create"
        });
        let event = found.unwrap_or_else(|| panic!("no event for {wanted}"));
        assert_eq!(event["user"]["username"], "conformance");
        event.clone()
    };
    assert!(created("namespaces", "fleet")["requestObject"].is_object());
    assert!(created("secrets", "credentials")["requestObject"].is_null());
}

/// By default the command stores nothing, though it may do everything: the hub's audit log says so.
async fn a_run_and_the_doctor_store_nothing(assets: Assets) {
    let hub = Hub::envtest(&assets, envtest_options()).await.unwrap();
    let envtest = hub.as_envtest().unwrap();
    let manager = hub.client_as("reference-manager", "reference-manager").unwrap();
    Manager::new(Vec::new(), Clock::system())
        .set_up(&manager)
        .await
        .unwrap();
    let before = everything(&manager).await;
    let kubeconfig = envtest.folder().join("kubeconfig");
    fs::write(&kubeconfig, envtest.kubeconfig("conformance")).unwrap();
    let kubeconfig = kubeconfig.display();

    // The hub itself was prepared by `admin`.
    let done = call(format!(
        "run --observe 2s --settle 0s --feature consumer-secrets -v --kubeconfig {kubeconfig}"
    ))
    .await;
    let printed = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
    assert!(printed.contains("identity/manager-immutable"), "{printed}");
    assert!(matches!(done.status.code(), Some(0 | 1 | 3)), "{printed}");
    let requests = requests_of_runner(&envtest.audit_log());
    let is_read = |verb: &str| matches!(verb, "get" | "list" | "watch");
    let is_dry = |verb: &str, uri: &str| matches!(verb, "patch" | "update") && uri.contains("?dryRun=All&");
    let is_review = |verb: &str, uri: &str| {
        let reviews = ["/selfsubjectaccessreviews", "/selfsubjectreviews"];
        verb == "create" && reviews.iter().any(|review| uri.ends_with(review))
    };
    for (verb, uri) in &requests {
        assert!(
            is_read(verb) || is_review(verb, uri) || is_dry(verb, uri),
            "{verb} {uri}"
        );
    }
    assert!(
        requests.iter().any(|(verb, uri)| is_dry(verb, uri)),
        "no dry run: {printed}"
    );
    assert_eq!(everything(&manager).await, before);

    // The doctor knows a real API server's answers: who asks, what is allowed, and which CRD is served.
    let log = envtest.audit_log();
    let done = call(format!(
        "doctor --format json --kubeconfig {kubeconfig} --audit-log {}",
        log.display()
    ))
    .await;
    let diagnosis: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(done.status.code(), Some(0), "{diagnosis:#}");
    assert_eq!(diagnosis["hub"]["user"], "conformance");
    assert_eq!(diagnosis["hub"]["apiVersion"], "v1alpha1");
    assert!(
        diagnosis["hub"]["profiles"].as_u64().unwrap() > 10,
        "{diagnosis:#}"
    );
    for check in diagnosis["checks"].as_array().unwrap() {
        assert!(
            matches!(check["state"].as_str(), Some("ok" | "missing")),
            "{check:#}"
        );
    }
    assert!(
        diagnosis.to_string().contains("writes at level RequestResponse"),
        "{diagnosis:#}"
    );
    for (verb, uri) in &requests_of_runner(&log)[requests.len()..] {
        assert!(is_read(verb) || is_review(verb, uri), "{verb} {uri}");
    }
    assert_eq!(everything(&manager).await, before);
    hub.stop().await.unwrap();
}

/// Calls the command.
async fn call(line: String) -> std::process::Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clusterprofile-conformance"));
    command.args(line.split_whitespace());
    command.env_remove("KUBECONFIG").stdin(Stdio::null());
    let call = move || command.output().unwrap();
    tokio::task::spawn_blocking(call).await.unwrap()
}

/// Verb and URI of the requests of the user who runs the suite.
fn requests_of_runner(log: &Path) -> Vec<(String, String)> {
    let text = fs::read_to_string(log).unwrap();
    let events = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let ours = events.filter(|event| event["user"]["username"] == "conformance");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    ours.map(|event| (text(&event["verb"]), text(&event["requestURI"])))
        .collect()
}

/// The reference scheduler needs nothing that only the lab's hub does, and a second start writes nothing.
async fn the_scheduler_publishes_on_a_real_hub(assets: Assets) {
    let hub = Hub::envtest_with(&assets, envtest_options(), &hub_definitions(&[]))
        .await
        .unwrap();
    let client = hub.client_as(Scheduler::NAME, Scheduler::NAME).unwrap();
    let slices = async |version: &str| -> Vec<(String, usize, String)> {
        let path = format!("/apis/multicluster.x-k8s.io/{version}/placementdecisions");
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        let list: Value = client.request(request).await.unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let items = list["items"].as_array().unwrap().iter();
        items
            .map(|slice| {
                let metadata = &slice["metadata"];
                let clusters = slice["decisions"].as_array().unwrap().len();
                (
                    text(&metadata["name"]),
                    clusters,
                    text(&metadata["resourceVersion"]),
                )
            })
            .collect()
    };
    Scheduler::new(Vec::new(), Clock::system())
        .set_up(&client)
        .await
        .unwrap();
    let published = slices("v1alpha1").await;
    let sizes: Vec<(&str, usize)> = published
        .iter()
        .map(|(name, clusters, _)| (name.trim_start_matches("reference-scheduler-"), *clusters))
        .collect();
    assert_eq!(
        sizes,
        [
            ("at-the-edge-0", 3),
            ("few-0", 5),
            ("full-0", 100),
            ("growing-0", 99),
            ("large-0", 100),
            ("large-1", 10),
            ("none-0", 0),
            ("unordered-0", 8),
        ]
    );
    assert_eq!(slices("v1alpha2").await, published);
    Scheduler::new(Vec::new(), Clock::system())
        .set_up(&client)
        .await
        .unwrap();
    assert_eq!(slices("v1alpha1").await, published);
    hub.stop().await.unwrap();
}

/// Names and versions of all objects that the suite looks at.
async fn everything(client: &Client) -> Vec<String> {
    let mut found = Vec::new();
    for path in [
        "/apis/multicluster.x-k8s.io/v1alpha1/clusterprofiles",
        "/api/v1/secrets",
        "/api/v1/namespaces",
    ] {
        let list: Value = client
            .request(http::Request::get(path).body(Vec::new()).unwrap())
            .await
            .unwrap();
        let metadata = list["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| &item["metadata"]);
        found.extend(
            metadata.map(|metadata| format!("{path} {} {}", metadata["name"], metadata["resourceVersion"])),
        );
    }
    assert!(found.len() > 20, "{found:?}");
    found
}

/// An object with nothing but a name.
fn named<K: serde::de::DeserializeOwned>(name: &str) -> K {
    serde_json::from_value(json!({"metadata": {"name": name}})).unwrap()
}
