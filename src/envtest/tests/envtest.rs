//! The API server serves its users, leaves nothing behind, and says why it does not start.
//!
//! The trials are ignored, with the reason, where there are no programs to start.

use std::{
    env, fs, future,
    io::{BufRead as _, BufReader, Write as _},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{self, Command, ExitCode, Stdio},
    time::Duration,
};

use envtest::{Assets, Envtest, EnvtestError, EnvtestOptions, EnvtestUser};
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::{
    Client, Config,
    api::{Api, ListParams, PostParams},
};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use serde_json::{Value, json};

/// Names the programs' folder for a copy of this test that starts the servers and waits to be killed.
const ONLY_START: &str = "ENVTEST_ONLY_START";
/// Where this repository builds the programs.
const BUILDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ci/envtest/.cache");

fn main() -> ExitCode {
    if let Some(folder) = env::var_os(ONLY_START) {
        runtime().block_on(start_and_wait(Path::new(&folder)));
    }
    run_if_asked();
    let mut trials = vec![
        trial("serves_its_users_and_leaves_nothing_behind", |assets| {
            runtime().block_on(serves_its_users_and_leaves_nothing_behind(assets));
        }),
        trial("goes_when_the_process_is_killed", goes_when_the_process_is_killed),
        trial("says_why_it_does_not_start", |assets| {
            runtime().block_on(says_why_it_does_not_start(assets));
        }),
    ];
    trials.push(Trial::test("names_this_version", || {
        names_this_version();
        Ok(())
    }));
    for program in PROGRAMS {
        let name = |what: &str| format!("{}::{what}", program.name);
        trials.push(Trial::test(name("stands_in_the_readme"), || {
            program.stands_in_the_readme();
            Ok(())
        }));
        trials.push(trial(&name("runs"), |assets| program.runs(&assets)));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn trial(name: &str, test: impl FnOnce(Assets) + Send + 'static) -> Trial {
    Trial::ignorable_test(name, move || -> Result<Completion, Failed> {
        match Assets::find(Some(Path::new(BUILDS))) {
            Ok(assets) => {
                test(assets);
                Ok(Completion::Completed)
            }
            Err(error) => Ok(Completion::ignored_with(format!(
                "{error}, or build them with `ci/envtest/build` (it needs Go)"
            ))),
        }
    })
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Runtime::new().unwrap()
}

async fn serves_its_users_and_leaves_nothing_behind(assets: Assets) {
    let options = EnvtestOptions {
        users: vec![
            EnvtestUser::admin("system:serviceaccount:apps:controller"),
            EnvtestUser::without_rights("viewer"),
            EnvtestUser::new("grouped", ["observers", "a \"quoted\" group"]),
        ],
        ..EnvtestOptions::default()
    };
    let envtest = Envtest::start(&assets, options).await.unwrap();
    let (folder, ids) = (envtest.folder().to_owned(), envtest.process_ids());
    let (log, admin_token) = (envtest.audit_log(), token(&envtest.config("admin")));

    let controller = "system:serviceaccount:apps:controller";
    let client = Client::try_from(envtest.config(controller)).unwrap();
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

    let mut anonymous = envtest.config("viewer");
    anonymous.auth_info.token = None;
    assert_eq!(status_of_a_list(anonymous).await, 401);
    assert_eq!(status_of_a_list(envtest.config("viewer")).await, 403);
    assert_eq!(status_of_a_list(envtest.config("admin")).await, 200);
    let expected = json!(["observers", "a \"quoted\" group", "system:authenticated"]);
    assert_eq!(groups(envtest.config("grouped")).await, expected);

    if let Some(kubectl) = assets.kubectl() {
        let expected = "namespace/fleet";
        assert_eq!(kubectl_get_namespace(&kubectl, &envtest).trim(), expected);
    }
    the_audit_log_has_metadata_alone(&log, controller);
    assert!(!format!("{envtest:?}").contains(&admin_token));

    assert!(ids.len() == 2 && ids.iter().all(|&id| exists(id)), "{ids:?}");
    drop(envtest);
    assert!(!ids.iter().any(|&id| exists(id)), "still there: {ids:?}");
    assert!(!folder.exists(), "still there: {}", folder.display());
}

/// That is the default policy.
fn the_audit_log_has_metadata_alone(log: &Path, user: &str) {
    let text = fs::read_to_string(log).unwrap();
    let events: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for resource in ["namespaces", "secrets"] {
        let event = events.iter().find(|event| {
            event["verb"] == "create"
                && event["objectRef"]["resource"] == resource
                && event["user"]["username"] == user
        });
        assert!(event.is_some(), "{user} created none of {resource}: {text}");
    }
    assert!(!text.contains("requestObject"), "{text}");
}

fn kubectl_get_namespace(kubectl: &Path, envtest: &Envtest) -> String {
    let kubeconfig = envtest.folder().join("kubeconfig");
    fs::write(&kubeconfig, envtest.kubeconfig("admin")).unwrap();
    succeeds(
        Command::new(kubectl)
            .arg("--kubeconfig")
            .arg(&kubeconfig)
            .args(["get", "namespace", "fleet", "-o", "name"])
            .env("HOME", envtest.folder()),
    )
}

fn succeeds(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

fn goes_when_the_process_is_killed(assets: Assets) {
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

    // SIGKILL: the process cannot clean up.
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
    let assets = Assets::in_folder(assets).unwrap();
    let envtest = Envtest::start(&assets, EnvtestOptions::default()).await.unwrap();
    println!("{}", json!([envtest.process_ids(), envtest.folder()]));
    std::io::stdout().flush().unwrap();
    future::pending::<()>().await;
}

async fn says_why_it_does_not_start(assets: Assets) {
    let options = EnvtestOptions {
        api_server_flags: vec!["--no-such-flag".to_owned()],
        ..Default::default()
    };
    let error = Envtest::start(&assets, options).await.unwrap_err();
    let EnvtestError::NotReady { reason, log, tail } = &error else {
        panic!("{error}")
    };
    assert!(reason.starts_with("kube-apiserver ended"), "{reason}");
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

fn named<K: serde::de::DeserializeOwned>(name: &str) -> K {
    serde_json::from_value(json!({"metadata": {"name": name}})).unwrap()
}

fn token(config: &Config) -> String {
    let auth_info = serde_json::to_value(&config.auth_info).unwrap();
    auth_info["token"].as_str().unwrap().to_owned()
}

async fn status_of_a_list(config: Config) -> u16 {
    let namespaces: Api<Namespace> = Api::all(Client::try_from(config).unwrap());
    match namespaces.list(&ListParams::default()).await {
        Ok(_) => 200,
        Err(kube::Error::Api(status)) => status.code,
        Err(error) => panic!("{error}"),
    }
}

async fn groups(config: Config) -> Value {
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let request = http::Request::post("/apis/authentication.k8s.io/v1/selfsubjectreviews")
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(review.to_string().into_bytes())
        .unwrap();
    let answer: Value = Client::try_from(config).unwrap().request(request).await.unwrap();
    answer["status"]["userInfo"]["groups"].clone()
}

/// Whether there is such a process, even a zombie.
fn exists(id: u32) -> bool {
    let status = Command::new("sh")
        .args(["-c", "kill -0 $0", &id.to_string()])
        .stderr(Stdio::null())
        .status();
    status.unwrap().success()
}

/// Whether the process runs. In many containers nothing waits for an orphan, which then stays a zombie.
fn runs(id: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    exists(id) && !stat.contains(") Z ")
}

/// The programs of the README are those of the tests, and each of them runs.
const README: &str = include_str!("../README.md");

/// Names the program that a copy of this test runs in place of its trials.
const PROGRAM: &str = "ENVTEST_README_PROGRAM";

struct Program {
    name: &'static str,
    text: &'static str,
    run: fn(),
}

/// A module for each program, and the list of them.
macro_rules! programs {
    ($($name:ident)*) => {
        $(mod $name {
            include!(concat!("readme/", stringify!($name), ".rs"));

            pub fn run() {
                main().expect("the program succeeds");
            }
        })*

        const PROGRAMS: &[Program] = &[$(Program {
            name: stringify!($name),
            text: include_str!(concat!("readme/", stringify!($name), ".rs")),
            run: $name::run,
        }),*];
    };
}

programs!(start users versions);

/// Runs a program instead of the trials, if this process was started for that.
fn run_if_asked() {
    let asked = env::var(PROGRAM).unwrap_or_default();
    if let Some(program) = PROGRAMS.iter().find(|program| program.name == asked) {
        (program.run)();
        process::exit(0);
    }
}

fn names_this_version() {
    let version = concat!(
        env!("CARGO_PKG_VERSION_MAJOR"),
        ".",
        env!("CARGO_PKG_VERSION_MINOR")
    );
    assert!(
        README.contains(&format!("kube-envtest = \"{version}\"")),
        "the README has not {version}"
    );
}

impl Program {
    fn stands_in_the_readme(&self) {
        let block = format!("```rust,no_run\n{}```\n", self.text);
        assert!(
            README.contains(&block),
            "the README has not tests/readme/{}.rs",
            self.name
        );
    }

    /// Runs it, as its users would, with a folder that has one folder for each version.
    fn runs(&self, assets: &Assets) {
        let versions = tempfile::tempdir().unwrap();
        symlink(assets.folder(), versions.path().join("one")).unwrap();
        succeeds(
            Command::new(env::current_exe().unwrap())
                .env(PROGRAM, self.name)
                .env("KUBEBUILDER_ASSETS", assets.folder())
                .arg(versions.path()),
        );
    }
}
