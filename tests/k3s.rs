//! The hub in a container: the error without an engine, and, with one, that a run leaves nothing.
//!
//! The fake engine answers Docker's API for one container, and behind the port that it maps is an API server of envtest.
//! `ci/k3s/run` brings a real engine, with a stand-in for K3s.

// Some of it is for the tests of the command line.
#[allow(dead_code)]
#[path = "support/command.rs"]
mod command;
#[path = "k3s/engine.rs"]
mod engine;
#[path = "support/trials.rs"]
mod trials;

use std::{
    env,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    os::unix::net::UnixStream,
    process::{Command, ExitCode, Stdio},
};

use command::{Done, Folder, assert_contains, done, signal};
use engine::Engine;
use lab::hub::{Hub, HubError, K3S_IMAGE};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use serde_json::Value;
use trials::{assets_or_reason, trial, trial_with};

fn main() -> ExitCode {
    let trials = vec![
        trial(
            "without_an_engine_it_says_what_to_do",
            without_an_engine_it_says_what_to_do,
        ),
        on_a_fake_engine("a_run_judges_and_leaves_nothing", a_run_judges_and_leaves_nothing),
        on_a_fake_engine(
            "a_run_that_is_ended_early_leaves_nothing",
            a_run_that_is_ended_early_leaves_nothing,
        ),
        on_a_fake_engine("a_hub_goes_with_a_signal", a_hub_goes_with_a_signal),
        on_a_fake_engine(
            "a_start_that_fails_leaves_nothing",
            a_start_that_fails_leaves_nothing,
        ),
        Trial::ignorable_test("a_run_on_a_real_engine", a_run_on_a_real_engine),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn on_a_fake_engine(name: &str, test: fn(Engine)) -> Trial {
    trial_with(name, assets_or_reason, move |assets| test(Engine::start(&assets)))
}

/// The command in a folder, with an engine at `host`.
fn command(folder: &Folder, host: &str, line: &str) -> Command {
    let mut command = command::command(line);
    command
        .current_dir(folder.path(""))
        .env("DOCKER_HOST", host)
        .env_remove("DOCKER_TLS_VERIFY");
    command
}

const RUN: &str = "run --hub k3s --manager reference --observe 2s --settle 0s --json report.json";

/// A run on an engine in a folder, with its output on one stream.
fn run(folder: &Folder, host: &str) -> (Option<i32>, String) {
    let Done { code, out, err } = done(&mut command(folder, host, RUN));
    (code, out + &err)
}

const WITHOUT_AN_ENGINE: &str = "failed to reach a container engine at";

fn without_an_engine_it_says_what_to_do() {
    let folder = Folder::new();
    for host in [
        format!("unix://{}", folder.flag("docker.sock")).as_str(),
        "tcp://127.0.0.1:1",
        "tcp://user:CANARY@127.0.0.1:1",
    ] {
        for line in [RUN, "hub --hub k3s"] {
            let done = done(&mut command(&folder, host, line));
            assert_eq!(done.code, Some(4), "{}", done.err);
            assert_contains(&done.err, &[WITHOUT_AN_ENGINE, "start Docker", "DOCKER_HOST"]);
            assert!(!(done.out + &done.err).contains("CANARY"));
        }
    }
    let mut by_tls = command(&folder, "tcp://127.0.0.1:1", RUN);
    by_tls
        .env("DOCKER_TLS_VERIFY", "1")
        .env_remove("DOCKER_CERT_PATH");
    let by_tls = done(&mut by_tls);
    assert_eq!(by_tls.code, Some(4));
    assert_contains(&by_tls.err, &["DOCKER_CERT_PATH is not set"]);
}

/// A run has judged, and no rule fails.
#[track_caller]
fn assert_judged(folder: &Folder, (code, printed): &(Option<i32>, String)) {
    // In so short a time the manager does not do everything.
    assert!(matches!(code, Some(0 | 3)), "{printed}");
    // It was fetched from the container.
    assert_contains(printed, &["judged from the audit log"]);
    let report = folder.json("report.json");
    let verdicts = report["verdicts"].as_array().expect("verdicts");
    assert!(
        verdicts.iter().all(|verdict| verdict["verdict"] != "fail"),
        "{printed}"
    );
    assert!(
        verdicts.iter().any(|verdict| verdict["verdict"] == "pass"),
        "{printed}"
    );
}

fn a_run_judges_and_leaves_nothing(engine: Engine) {
    let folder = Folder::new();
    let run = run(&folder, &engine.host());
    assert_judged(&folder, &run);
    assert!(!run.1.contains(&engine.secret()), "{}", run.1);

    let requested = engine.requested();
    assert_eq!(requested["HostConfig"]["Privileged"], true);
    assert_eq!(requested["Image"], K3S_IMAGE);
    assert_eq!(requested["Cmd"][0], "server");
    assert_contains(&requested["ExposedPorts"].to_string(), &["6443/tcp"]);
    assert_eq!(requested["Labels"]["clusterprofile-conformance.hub"], "k3s");
    assert!(engine.has_fetched_image(), "the image was not there");
    assert!(engine.is_removed(), "{}", run.1);
}

fn a_hub_goes_with_a_signal(engine: Engine) {
    let folder = Folder::new();
    let mut hub = command(&folder, &engine.host(), "hub --hub k3s");
    let hub = hub.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut served = hub.spawn().expect("it runs");
    let mut line = String::new();
    let stdout = served.stdout.take().expect("a pipe");
    BufReader::new(stdout)
        .read_line(&mut line)
        .expect("it says where it is");
    assert!(line.starts_with("serving https://127.0.0.1:"), "{line}");
    assert!(!engine.is_removed());
    let run = "run --observe 0s --kubeconfig hub.kubeconfig";
    let judged = done(&mut command(&folder, "unix:///nonexistent", run));
    // The API is there.
    let error = "there is no ClusterProfile to examine";
    assert_contains(&(judged.out + &judged.err), &[error]);

    signal(&served, "-INT");
    assert_eq!(served.wait().expect("it ends").code(), Some(0));
    assert!(engine.is_removed());
}

fn a_run_that_is_ended_early_leaves_nothing(engine: Engine) {
    let waits_for_k3s = engine.withhold_the_kubeconfig();
    let folder = Folder::new();
    let mut run = command(&folder, &engine.host(), RUN);
    let run = run.stdout(Stdio::piped()).stderr(Stdio::piped());
    let run = run.spawn().expect("it runs");
    waits_for_k3s.recv().expect("it waits for K3s");
    signal(&run, "-INT");
    let output = run.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(engine.is_removed(), "{output:?}");
}

fn a_start_that_fails_leaves_nothing(engine: Engine) {
    engine.refuse_to_start("no privileged containers here");
    let (code, printed) = run(&Folder::new(), &engine.host());
    assert_eq!(code, Some(4), "{printed}");
    assert_contains(&printed, &["no privileged containers here"]);
    assert!(engine.is_removed(), "{printed}");
}

/// The engine that the command would find.
fn real_engine() -> String {
    env::var("DOCKER_HOST").unwrap_or_else(|_| "unix:///var/run/docker.sock".to_owned())
}

/// The names of the suite's containers on the engine.
fn containers(engine: &str) -> Vec<String> {
    let socket = engine.strip_prefix("unix://").expect("a socket");
    let mut stream = UnixStream::connect(socket).expect("the engine listens");
    let filters = "%7B%22label%22:%5B%22clusterprofile-conformance.hub=k3s%22%5D%7D";
    // Answers of HTTP 1.0 have no chunks.
    let request = format!("GET /v1.41/containers/json?all=true&filters={filters} HTTP/1.0\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("the engine reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the engine answers");
    let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
    let list: Value = serde_json::from_str(body).expect("JSON");
    let names = list.as_array().expect("a list").iter();
    names.map(|container| container["Names"].to_string()).collect()
}

fn a_run_on_a_real_engine() -> Result<Completion, Failed> {
    let engine = real_engine();
    let folder = Folder::new();
    let run = run(&folder, &engine);
    if let Some(reason) = run.1.lines().find(|line| line.contains(WITHOUT_AN_ENGINE)) {
        return Ok(Completion::ignored_with(reason.to_owned()));
    }
    assert_judged(&folder, &run);
    assert_eq!(containers(&engine), [""; 0], "{}", run.1);

    // It goes with the process that started it, also where that fails.
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let version = runtime.block_on(async {
        let hub = Hub::k3s_with(&[]).await?;
        assert_eq!(containers(&engine).len(), 1);
        let version = hub.connection.client.apiserver_version().await;
        drop(hub);
        Ok::<_, HubError>(version.expect("a version").git_version)
    })?;
    // The stand-in has the API server of Kubernetes.
    let is_k3s = env::var_os("K3S_STAND_IN").is_none();
    assert_eq!(version.contains("+k3s"), is_k3s, "{version}");
    assert_eq!(containers(&engine), [""; 0]);
    Ok(Completion::Completed)
}
