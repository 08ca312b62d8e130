//! The hub in a container: what is said where no engine is, and, where one is, that nothing of it stays.
//!
//! Between the two there is an engine that is played: it does what Docker's API says of containers, but behind the port
//! that it maps is the API server of our own. What is tried with it is all but the container. `ci/k3s/run` brings a real
//! engine, whose K3s is a stand-in.

#[path = "k3s/engine.rs"]
mod engine;
#[path = "support/trials.rs"]
mod trials;

use std::{
    env, fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    os::unix::net::UnixStream,
    process::{Child, Command, ExitCode, Output, Stdio},
};

use engine::Engine;
use lab::hub::{Hub, HubError, K3S_IMAGE};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use serde_json::Value;
use tempfile::TempDir;
use trials::{assets_or_reason, trial, trial_with};

fn main() -> ExitCode {
    let trials = vec![
        trial(
            "without_an_engine_it_says_what_to_do",
            without_an_engine_it_says_what_to_do,
        ),
        on_a_played_engine("a_run_judges_and_leaves_nothing", a_run_judges_and_leaves_nothing),
        on_a_played_engine(
            "a_run_that_is_ended_before_the_hub_is_ready_leaves_nothing",
            a_run_that_is_ended_before_the_hub_is_ready_leaves_nothing,
        ),
        on_a_played_engine("a_hub_goes_with_a_signal", a_hub_goes_with_a_signal),
        on_a_played_engine(
            "a_start_that_fails_leaves_nothing",
            a_start_that_fails_leaves_nothing,
        ),
        Trial::ignorable_test("a_run_on_a_real_engine", a_run_on_a_real_engine),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn on_a_played_engine(name: &str, test: fn(Engine)) -> Trial {
    trial_with(name, assets_or_reason, move |assets| test(Engine::start(&assets)))
}

/// The command, which finds an engine at `host` alone.
fn command(host: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clusterprofile-conformance"));
    command
        .args(arguments)
        .stdin(Stdio::null())
        .env("DOCKER_HOST", host)
        .env_remove("DOCKER_TLS_VERIFY")
        .env_remove("KUBECONFIG")
        .env("HOME", "/nonexistent");
    command
}

const RUN: [&str; 9] = [
    "run",
    "--hub",
    "k3s",
    "--manager",
    "reference",
    "--observe",
    "2s",
    "--settle",
    "0s",
];

fn told(output: &Output) -> String {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

const WITHOUT_AN_ENGINE: &str = "failed to reach a container engine at";

fn without_an_engine_it_says_what_to_do() {
    let folder = TempDir::new().expect("a folder");
    let socket = format!("unix://{}/docker.sock", folder.path().display());
    for host in [
        socket.as_str(),
        "tcp://127.0.0.1:1",
        "tcp://somebody:CANARY@127.0.0.1:1",
    ] {
        for arguments in [&RUN[..], &["hub", "--hub", "k3s"]] {
            let output = command(host, arguments)
                .current_dir(&folder)
                .output()
                .expect("it runs");
            let told = told(&output);
            assert_eq!(output.status.code(), Some(4), "{told}");
            for expected in [WITHOUT_AN_ENGINE, "start Docker", "DOCKER_HOST"] {
                assert!(told.contains(expected), "{told}");
            }
            assert!(!told.contains("CANARY"), "{told}");
        }
    }
    let by_tls = command("tcp://127.0.0.1:1", &RUN)
        .env("DOCKER_TLS_VERIFY", "1")
        .env_remove("DOCKER_CERT_PATH")
        .output()
        .expect("it runs");
    assert_eq!(by_tls.status.code(), Some(4));
    assert!(
        told(&by_tls).contains("DOCKER_CERT_PATH is not set"),
        "{}",
        told(&by_tls)
    );
}

fn a_run_judges_and_leaves_nothing(engine: Engine) {
    let folder = TempDir::new().expect("a folder");
    let report = folder.path().join("report.json");
    let output = command(&engine.host(), &RUN)
        .arg("--json")
        .arg(&report)
        .output()
        .expect("it runs");
    let told = told(&output);
    // In so short a time the manager does not do all that it will.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{told}");
    assert!(!told.contains(&engine.secret()), "{told}");
    let report: Value = serde_json::from_slice(&fs::read(&report).expect("a report")).expect("JSON");
    let verdicts = report["verdicts"].as_array().expect("verdicts");
    assert!(
        verdicts.iter().all(|verdict| verdict["verdict"] != "fail"),
        "{told}"
    );
    assert!(
        verdicts.iter().any(|verdict| verdict["verdict"] == "pass"),
        "{told}"
    );
    // It was fetched from the container.
    assert!(told.contains("judged from the audit log"), "{told}");

    let asked = engine.asked();
    assert_eq!(asked["HostConfig"]["Privileged"], true);
    assert_eq!(asked["Image"], K3S_IMAGE);
    assert_eq!(asked["Cmd"][0], "server");
    assert!(asked["ExposedPorts"].to_string().contains("6443/tcp"), "{asked}");
    assert_eq!(asked["Labels"]["clusterprofile-conformance.hub"], "k3s");
    assert!(engine.fetched(), "the image was not there");
    assert!(engine.is_removed(), "{told}");
}

fn a_hub_goes_with_a_signal(engine: Engine) {
    let folder = TempDir::new().expect("a folder");
    let mut served = command(&engine.host(), &["hub", "--hub", "k3s"])
        .current_dir(&folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it runs");
    let mut line = String::new();
    BufReader::new(served.stdout.take().expect("a pipe"))
        .read_line(&mut line)
        .expect("it says where it is");
    assert!(line.starts_with("serving https://127.0.0.1:"), "{line}");
    assert!(!engine.is_removed());
    let kubeconfig = folder.path().join("hub.kubeconfig");
    let judged = command("unix:///nonexistent", &["run", "--observe", "0s", "--kubeconfig"])
        .arg(&kubeconfig)
        .output()
        .expect("it runs");
    // The API is there.
    assert!(
        told(&judged).contains("there is no ClusterProfile to examine"),
        "{}",
        told(&judged)
    );

    interrupt(&served);
    assert_eq!(served.wait().expect("it ends").code(), Some(0));
    assert!(engine.is_removed());
}

fn a_run_that_is_ended_before_the_hub_is_ready_leaves_nothing(engine: Engine) {
    let waited_for = engine.withhold_the_kubeconfig();
    let run = command(&engine.host(), &RUN)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    waited_for.recv().expect("it waits for K3s");
    interrupt(&run);
    let output = run.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(3), "{}", told(&output));
    assert!(engine.is_removed(), "{}", told(&output));
}

fn interrupt(process: &Child) {
    let sent = Command::new("kill")
        .args(["-INT", &process.id().to_string()])
        .status();
    assert!(sent.expect("kill runs").success());
}

fn a_start_that_fails_leaves_nothing(engine: Engine) {
    engine.refuse_to_start("no privileged containers here");
    let output = command(&engine.host(), &RUN).output().expect("it runs");
    let told = told(&output);
    assert_eq!(output.status.code(), Some(4), "{told}");
    assert!(told.contains("no privileged containers here"), "{told}");
    assert!(engine.is_removed(), "{told}");
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
    // Of this version, as its answers have no chunks.
    write!(
        stream,
        "GET /v1.41/containers/json?all=true&filters={filters} HTTP/1.0\r\n\r\n"
    )
    .expect("the engine reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the engine answers");
    let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
    let list: Value = serde_json::from_str(body).expect("JSON");
    let names = list.as_array().expect("a list").iter();
    names.map(|container| container["Names"].to_string()).collect()
}

fn a_run_on_a_real_engine() -> Result<Completion, Failed> {
    let engine = real_engine();
    let folder = TempDir::new().expect("a folder");
    let report = folder.path().join("report.json");
    let output = command(&engine, &RUN)
        .arg("--json")
        .arg(&report)
        .output()
        .expect("it runs");
    let told = told(&output);
    if let Some(reason) = told.lines().find(|line| line.contains(WITHOUT_AN_ENGINE)) {
        return Ok(Completion::ignored_with(reason.to_owned()));
    }
    // In so short a time the manager does not do all that it will.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{told}");
    assert!(told.contains("judged from the audit log"), "{told}");
    let report: Value = serde_json::from_slice(&fs::read(&report).expect("a report")).expect("JSON");
    let verdicts = report["verdicts"].as_array().expect("verdicts");
    assert!(
        verdicts.iter().any(|verdict| verdict["verdict"] == "pass"),
        "{told}"
    );
    assert!(
        verdicts.iter().all(|verdict| verdict["verdict"] != "fail"),
        "{told}"
    );
    assert_eq!(containers(&engine), [""; 0], "{told}");

    // It goes with the process that asked for it, also where that fails.
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let version = runtime.block_on(async {
        let hub = Hub::k3s_with(&[]).await?;
        assert_eq!(containers(&engine).len(), 1);
        let version = hub.connection.client.apiserver_version().await;
        drop(hub);
        Ok::<_, HubError>(version.expect("a version").git_version)
    })?;
    // The stand-in has the API server of Kubernetes.
    assert_eq!(
        version.contains("+k3s"),
        env::var_os("K3S_STAND_IN").is_none(),
        "{version}"
    );
    assert_eq!(containers(&engine), [""; 0]);
    Ok(Completion::Completed)
}
