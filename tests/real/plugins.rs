//! The credential plugins of the ClusterProfile API's own repository, on a real hub with a real member.

use std::{
    env,
    path::{Path, PathBuf},
};

use envtest::Assets;
use http::Method;
use kube::Client;
use lab::hub::{Hub, envtest_options};
use libtest_mimic::Trial;
use regex::Regex;
use serde_json::{Value, json};

use crate::{
    command::{Folder, command, done, profile, verdict_of},
    send::send,
    trials::{assets_or_reason, async_trial_with},
};

/// Names the folder of the plugins, as `ci/plugins/build` prints it.
const PLUGINS: &str = "CREDENTIAL_PLUGINS";
const RULE: &str = "access/plugin-yields-credential";
const NAMESPACE: &str = "fleet";
/// A token that no member knows.
const WRONG: &str = "unknown-token";
const SECRETREADER: &str = "secretreader";
const KUBECONFIG_READER: &str = "kubeconfig-secretreader";

pub fn trials() -> Vec<Trial> {
    let find = || Ok((assets_or_reason()?, plugins_or_reason()?));
    let name = "real::plugins::what_plugins_yield_is_judged";
    vec![async_trial_with(name, find, what_plugins_yield_is_judged)]
}

/// The folder of the plugins, or why tests that need them have to be ignored.
fn plugins_or_reason() -> Result<PathBuf, String> {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("ci/plugins/.cache");
    let folder = env::var_os(PLUGINS).map_or(built, PathBuf::from);
    if folder.join(SECRETREADER).is_file() && folder.join(KUBECONFIG_READER).is_file() {
        Ok(folder)
    } else {
        Err("there are no credential plugins: build them with ci/plugins/build".to_owned())
    }
}

/// A hub whose profiles lead to one member, and the folder of a run's files.
struct World {
    hub: Client,
    folder: Folder,
    /// The member as an access provider has it.
    cluster: Value,
    /// Credentials that no output may show.
    credentials: Vec<String>,
}

async fn what_plugins_yield_is_judged((assets, plugins): (Assets, PathBuf)) {
    let [hub, member] = [start(&assets).await, start(&assets).await];
    let member = member.as_envtest().expect("envtest");
    let kubeconfig: Value = read(&member.kubeconfig("viewer"));
    let token = kubeconfig["users"][0]["user"]["token"].as_str().expect("a token");
    let world = World {
        hub: hub.connection.client.clone(),
        folder: Folder::new(),
        cluster: kubeconfig["clusters"][0]["cluster"].clone(),
        credentials: vec![token.to_owned(), WRONG.to_owned()],
    };
    // Plugins read the namespace of the context by themselves.
    let mut to_hub = read(&hub.as_envtest().expect("envtest").kubeconfig("conformance"));
    to_hub["contexts"][0]["context"]["namespace"] = NAMESPACE.into();
    world.folder.write("hub.kubeconfig", to_hub.to_string());
    let namespace = json!({"metadata": {"name": NAMESPACE}});
    world.send(Method::POST, "/api/v1/namespaces", namespace).await;

    let mut wrong = kubeconfig.clone();
    wrong["users"][0]["user"]["token"] = WRONG.into();
    for (name, token, kubeconfig) in [("right", token, &kubeconfig), ("wrong", WRONG, &wrong)] {
        let data = json!({"token": token, "kubeconfig": kubeconfig.to_string()});
        let secret = json!({"metadata": {"name": name}, "stringData": data});
        let path = format!("/api/v1/namespaces/{NAMESPACE}/secrets");
        world.send(Method::POST, &path, secret).await;
    }
    for name in ["right", "wrong", "absent"] {
        let config = json!({"clusterName": name});
        world.profile(name, SECRETREADER, &config).await;
        let config = json!({"name": name, "key": "kubeconfig", "namespace": NAMESPACE});
        let name = format!("kubeconfig-{name}");
        world.profile(&name, KUBECONFIG_READER, &config).await;
    }

    let real = |name: &str| json!({"command": plugins.join(name), "args": []});
    let judged = world.judge(&real(SECRETREADER), &real(KUBECONFIG_READER));
    // Exactly the profiles whose plugin does not yield a credential that the member accepts.
    let expected = ["absent", "kubeconfig-absent", "kubeconfig-wrong", "wrong"];
    assert_eq!(judged, expected);
    // A plugin that hangs is ended, and one that prints garbage is reported; neither keeps the run from its end.
    let hangs = json!({"command": "sleep", "args": ["600"]});
    let prints_garbage = json!({"command": "echo", "args": ["token: garbage"]});
    assert_eq!(world.judge(&hangs, &prints_garbage).len(), 6);
}

async fn start(assets: &Assets) -> Hub {
    Hub::envtest(assets, envtest_options()).await.expect("a hub")
}

fn read(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

impl World {
    async fn send(&self, method: Method, path: &str, body: Value) {
        send(&self.hub, method, path, Some(body))
            .await
            .expect("the hub takes it");
    }

    /// A profile whose only access provider has that configuration for its plugin.
    async fn profile(&self, name: &str, provider: &str, config: &Value) {
        let path = format!("/apis/multicluster.x-k8s.io/v1alpha1/namespaces/{NAMESPACE}/clusterprofiles");
        let profile = profile(NAMESPACE, name, "tester");
        self.send(Method::POST, &path, profile).await;
        let mut cluster = self.cluster.clone();
        cluster["extensions"] = json!([{"name": "client.authentication.k8s.io/exec", "extension": config}]);
        let status = json!({"status": {"accessProviders": [{"name": provider, "cluster": cluster}]}});
        self.send(Method::PATCH, &format!("{path}/{name}/status"), status)
            .await;
    }

    fn call(&self, line: &str) {
        let mut command = command(line);
        command.current_dir(self.folder.path(""));
        // The plugins read it.
        command.env("KUBECONFIG", self.folder.path("hub.kubeconfig"));
        let done = done(&mut command);
        assert!(matches!(done.code, Some(0 | 1 | 3)), "{}", done.err);
    }

    /// Judges the rule with these plugins, and returns the names of the profiles that violate it.
    fn judge(&self, secretreader: &Value, kubeconfig_reader: &Value) -> Vec<String> {
        let provider = |name: &str, plugin: &Value| {
            let mut config = plugin.clone();
            config["apiVersion"] = "client.authentication.k8s.io/v1".into();
            config["provideClusterInfo"] = true.into();
            json!({"name": name, "execConfig": config})
        };
        let providers = [
            provider(SECRETREADER, secretreader),
            provider(KUBECONFIG_READER, kubeconfig_reader),
        ];
        let providers = json!({"providers": providers}).to_string();
        self.folder.write("providers.json", providers);
        let files = "--kubeconfig hub.kubeconfig --provider-file providers.json --record evidence.jsonl";
        self.call(&format!("run --observe 0s {files}"));
        let evidence = self.folder.text("evidence.jsonl");
        for credential in &self.credentials {
            assert!(!evidence.contains(credential), "the evidence shows a credential");
        }
        // New profiles have a grace period.
        let created = Regex::new(r#""creationTimestamp":"[^"]*""#).expect("a pattern");
        let aged = created.replace_all(&evidence, r#""creationTimestamp":"2020-01-01T00:00:00Z""#);
        self.folder.write("evidence.jsonl", &*aged);
        let replay = format!("replay evidence.jsonl --exact {RULE} --json report.json");
        self.call(&replay);
        let report = self.folder.json("report.json");
        let verdict = verdict_of(&report, RULE);
        assert_eq!(verdict["examined"], 6, "{verdict:#}");
        let findings = verdict["findings"].as_array().expect("findings");
        let name = |finding: &Value| finding["object"]["name"].as_str().expect("a name").to_owned();
        let mut names: Vec<String> = findings.iter().map(name).collect();
        names.sort();
        names
    }
}
