//! The API server of our own: it serves its users, it leaves nothing behind, and it says why it does not start.

mod support;

use std::{
    env, fs, future,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    time::Duration,
};

use collect::clock::Clock;
use envtest::{Assets, Envtest, EnvtestError, EnvtestOptions};
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::{
    Client, Config,
    api::{Api, ListParams, PostParams},
};
use lab::{hub::Hub, manager::Manager};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use serde_json::{Value, json};

/// Names the assets for a copy of this program that only starts the servers and waits to be killed.
const ONLY_START: &str = "ENVTEST_ONLY_START";

fn main() -> ExitCode {
    if let Some(folder) = env::var_os(ONLY_START) {
        runtime().block_on(start_and_wait(Path::new(&folder)));
    }
    let trials = vec![
        trial("serves_its_users_and_leaves_nothing_behind", |assets| {
            runtime().block_on(serves_its_users_and_leaves_nothing_behind(assets));
        }),
        trial("goes_when_the_run_is_killed", goes_when_the_run_is_killed),
        trial("a_run_stores_nothing", |assets| {
            runtime().block_on(a_run_stores_nothing(assets));
        }),
        trial("says_why_it_does_not_start", |assets| {
            runtime().block_on(says_why_it_does_not_start(assets));
        }),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn trial(name: &str, test: fn(Assets)) -> Trial {
    Trial::ignorable_test(name, move || -> Result<Completion, Failed> {
        match support::assets_or_reason() {
            Ok(assets) => {
                test(assets);
                Ok(Completion::Completed)
            }
            Err(reason) => Ok(Completion::ignored_with(reason)),
        }
    })
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Runtime::new().unwrap()
}

async fn serves_its_users_and_leaves_nothing_behind(assets: Assets) {
    let envtest = Envtest::start(&assets, EnvtestOptions::default()).await.unwrap();
    let (folder, ids) = (envtest.folder().to_owned(), envtest.process_ids());
    let (log, admin_token) = (envtest.audit_log(), token(&envtest.config("admin")));

    let client = Client::try_from(envtest.config("conformance")).unwrap();
    let version = client.apiserver_version().await.unwrap();
    assert_eq!(version.git_version, envtest.server_version());
    assert!(version.git_version.starts_with("v1."), "{}", version.git_version);

    let namespaces: Api<Namespace> = Api::all(client.clone());
    namespaces
        .create(&PostParams::default(), &named("fleet"))
        .await
        .unwrap();
    let secrets: Api<Secret> = Api::namespaced(client, "fleet");
    let mut secret: Secret = named("credentials");
    secret.string_data = Some([("Config".to_owned(), "a-canary".to_owned())].into());
    secrets.create(&PostParams::default(), &secret).await.unwrap();

    let mut nobody = envtest.config("viewer");
    nobody.auth_info.token = None;
    assert_eq!(status_of_a_list(nobody).await, 401);
    assert_eq!(status_of_a_list(envtest.config("viewer")).await, 403);
    assert_eq!(status_of_a_list(envtest.config("reference-manager")).await, 200);

    if let Some(kubectl) = assets.kubectl() {
        assert_eq!(
            kubectl_get_namespace(&kubectl, &envtest).trim(),
            "namespace/fleet"
        );
    }
    the_audit_log_has_no_secret(&log);
    assert!(!format!("{envtest:?}").contains(&admin_token));

    assert!(ids.len() == 2 && ids.iter().all(|&id| exists(id)), "{ids:?}");
    drop(envtest);
    assert!(!ids.iter().any(|&id| exists(id)), "still there: {ids:?}");
    assert!(!folder.exists(), "still there: {}", folder.display());
}

fn the_audit_log_has_no_secret(log: &Path) {
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

fn kubectl_get_namespace(kubectl: &Path, envtest: &Envtest) -> String {
    let kubeconfig = envtest.folder().join("kubeconfig");
    fs::write(&kubeconfig, envtest.kubeconfig("conformance")).unwrap();
    let output = Command::new(kubectl)
        .arg("--kubeconfig")
        .arg(&kubeconfig)
        .args(["get", "namespace", "fleet", "-o", "name"])
        .env("HOME", envtest.folder())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

fn goes_when_the_run_is_killed(assets: Assets) {
    let mut run = Command::new(env::current_exe().unwrap())
        .env(ONLY_START, assets.folder())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(run.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let (ids, folder): (Vec<u32>, PathBuf) = serde_json::from_str(&line).unwrap();
    assert!(
        ids.len() == 2 && ids.iter().all(|&id| runs(id)) && folder.is_dir(),
        "{line}"
    );

    // SIGKILL: nothing of the run's own can clean up.
    run.kill().unwrap();
    run.wait().unwrap();
    let gone = async {
        while ids.iter().any(|&id| runs(id)) || folder.exists() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let outcome = runtime().block_on(async { tokio::time::timeout(Duration::from_secs(20), gone).await });
    assert!(outcome.is_ok(), "left behind: {line}");
}

async fn start_and_wait(assets: &Path) {
    let assets = Assets::find(Some(assets)).unwrap();
    let envtest = Envtest::start(&assets, EnvtestOptions::default()).await.unwrap();
    println!("{}", json!([envtest.process_ids(), envtest.folder()]));
    std::io::stdout().flush().unwrap();
    future::pending::<()>().await;
}

/// By default the command stores nothing, though it may do everything: the hub's audit log says so.
async fn a_run_stores_nothing(assets: Assets) {
    let hub = Hub::envtest(&assets, EnvtestOptions::default()).await.unwrap();
    let envtest = hub.as_envtest().unwrap();
    let manager = hub.client_as("reference-manager", "reference-manager").unwrap();
    let clock = Clock::system();
    Manager::new(Vec::new(), clock).set_up(&manager).await.unwrap();
    let before = everything(&manager).await;

    let kubeconfig = envtest.folder().join("kubeconfig");
    fs::write(&kubeconfig, envtest.kubeconfig("conformance")).unwrap();
    // The hub itself was prepared by `admin`.
    let mut command = Command::new(env!("CARGO_BIN_EXE_clusterprofile-conformance"));
    command.args([
        "run",
        "--observe",
        "2s",
        "--feature",
        "consumer-secrets",
        "--kubeconfig",
    ]);
    command
        .arg(&kubeconfig)
        .env_remove("KUBECONFIG")
        .stdin(Stdio::null());
    let done = tokio::task::spawn_blocking(move || command.output().unwrap())
        .await
        .unwrap();
    let told = String::from_utf8_lossy(&done.stdout);
    assert!(told.contains("identity/manager-immutable"), "{told}");
    assert!(
        matches!(done.status.code(), Some(0 | 1 | 3)),
        "{told}{}",
        String::from_utf8_lossy(&done.stderr)
    );

    let log = fs::read_to_string(envtest.audit_log()).unwrap();
    let events = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let ours: Vec<Value> = events
        .filter(|event| event["user"]["username"] == "conformance")
        .collect();
    let mut dry_runs = 0;
    for event in &ours {
        let (verb, uri) = (
            event["verb"].as_str().unwrap(),
            event["requestURI"].as_str().unwrap(),
        );
        let reads = matches!(verb, "get" | "list" | "watch");
        let asks = verb == "create" && uri.ends_with("/selfsubjectaccessreviews");
        let dry = matches!(verb, "patch" | "update") && uri.contains("?dryRun=All&");
        dry_runs += usize::from(dry);
        assert!(reads || asks || dry, "{verb} {uri}");
    }
    assert!(dry_runs > 0, "it was not even tried: {told}");
    assert_eq!(everything(&manager).await, before);
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

async fn says_why_it_does_not_start(assets: Assets) {
    let options = EnvtestOptions {
        api_server_flags: vec!["--no-such-flag".to_owned()],
        ..Default::default()
    };
    let error = Envtest::start(&assets, options).await.unwrap_err();
    let EnvtestError::Exited {
        program, log, tail, ..
    } = &error
    else {
        panic!("{error}")
    };
    assert_eq!(*program, "kube-apiserver");
    assert!(tail.contains("--no-such-flag"), "{tail}");
    assert!(error.to_string().contains(&log.display().to_string()), "{error}");
    assert!(fs::read_to_string(log).unwrap().contains(tail));
    fs::remove_file(log).unwrap();

    let options = EnvtestOptions {
        ready_within: Duration::from_millis(1),
        ..Default::default()
    };
    let error = Envtest::start(&assets, options).await.unwrap_err();
    let EnvtestError::NotReady { log, .. } = &error else {
        panic!("{error}")
    };
    assert!(error.to_string().contains("not ready within 1ms"), "{error}");
    fs::remove_file(log).unwrap();
}

/// An object with nothing but a name.
fn named<K: serde::de::DeserializeOwned>(name: &str) -> K {
    serde_json::from_value(json!({"metadata": {"name": name}})).unwrap()
}

fn token(config: &Config) -> String {
    let auth_info = serde_json::to_value(&config.auth_info).unwrap();
    auth_info["token"].as_str().unwrap().to_owned()
}

/// The HTTP status that listing the namespaces is answered with.
async fn status_of_a_list(config: Config) -> u16 {
    let namespaces: Api<Namespace> = Api::all(Client::try_from(config).unwrap());
    match namespaces.list(&ListParams::default()).await {
        Ok(_) => 200,
        Err(kube::Error::Api(status)) => status.code,
        Err(error) => panic!("{error}"),
    }
}

/// Whether there is such a process, be it a zombie.
fn exists(id: u32) -> bool {
    let status = Command::new("sh")
        .args(["-c", "kill -0 $0", &id.to_string()])
        .stderr(Stdio::null())
        .status();
    status.unwrap().success()
}

/// Whether the process runs. An orphan may stay a zombie where nothing collects it, as in many a container.
fn runs(id: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    exists(id) && !stat.contains(") Z ")
}
