//! The credential plugins of the ClusterProfile API's own repository, on a real hub with a real member.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use envtest::Assets;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::{
    Client,
    api::{Api, DynamicObject, Patch, PatchParams, PostParams},
    discovery::ApiResource,
};
use lab::hub::{Hub, envtest_options};
use libtest_mimic::Trial;
use regex::Regex;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::trials::{assets_or_reason, trial_with};

/// Names the folder of the plugins, as `ci/plugins/build` prints it.
const PLUGINS: &str = "CREDENTIAL_PLUGINS";
const RULE: &str = "access/plugin-yields-credential";
const NAMESPACE: &str = "fleet";
/// A token that no member knows.
const WRONG: &str = "nobody-knows-this-token";
const SECRETREADER: &str = "secretreader";
const KUBECONFIG_READER: &str = "kubeconfig-secretreader";

pub fn trials() -> Vec<Trial> {
    vec![trial_with(
        "plugins::what_plugins_yield_is_judged",
        || Ok((assets_or_reason()?, plugins_or_reason()?)),
        |(assets, plugins)| {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            runtime.block_on(what_plugins_yield_is_judged(&assets, &plugins));
        },
    )]
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

/// A hub whose profiles lead to one member, and the folder of the files that a run is given.
struct World {
    hub: Client,
    folder: TempDir,
    /// The member as an access provider has it.
    cluster: Value,
    /// What nobody may see.
    credentials: Vec<String>,
}

async fn what_plugins_yield_is_judged(assets: &Assets, plugins: &Path) {
    let [hub, member] = [start(assets).await, start(assets).await];
    let member = member.as_envtest().expect("envtest");
    let kubeconfig: Value = read(&member.kubeconfig("viewer"));
    let token = kubeconfig["users"][0]["user"]["token"].as_str().expect("a token");
    let world = World {
        hub: hub.connection.client.clone(),
        folder: tempfile::tempdir().expect("a folder"),
        cluster: kubeconfig["clusters"][0]["cluster"].clone(),
        credentials: vec![token.to_owned(), WRONG.to_owned()],
    };
    world.write("hub.kubeconfig", &in_namespace(&hub));
    let namespaces: Api<Namespace> = Api::all(world.hub.clone());
    let namespace = serde_json::from_value(json!({"metadata": {"name": NAMESPACE}})).expect("a namespace");
    namespaces
        .create(&PostParams::default(), &namespace)
        .await
        .expect("created");

    let whole = kubeconfig.to_string();
    let mut wrong = kubeconfig.clone();
    wrong["users"][0]["user"]["token"] = WRONG.into();
    let wrong = wrong.to_string();
    world
        .secret("right", &[("token", token), ("kubeconfig", &whole)])
        .await;
    world
        .secret("wrong", &[("token", WRONG), ("kubeconfig", &wrong)])
        .await;
    for name in ["right", "wrong", "absent"] {
        world
            .profile(name, SECRETREADER, &json!({"clusterName": name}))
            .await;
        let config = json!({"name": name, "key": "kubeconfig", "namespace": NAMESPACE});
        world
            .profile(&format!("kubeconfig-{name}"), KUBECONFIG_READER, &config)
            .await;
    }

    let real = |name: &str| json!({"command": plugins.join(name), "args": []});
    let judged = world.judge(&real(SECRETREADER), &real(KUBECONFIG_READER));
    assert_eq!(
        judged,
        ["absent", "kubeconfig-absent", "kubeconfig-wrong", "wrong"],
        "each that does not yield a credential which its member knows, and no other"
    );
    // One that hangs is ended, and one that prints garbage is told; neither keeps the run from its end.
    let hangs = json!({"command": "sleep", "args": ["600"]});
    let babbles = json!({"command": "echo", "args": ["token: garbage"]});
    let judged = world.judge(&hangs, &babbles);
    assert_eq!(
        judged,
        [
            "absent",
            "kubeconfig-absent",
            "kubeconfig-right",
            "kubeconfig-wrong",
            "right",
            "wrong"
        ]
    );
}

async fn start(assets: &Assets) -> Hub {
    Hub::envtest(assets, envtest_options()).await.expect("a hub")
}

/// The way to the hub, with the namespace that plugins read by themselves.
fn in_namespace(hub: &Hub) -> String {
    let mut kubeconfig = read(&hub.as_envtest().expect("envtest").kubeconfig("conformance"));
    kubeconfig["contexts"][0]["context"]["namespace"] = NAMESPACE.into();
    kubeconfig.to_string()
}

fn read(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

impl World {
    fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).expect("written");
    }

    async fn secret(&self, name: &str, data: &[(&str, &str)]) {
        let data: serde_json::Map<_, _> = data
            .iter()
            .map(|(key, value)| ((*key).to_owned(), BASE64_STANDARD.encode(value).into()))
            .collect();
        let secret = json!({"metadata": {"name": name}, "data": data});
        let secrets: Api<Secret> = Api::namespaced(self.hub.clone(), NAMESPACE);
        let secret = serde_json::from_value(secret).expect("a Secret");
        secrets
            .create(&PostParams::default(), &secret)
            .await
            .expect("created");
    }

    /// A profile whose only access provider has that configuration for its plugin.
    async fn profile(&self, name: &str, provider: &str, config: &Value) {
        let kind = ApiResource {
            group: "multicluster.x-k8s.io".to_owned(),
            version: "v1alpha1".to_owned(),
            api_version: "multicluster.x-k8s.io/v1alpha1".to_owned(),
            kind: "ClusterProfile".to_owned(),
            plural: "clusterprofiles".to_owned(),
        };
        let profiles: Api<DynamicObject> = Api::namespaced_with(self.hub.clone(), NAMESPACE, &kind);
        let labels = json!({"x-k8s.io/cluster-manager": "tester"});
        let profile = json!({
            "apiVersion": kind.api_version, "kind": kind.kind,
            "metadata": {"name": name, "labels": labels},
            "spec": {"clusterManager": {"name": "tester"}},
        });
        let profile = serde_json::from_value(profile).expect("a profile");
        profiles
            .create(&PostParams::default(), &profile)
            .await
            .expect("created");
        let mut cluster = self.cluster.clone();
        cluster["extensions"] = json!([{"name": "client.authentication.k8s.io/exec", "extension": config}]);
        let status = json!({"status": {"accessProviders": [{"name": provider, "cluster": cluster}]}});
        let patch = Patch::Merge(&status);
        profiles
            .patch_status(name, &PatchParams::default(), &patch)
            .await
            .expect("patched");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).expect(name)
    }

    fn call(&self, line: &str) {
        let done = Command::new(env!("CARGO_BIN_EXE_clusterprofile-conformance"))
            .args(line.split_whitespace())
            .current_dir(self.folder.path())
            .env("KUBECONFIG", self.folder.path().join("hub.kubeconfig"))
            .stdin(Stdio::null())
            .output()
            .expect("the command runs");
        let told = String::from_utf8_lossy(&done.stderr);
        assert!(matches!(done.status.code(), Some(0 | 1 | 3)), "{told}");
    }

    /// Judges the rule with these plugins; gives the names of the profiles that it is broken by.
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
        self.write("providers.json", &json!({"providers": providers}).to_string());
        self.call("run --kubeconfig hub.kubeconfig --provider-file providers.json --observe 0s --record evidence.jsonl");
        let evidence = self.read("evidence.jsonl");
        for credential in &self.credentials {
            assert!(!evidence.contains(credential), "the evidence shows a credential");
        }
        // Profiles that came this moment are not held to anything yet: these have been there for years.
        let created = Regex::new(r#""creationTimestamp":"[^"]*""#).expect("a pattern");
        let aged = created.replace_all(&evidence, r#""creationTimestamp":"2020-01-01T00:00:00Z""#);
        self.write("evidence.jsonl", &aged);
        self.call(&format!(
            "replay evidence.jsonl --exact {RULE} --json report.json"
        ));
        let report = read(&self.read("report.json"));
        let verdicts = report["verdicts"].as_array().expect("verdicts");
        let verdict = verdicts
            .iter()
            .find(|verdict| verdict["rule"] == RULE)
            .expect("judged");
        assert_eq!(verdict["examined"], 6, "{verdict:#}");
        let findings = verdict["findings"].as_array().expect("findings");
        let name = |finding: &Value| finding["object"]["name"].as_str().expect("a name").to_owned();
        let mut names: Vec<String> = findings.iter().map(name).collect();
        names.sort();
        names
    }
}
