//! Runs that are ended early: what they leave, and how soon they end.

use std::{
    fs,
    io::{BufRead, BufReader, Read as _},
    process::{Child, ChildStderr, Stdio},
    sync::Arc,
};

use apiserver::ApiServer;
use collect::clock::Clock;
use lab::{
    hub::Hub,
    manager::{Manager, hub_definitions},
};
use tokio::{net::TcpListener, task::spawn_blocking};

use super::*;

/// Does something with a kubeconfig that leads to the lab, where the reference manager is at work meanwhile.
pub(super) async fn beside_the_lab<T: Send + 'static>(
    folder: &Folder,
    work: impl FnOnce(String) -> T + Send + 'static,
) -> T {
    let clock = Clock::system();
    let hub = Hub::lab_with(clock, &hub_definitions(&[])).await.expect("a hub");
    let client = hub.client_as(Manager::NAME, Manager::NAME).expect("a client");
    let mut manager = Manager::new(Vec::new(), clock);
    manager.set_up(&client).await.expect("it starts");
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let kubeconfig = folder.kubeconfig(listener.local_addr().expect("an address").port());
    let user = format!("user: {{token: '{}'}}", ApiServer::token("conformance"));
    let text = folder.text("kubeconfig").replace("user: {}", &user);
    fs::write(&kubeconfig, text).expect("written");
    let server = hub.as_lab().expect("the lab").clone();
    tokio::spawn(async move { server.serve(listener).await });
    tokio::select! {
        done = spawn_blocking(move || work(kubeconfig)) => done.expect("it is done"),
        end = manager.run(client) => panic!("the manager ended: {end:?}"),
    }
}

/// A run with every report, and what it says.
fn start(folder: &Folder, kubeconfig: &str, flags: &[&str]) -> (Child, BufReader<ChildStderr>) {
    let formats = report::FORMATS.iter().map(|format| format.name());
    let reports = formats.chain(["record"]);
    let mut run = command(&["run", "--kubeconfig", kubeconfig, "--observe", "10m"]);
    run.args(flags);
    for report in reports {
        run.args([format!("--{report}"), folder.flag(report)]);
    }
    let mut child = run
        .env("XDG_STATE_HOME", folder.path("state"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let told = BufReader::new(child.stderr.take().expect("a pipe"));
    (child, told)
}

/// Reads what it says up to the line with that in it.
pub(super) fn until(told: &mut impl BufRead, part: &str) {
    let mut before = String::new();
    while !before.contains(part) {
        let read = told.read_line(&mut before).expect("UTF-8");
        assert!(read > 0, "{part:?} never came: {before}");
    }
}

pub(super) fn signal(child: &Child, name: &str) {
    let told = Command::new("kill")
        .args([name, &child.id().to_string()])
        .status();
    assert!(told.expect("kill runs").success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_ended_early_leaves_reports_that_say_so() {
    for name in ["-INT", "-TERM"] {
        let folder = Arc::new(Folder::new());
        let within = Arc::clone(&folder);
        let ended = beside_the_lab(&folder, move |kubeconfig| {
            let (child, mut told) = start(&within, &kubeconfig, &[]);
            until(&mut told, "watching for 10m: ");
            signal(&child, name);
            until(&mut told, "stopping: ");
            child.wait_with_output()
        });
        let output = ended.await.expect("it ends");
        let out = String::from_utf8(output.stdout).expect("UTF-8");
        assert_eq!(output.status.code(), Some(3), "{name}: {out}");
        let words: Vec<&str> = out.split_whitespace().collect();
        let words = words.join(" ");
        assert!(
            words.contains("inconclusive for edition standard: the run was cut short "),
            "{name}: {out}"
        );
        assert!(words.contains("; partial: it was stopped"), "{name}: {out}");

        let report = folder.json("json");
        assert_eq!(report["decision"], "inconclusive");
        assert_eq!(report["partial"], true);
        assert!(
            report["profiles"].as_u64().is_some_and(|seen| seen > 10),
            "{report:#}"
        );
        for (report, part) in [
            ("junit", "it was stopped"),
            ("markdown", "partial"),
            ("badge", "inconclusive"),
        ] {
            let text = folder.text(report);
            assert!(text.contains(part), "{report}: {text}");
        }
        // What was seen until then is there to be judged again.
        let again = expect(3, &["replay", &folder.flag("record")]);
        assert!(again.contains("the run was cut short"), "{again}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_a_run_at_once() {
    let folder = Arc::new(Folder::new());
    let within = Arc::clone(&folder);
    let pipe = folder.flag("joined");
    let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
    assert!(made.success());
    // What was joined has to leave before the run may end, and that takes a while.
    let driver = format!("hooks:\n  join: [sh, -c, 'echo joined > {pipe}']\n  leave: [sleep, '30']\n");
    fs::write(folder.path("driver.yaml"), driver).expect("written");
    let ended = beside_the_lab(&folder, move |kubeconfig| {
        let driver = within.flag("driver.yaml");
        let (child, mut told) = start(&within, &kubeconfig, &["--driver", &driver]);
        // It is opened once the hook opens it too.
        assert_eq!(fs::read(&pipe).expect("a pipe")[..7], *b"joined\n");
        signal(&child, "-TERM");
        until(&mut told, "stopping: ");
        signal(&child, "-INT");
        child.wait_with_output()
    });
    let output = ended.await.expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    assert!(!folder.path("json").exists());
    let left = fs::read_dir(folder.path("")).expect("the folder");
    let hidden = |name: &str| name.starts_with('.');
    let names: Vec<String> = left
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    assert!(!names.iter().any(|name| hidden(name)), "{names:?}");
}

#[test]
fn a_run_that_is_ended_before_the_hub_has_answered_is_cut_short() {
    let folder = Folder::new();
    // It takes what comes, and answers nothing.
    let silent = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let kubeconfig = folder.kubeconfig(silent.local_addr().expect("an address").port());
    let (child, mut told) = start(&folder, &kubeconfig, &[]);
    // It has asked: it listens for signals by now.
    let (mut asked, _) = silent.accept().expect("a connection");
    asked.read_exact(&mut [0; 4]).expect("a request");
    signal(&child, "-TERM");
    until(&mut told, "error: stopped before anything was seen of the hub");
    let output = child.wait_with_output().expect("it ends");
    drop(asked);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let report = folder.json("json");
    assert_eq!(report["decision"], "inconclusive");
    assert_eq!(report["partial"], true);
    assert!(!folder.path("record").exists());
}
