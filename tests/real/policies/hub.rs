//! A real API server under the policies.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    fs,
    process::{Command, Output, Stdio},
    time::Duration,
};

use envtest::Assets;
use evidence::api::{Edition, Role};
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Client, client::Body};
use lab::{
    crd,
    hub::{Hub, envtest_options},
};
use serde_json::{Value, json};

use super::{
    Agreement, BINDING, POLICY, of_kind,
    play::{LeftOut, Play, Write},
    plays, printed, printed_with, report,
};

const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const BINDINGS: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
/// On a Namespace of this test: whose policies judge it.
const EDITION: &str = "edition";

/// What the API server answers to a write.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub warnings: Vec<String>,
    pub body: Value,
}

/// Everything is written to a hub with the suite's CRDs; what they refuse, again to a hub with CRDs that take anything.
pub async fn an_api_server_agrees(assets: &Assets) {
    let (plays, left_out) = plays();
    let mut agreement = Agreement {
        left_out,
        ..Agreement::default()
    };
    let strict = Ground::new(assets, &crd::all(), true).await;
    let mut refused = Vec::new();
    for play in &plays {
        match strict.play(play).await {
            Ok(warned) => agreement.add(play, &warned),
            Err(_) => refused.push(play),
        }
    }
    strict.the_same_status_again_is_an_empty_write().await;
    strict.a_large_profile_stays_within_the_budget().await;
    strict.hostile_text_leaves_the_warning_readable().await;
    strict.the_audit_log_and_a_run_tell_of_them().await;
    strict.hub.stop().await.unwrap();
    let loose = Ground::new(assets, &loose(), false).await;
    let again = refused.len();
    for play in refused {
        match loose.play(play).await {
            Ok(warned) => agreement.add(play, &warned),
            Err(why) => {
                println!("{}: {why}", play.name());
                *agreement.left_out.entry(LeftOut::Refused).or_default() += 1;
            }
        }
    }
    loose.an_odd_time_silences_the_policy_on_nothing_else().await;
    loose.hub.stop().await.unwrap();
    println!("{again} examples were played under CRDs that take anything");
    report(&agreement);
}

/// The suite's CRDs with schemas that take anything.
fn loose() -> Vec<CustomResourceDefinition> {
    let definitions = serde_json::to_value(crd::all()).unwrap();
    let mut definitions: Vec<Value> = serde_json::from_value(definitions).unwrap();
    for definition in &mut definitions {
        for version in definition["spec"]["versions"].as_array_mut().unwrap() {
            version["schema"] =
                json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
        }
    }
    serde_json::from_value(definitions.into()).unwrap()
}

/// A hub with the policies of all editions, each for the namespaces of that edition.
struct Ground {
    hub: Hub,
    client: Client,
    namespaces: Cell<usize>,
    /// Whether it has the suite's CRDs.
    is_strict: bool,
}

impl Ground {
    async fn new(assets: &Assets, definitions: &[CustomResourceDefinition], is_strict: bool) -> Self {
        let hub = Hub::envtest_with(assets, envtest_options(), definitions)
            .await
            .unwrap();
        let ground = Self {
            // Not as the suite, whose own writes no audit log counts.
            client: hub.client_as("reference-manager", "reference-manager").unwrap(),
            hub,
            namespaces: Cell::new(0),
            is_strict,
        };
        ground.install().await;
        ground
    }

    /// Installs the policies of all editions.
    async fn install(&self) {
        let mut objects = Vec::new();
        for edition in Role::Manager.editions() {
            let printed = printed(edition);
            for policy in of_kind(&printed, POLICY) {
                let mut policy = policy.clone();
                rename(&mut policy["metadata"]["name"], edition);
                objects.push(policy);
            }
            for binding in of_kind(&printed, BINDING) {
                let mut binding = binding.clone();
                rename(&mut binding["metadata"]["name"], edition);
                rename(&mut binding["spec"]["policyName"], edition);
                binding["spec"]["matchResources"] =
                    json!({"namespaceSelector": {"matchLabels": {EDITION: edition.name()}}});
                objects.push(binding);
            }
        }
        self.at_work("all-editions", &objects).await;
    }

    /// Creates policies and bindings, and waits until the API server judges writes by all of them.
    ///
    /// It learns of each kind in the order of creation, and some time after: the last one is a sentinel, which tells.
    async fn at_work(&self, sentinel: &str, objects: &[Value]) {
        let policy = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": POLICY, "metadata": {"name": sentinel},
            "spec": {
                "matchConstraints": {"resourceRules": [
                    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]},
                ]},
                "validations": [{"expression": "false", "message": "at work"}],
            },
        });
        let binding = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": BINDING, "metadata": {"name": sentinel},
            "spec": {"policyName": sentinel, "validationActions": ["Warn"]},
        });
        for (kind, path, last) in [(POLICY, POLICIES, &policy), (BINDING, BINDINGS, &binding)] {
            for object in of_kind(objects, kind).chain([last]) {
                self.created(path, object).await;
            }
        }
        let config = json!({"metadata": {"name": "probe"}});
        for _ in 0..300 {
            let path = "/api/v1/namespaces/default/configmaps?dryRun=All";
            let warnings = self.send("POST", path, &config).await.warnings;
            if warnings.iter().any(|warning| warning.contains(sentinel)) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("{sentinel}: the policies are not at work after 30 s");
    }

    /// Writes a play, and returns the rules that warn at each write.
    async fn play(&self, play: &Play) -> Result<Vec<BTreeSet<String>>, String> {
        let mut names: BTreeMap<&str, String> = BTreeMap::new();
        for (namespace, labels) in &play.namespaces {
            let mut labels = labels.clone();
            labels[EDITION] = play.example.edition.name().into();
            names.insert(namespace, self.namespace(&labels).await);
        }
        let mut warned = Vec::new();
        for step in &play.steps {
            let mut object = step.write.object().clone();
            let namespace = object["metadata"]["namespace"].as_str().unwrap().to_owned();
            object["metadata"]["namespace"] = names[&*namespace].clone().into();
            if self.is_strict {
                without_usual_arguments(&mut object);
            }
            let answer = self.write(&step.write, &object).await;
            if !answer.status.is_success() {
                return Err(format!("{} {}", answer.status, answer.body["message"]));
            }
            warned.push(rules_in(&answer.warnings));
        }
        Ok(warned)
    }

    /// A namespace that no other play uses.
    async fn namespace(&self, labels: &Value) -> String {
        let number = self.namespaces.get();
        self.namespaces.set(number + 1);
        let name = format!("play-{number}");
        let namespace = json!({"metadata": {"name": name, "labels": labels}});
        self.created("/api/v1/namespaces", &namespace).await;
        name
    }

    /// Sends a write, after the changes of the spec that bring the object to its generation.
    async fn write(&self, write: &Write, object: &Value) -> Answer {
        let (plural, named) = (plural(object), path(object));
        match write {
            Write::Create { .. } => {
                let answer = self.send("POST", &plural, object).await;
                let generation = object["metadata"]["generation"].as_i64().unwrap_or(1);
                if answer.status.is_success() {
                    self.age(&named, generation).await;
                }
                answer
            }
            Write::Update { .. } => self.put(object, "").await,
            Write::Status { .. } => self.put(object, "/status").await,
            Write::Delete { .. } => self.send("DELETE", &named, &Value::Null).await,
        }
    }

    /// Changes a profile until it has a generation.
    async fn age(&self, path: &str, generation: i64) {
        for turn in (1..generation.min(20)).rev() {
            let mut object = self.send("GET", path, &Value::Null).await.body;
            let name = object["spec"]["displayName"]
                .as_str()
                .unwrap_or_default()
                .trim_end_matches('.');
            object["spec"]["displayName"] = format!("{name}{}", ".".repeat(turn as usize - 1)).into();
            self.send("PUT", path, &object).await;
        }
    }

    /// Replaces what is stored of an object by one of its doors.
    async fn put(&self, object: &Value, door: &str) -> Answer {
        let path = path(object);
        let stored = self.send("GET", &path, &Value::Null).await.body;
        let mut object = object.clone();
        object["metadata"]["resourceVersion"] = stored["metadata"]["resourceVersion"].clone();
        self.send("PUT", &format!("{path}{door}"), &object).await
    }

    /// Writes the status of a profile that the hub takes, and returns the warnings.
    async fn status(&self, profile: &Value) -> Vec<String> {
        let answer = self.put(profile, "/status").await;
        assert_eq!(answer.status, StatusCode::OK, "{:#}", answer.body);
        answer.warnings
    }

    async fn created(&self, path: &str, object: &Value) {
        let answer = self.send("POST", path, object).await;
        assert_eq!(
            answer.status,
            StatusCode::CREATED,
            "{}: {:#}",
            object["metadata"]["name"],
            answer.body
        );
    }

    async fn send(&self, method: &str, path: &str, body: &Value) -> Answer {
        let body = match body {
            Value::Null => Vec::new(),
            body => serde_json::to_vec(body).unwrap(),
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", "application/json")
            .body(Body::from(body))
            .unwrap();
        let response = self.client.send(request).await.unwrap();
        let warnings = response.headers().get_all("warning").iter();
        let warnings = warnings
            .map(|value| unquoted(std::str::from_utf8(value.as_bytes()).unwrap()))
            .collect();
        let status = response.status();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        Answer {
            status,
            warnings,
            body: serde_json::from_slice(&body).unwrap_or(Value::Null),
        }
    }

    /// A new profile that keeps every rule once its status is written.
    async fn conforming(&self) -> Value {
        let namespace = self.namespace(&json!({EDITION: Edition::Standard.name()})).await;
        let condition = |kind: &str| {
            json!({
                "type": kind, "status": "True", "reason": "Fine", "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            })
        };
        let profile = json!({
            "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
            "metadata": {"name": "m-1", "namespace": namespace, "labels": {"x-k8s.io/cluster-manager": "m"}},
            "spec": {"displayName": "m-1", "clusterManager": {"name": "m"}},
            "status": {
                "version": {"kubernetes": "v1.34.1"},
                "properties": [{"name": "cluster-endpoints.k8s.io", "value": "[\"a.example:6443\"]"}],
                "conditions": [condition("Joined"), condition("ControlPlaneHealthy")],
            },
        });
        let answer = self.send("POST", &plural(&profile), &profile).await;
        assert_eq!(answer.warnings, Vec::<String>::new());
        profile
    }

    async fn the_same_status_again_is_an_empty_write(&self) {
        let mut profile = self.conforming().await;
        let first = self.status(&profile).await;
        assert_eq!(first, Vec::<String>::new());
        let again = self.status(&profile).await;
        assert_eq!(
            rules_in(&again),
            BTreeSet::from(["updates/no-empty-writes".to_owned()])
        );
        profile["status"]["version"]["kubernetes"] = "v1.34.2".into();
        let changed = self.status(&profile).await;
        assert_eq!(changed, Vec::<String>::new());
    }

    /// `timestamp` fails on these, and a policy that fails says nothing.
    async fn an_odd_time_silences_the_policy_on_nothing_else(&self) {
        for odd in [
            "2025-02-29T00:00:00Z",
            "1900-02-29T00:00:00Z",
            "2025-04-31T00:00:00Z",
            "2025-02-30T00:00:00+01:00",
            "0000-01-01T00:00:00Z",
            "0001-01-01T00:00:00+14:00",
            "9999-12-31T23:59:59-14:00",
            "2025-01-01T24:00:00Z",
            "yesterday",
        ] {
            let mut profile = self.conforming().await;
            let status = &mut profile["status"];
            status["conditions"].as_array_mut().unwrap().push(json!({
                "type": "Odd", "status": "True", "reason": "Odd", "message": "", "lastTransitionTime": odd,
            }));
            for (name, time) in [("odd.example", odd), ("p.example", "2024-02-29T12:00:00Z")] {
                let property = json!({"name": name, "value": "x", "lastObservedTime": time});
                status["properties"].as_array_mut().unwrap().push(property);
            }
            self.status(&profile).await;
            let status = &mut profile["status"];
            status["conditions"][0]["lastTransitionTime"] = "2026-01-01T00:00:07Z".into();
            status["properties"][2]["lastObservedTime"] = "2024-02-28T12:00:00Z".into();
            let warned = rules_in(&self.status(&profile).await);
            for rule in ["conditions/transition-time-kept", "properties/observed-time-sane"] {
                assert!(warned.contains(rule), "{odd}: {rule} among {warned:?}");
            }
        }
    }

    /// What costs too much is not judged, and nobody is told: so the budget must suffice for what managers publish.
    async fn a_large_profile_stays_within_the_budget(&self) {
        let mut profile = self.conforming().await;
        let endpoints: Vec<String> = (0..30)
            .map(|number| format!("https://a{number}.example:6443"))
            .collect();
        let status = &mut profile["status"];
        let property = |name: String, value: String| json!({"name": name, "value": value, "lastObservedTime": "2026-01-01T00:00:00Z"});
        let mut properties: Vec<Value> = (0..100)
            .map(|number| property(format!("p{number}.example"), "x".repeat(100)))
            .collect();
        properties.push(property(
            "cluster-endpoints.k8s.io".to_owned(),
            json!(endpoints).to_string(),
        ));
        properties.push(property("count.node.k8s.io".to_owned(), "many".to_owned()));
        status["properties"] = properties.into();
        status["accessProviders"] = (0..20)
            .map(|number| {
                let cluster = json!({"server": "https://a.example", "certificate-authority-data": "eA=="});
                json!({"name": format!("p{number}"), "cluster": cluster})
            })
            .collect();
        let condition = status["conditions"][0].clone();
        let more = (0..30).map(|number| {
            let mut condition = condition.clone();
            condition["type"] = format!("C{number}").into();
            condition
        });
        status["conditions"].as_array_mut().unwrap().extend(more);
        let first = rules_in(&self.status(&profile).await);
        let bad = [
            "access/ca-data-is-certificates",
            "properties/node-count-well-formed",
        ];
        assert_eq!(first, BTreeSet::from(bad.map(str::to_owned)));
        let status = &mut profile["status"];
        for condition in status["conditions"].as_array_mut().unwrap() {
            condition["lastTransitionTime"] = "2026-01-01T00:00:07Z".into();
        }
        for property in status["properties"].as_array_mut().unwrap() {
            property["lastObservedTime"] = "2025-01-01T00:00:00Z".into();
        }
        let second = rules_in(&self.status(&profile).await);
        for rule in ["conditions/transition-time-kept", "properties/observed-time-sane"] {
            assert!(second.contains(rule), "{rule} among {second:?}");
        }
    }

    /// A run reads the policies, and finds in the audit log what they found, denied writes among them.
    async fn the_audit_log_and_a_run_tell_of_them(&self) {
        let mut objects = printed_with(&["--deny", "must", "identity/", "version/"]);
        for object in objects.iter_mut().filter(|object| object["kind"] == BINDING) {
            object["spec"]["matchResources"] =
                json!({"namespaceSelector": {"matchLabels": {EDITION: "denied"}}});
        }
        self.at_work("denied", &objects).await;
        let namespace = self.namespace(&json!({EDITION: "denied"})).await;
        let mut profile = self.conforming().await;
        profile["metadata"]["namespace"] = namespace.clone().into();
        let mut unlabelled = profile.clone();
        unlabelled["metadata"]["labels"] = json!({});
        let answer = self.send("POST", &plural(&unlabelled), &unlabelled).await;
        let message = answer.body["message"].to_string();
        assert!(
            message.contains("identity/manager-label-present (MUST): expected m"),
            "{message}"
        );
        self.send("POST", &plural(&profile), &profile).await;
        for version in ["v1.x", "v1.y"] {
            profile["status"]["version"]["kubernetes"] = version.into();
            self.status(&profile).await;
        }
        let envtest = self.hub.as_envtest().unwrap();
        let kubeconfig = envtest.folder().join("kubeconfig");
        fs::write(&kubeconfig, envtest.kubeconfig("conformance")).unwrap();
        let report = envtest.folder().join("report.json");
        let paths = [&kubeconfig, &envtest.audit_log().to_path_buf(), &report];
        let [kubeconfig, log, json] = paths.map(|path| path.to_str().unwrap());
        let run = [
            "run",
            "--observe",
            "0s",
            "--no-probe",
            "-n",
            &namespace,
            "--kubeconfig",
            kubeconfig,
        ];
        let done = suite(&[&run[..], &["--audit-log", log, "--json", json]].concat());
        let told = String::from_utf8_lossy(&done.stdout);
        assert!(
            told.contains("policies on the hub: it denies writes that break"),
            "{told}"
        );
        let report: Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
        assert!(
            report["evidence"]["policies"].as_array().unwrap().len() > 20,
            "{}",
            report["evidence"]
        );
        let notes = |rule: &str| {
            let verdicts = report["verdicts"].as_array().unwrap();
            verdicts.iter().find(|verdict| verdict["rule"] == rule).unwrap()["notes"].to_string()
        };
        let version = notes("version/well-formed");
        assert!(version.contains("broken by 2 writes, to 1 profile"), "{version}");
        let label = notes("identity/manager-label-present");
        assert!(label.contains("1 write, 1 of which failed"), "{label}");
    }

    async fn hostile_text_leaves_the_warning_readable(&self) {
        let mut profile = self.conforming().await;
        let long = "9".repeat(2000);
        for (version, shown) in [
            ("line\nbreak\u{7}", "observed (not shown)".to_owned()),
            (
                "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.",
                "observed (not shown)".to_owned(),
            ),
            (&long, format!("observed {}...", "9".repeat(100))),
            ("'\\\" + x", "observed '\\\" + x".to_owned()),
            ("ünïcode", "observed ünïcode".to_owned()),
        ] {
            profile["status"]["version"]["kubernetes"] = version.into();
            let warnings = self.status(&profile).await;
            let told = warnings
                .iter()
                .find(|warning| warning.contains("version/well-formed"));
            let told = told.unwrap_or_else(|| panic!("no warning of {version}: {warnings:?}"));
            assert!(told.contains(&shown), "{told}");
        }
    }
}

/// Takes the additional arguments that every example has unless it says otherwise out of a profile: the CRD refuses the
/// list that KEP-5339 wants.
fn without_usual_arguments(profile: &mut Value) {
    for list in ["accessProviders", "credentialProviders"] {
        let Some(providers) = profile.pointer_mut(&format!("/status/{list}")) else {
            continue;
        };
        for provider in providers.as_array_mut().into_iter().flatten() {
            if let Some(extensions) = provider
                .pointer_mut("/cluster/extensions")
                .and_then(Value::as_array_mut)
            {
                extensions.retain(|extension| extension["extension"][0] != "--audience");
            }
        }
    }
}

/// The suite as a user runs it.
pub fn suite(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_clusterprofile-conformance"))
        .args(arguments)
        .env_remove("KUBECONFIG")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn rename(name: &mut Value, edition: Edition) {
    *name = format!("{}-{edition}", name.as_str().unwrap()).into();
}

fn plural(object: &Value) -> String {
    let version = object["apiVersion"].as_str().unwrap();
    let root = if version.contains('/') { "apis" } else { "api" };
    format!(
        "/{root}/{version}/namespaces/{}/{}s",
        object["metadata"]["namespace"].as_str().unwrap(),
        object["kind"].as_str().unwrap().to_lowercase()
    )
}

fn path(object: &Value) -> String {
    format!(
        "{}/{}",
        plural(object),
        object["metadata"]["name"].as_str().unwrap()
    )
}

/// The text of a warning header.
fn unquoted(header: &str) -> String {
    let (_, text) = header.split_once('"').unwrap();
    text.trim_end_matches('"')
        .replace("\\\"", "\"")
        .replace("\\\\", "\\")
}

/// The ids of the rules that warnings name.
fn rules_in(warnings: &[String]) -> BTreeSet<String> {
    warnings
        .iter()
        .map(|warning| {
            let (_, message) = warning.split_once("': ").unwrap_or_else(|| panic!("{warning}"));
            message.split(' ').next().unwrap().to_owned()
        })
        .collect()
}
