//! The hub in a container: what is said where no engine is, and, where one is, that nothing of it stays.
//!
//! Between the two there is an engine that is played: it does what Docker's API says of containers, but behind the port
//! that it maps is the API server of our own. What is tried with it is all but the container.

mod support;

#[path = "k3s/engine.rs"]
mod engine;

use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::{Child, Command, ExitCode, Output, Stdio},
};

use engine::Engine;
use lab::hub::{Hub, HubError, K3S_IMAGE};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use serde_json::Value;
use tempfile::TempDir;

fn main() -> ExitCode {
    let trials = vec![
        Trial::test("without_an_engine_it_says_what_to_do", || {
            without_an_engine_it_says_what_to_do();
            Ok(())
        }),
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
    Trial::ignorable_test(name, move || -> Result<Completion, Failed> {
        match support::assets_or_reason() {
            Ok(assets) => {
                test(Engine::start(&assets));
                Ok(Completion::Completed)
            }
            Err(reason) => Ok(Completion::ignored_with(reason)),
        }
    })
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

const RUN: [&str; 7] = ["run", "--hub", "k3s", "--manager", "reference", "--observe", "2s"];

fn told(output: &Output) -> String {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

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
            for expected in [
                "failed to reach a container engine at",
                "start Docker",
                "DOCKER_HOST",
            ] {
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

fn a_run_on_a_real_engine() -> Result<Completion, Failed> {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let hub = runtime.block_on(async {
        let hub = Hub::k3s_with(&[]).await?;
        let version = hub.connection.client.apiserver_version().await;
        hub.stop().await?;
        Ok::<_, HubError>(version)
    });
    match hub {
        Ok(version) => {
            let version = version.expect("a version").git_version;
            assert!(version.contains("+k3s"), "{version}");
            Ok(Completion::Completed)
        }
        Err(error)
            if error
                .to_string()
                .starts_with("failed to reach a container engine") =>
        {
            Ok(Completion::ignored_with(error.to_string()))
        }
        Err(error) => Err(error.into()),
    }
}
