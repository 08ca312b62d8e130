//! The hub in a container: the error without an engine, and, with one, that a run leaves nothing.
//!
//! `ci/k3s/run` brings an engine, with a stand-in for K3s.

use std::{
    env,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    os::unix::net::UnixStream,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use lab::hub::{Hub, HubError};
use libtest_mimic::{Completion, Trial};
use serde_json::Value;
use tokio::{
    runtime::Runtime,
    time::{sleep, timeout},
};

use crate::{
    command::{self, Done, Folder, assert_contains, done, signal, verdicts},
    trials::trial,
};

pub fn trials() -> Vec<Trial> {
    vec![
        trial("k3s::without_an_engine_it_says_what_to_do", without_an_engine),
        trial("k3s::a_start_that_fails_leaves_nothing", start_that_fails),
        // They count the containers of the engine, so they are one trial.
        Trial::ignorable_test("k3s::on_an_engine_nothing_is_left", || match Engine::find() {
            Ok(engine) => {
                engine.a_run_judges_and_leaves_nothing();
                engine.a_run_that_is_ended_early_leaves_nothing();
                engine.a_hub_goes_with_a_signal();
                engine.a_container_goes_with_the_process();
                Ok(Completion::Completed)
            }
            Err(reason) => Ok(Completion::ignored_with(reason)),
        }),
    ]
}

fn command(folder: &Folder, host: &str, line: &str) -> Command {
    let mut command = command::command(line);
    command
        .current_dir(folder.path(""))
        .env("DOCKER_HOST", host)
        .env_remove("DOCKER_TLS_VERIFY");
    command
}

const RUN: &str = "run --hub k3s --manager reference --observe 2s --settle 0s --json report.json";
const WITHOUT_AN_ENGINE: &str = "failed to reach a container engine at";

fn without_an_engine() {
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
            assert!(!done.printed().contains("CANARY"));
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

/// An engine that creates a container and refuses to start it.
fn start_that_fails() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let host = format!("tcp://{}", listener.local_addr().expect("an address"));
    let (removals, removed) = std::sync::mpsc::channel();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 16 << 10];
            let length = stream.read(&mut request).unwrap_or_default();
            let request = String::from_utf8_lossy(&request[..length]).into_owned();
            let (status, body) = match request.split(' ').next() {
                Some("DELETE") => {
                    let _ = removals.send(());
                    ("204 No Content", "")
                }
                Some("POST") if request.contains("/containers/create") => {
                    ("201 Created", r#"{"Id": "hub", "Warnings": []}"#)
                }
                Some("POST") if request.contains("/start") => (
                    "500 Internal Server Error",
                    r#"{"message": "no privileged containers here"}"#,
                ),
                _ => ("200 OK", "OK"),
            };
            let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Type: application/json");
            let _ = write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        }
    });
    let Done { code, out, err } = done(&mut command(&Folder::new(), &host, RUN));
    assert_eq!(code, Some(4), "{out}{err}");
    assert_contains(&err, &["no privileged containers here"]);
    let removed = removed.recv_timeout(Duration::from_secs(10));
    removed.expect("it is removed");
}

struct Engine {
    host: String,
}

impl Engine {
    /// Finds the engine, or says why the trial has to be ignored.
    fn find() -> Result<Self, String> {
        let host = env::var("DOCKER_HOST").unwrap_or_else(|_| "unix:///var/run/docker.sock".to_owned());
        let socket = host.strip_prefix("unix://").unwrap_or_default();
        match UnixStream::connect(socket) {
            Ok(_) => Ok(Self { host }),
            Err(error) => Err(format!("there is no container engine at {host}: {error}")),
        }
    }

    fn containers(&self) -> Vec<String> {
        let socket = self.host.strip_prefix("unix://").expect("a socket");
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

    fn a_run_judges_and_leaves_nothing(&self) {
        let folder = Folder::new();
        let run = done(&mut command(&folder, &self.host, RUN));
        let printed = run.printed();
        // In so short a time the manager does not do everything.
        assert!(matches!(run.code, Some(0 | 3)), "{printed}");
        // The log was fetched from the container.
        assert_contains(&printed, &["judged from the audit log"]);
        let report = folder.json("report.json");
        let has = |verdict: &str| verdicts(&report).any(|rule| rule["verdict"] == verdict);
        assert!(has("pass") && !has("fail"), "{printed}");
        assert_eq!(self.containers(), [""; 0], "{printed}");
    }

    fn a_run_that_is_ended_early_leaves_nothing(&self) {
        let folder = Folder::new();
        let mut run = command(&folder, &self.host, RUN);
        let run = run.stdout(Stdio::piped()).stderr(Stdio::piped());
        let run = run.spawn().expect("it runs");
        let starting = async {
            while self.containers().is_empty() {
                sleep(Duration::from_millis(20)).await;
            }
        };
        let runtime = Runtime::new().expect("a runtime");
        let started = runtime.block_on(async { timeout(Duration::from_secs(60), starting).await });
        started.expect("it starts a container");
        signal(&run, "-INT");
        let output = run.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        assert_eq!(self.containers(), [""; 0], "{output:?}");
    }

    fn a_hub_goes_with_a_signal(&self) {
        let folder = Folder::new();
        let mut hub = command(&folder, &self.host, "hub --hub k3s");
        let hub = hub.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut hub = hub.spawn().expect("it runs");
        let mut line = String::new();
        let stdout = hub.stdout.take().expect("a pipe");
        BufReader::new(stdout)
            .read_line(&mut line)
            .expect("it says where it is");
        assert!(line.starts_with("serving https://127.0.0.1:"), "{line}");
        let run = "run --observe 0s --kubeconfig hub.kubeconfig";
        let judged = done(&mut command(&folder, "unix:///nonexistent", run));
        // The API is served.
        assert_contains(&judged.printed(), &["there is no ClusterProfile to examine"]);
        signal(&hub, "-INT");
        assert_eq!(hub.wait().expect("it ends").code(), Some(0));
        assert_eq!(self.containers(), [""; 0]);
    }

    /// Also where the process fails.
    fn a_container_goes_with_the_process(&self) {
        let runtime = Runtime::new().expect("a runtime");
        let version = runtime.block_on(async {
            let hub = Hub::k3s_with(&[]).await?;
            assert_eq!(self.containers().len(), 1);
            let version = hub.connection.client.apiserver_version().await;
            drop(hub);
            Ok::<_, HubError>(version.expect("a version").git_version)
        });
        let version = version.expect("a hub");
        // The stand-in has the API server of Kubernetes.
        let is_k3s = env::var_os("K3S_STAND_IN").is_none();
        assert_eq!(version.contains("+k3s"), is_k3s, "{version}");
        assert_eq!(self.containers(), [""; 0]);
    }
}
