//! Runs and hubs that are ended by a signal: what they leave, and how soon they end.

use std::{
    io::{BufRead, BufReader, Read as _},
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    process::{Child, ChildStderr, Command, Output},
    sync::Arc,
};

use tokio::task::spawn_blocking;

use super::{served_lab::ServedLab, *};

/// Calls `work` with a folder that has a kubeconfig for the lab, while the reference manager works there.
async fn with_lab(work: impl FnOnce(&Folder) -> Output + Send + 'static) -> (Output, Arc<Folder>) {
    let (lab, manager, client) = ServedLab::with_manager().await;
    let folder = Arc::clone(&lab.folder);
    let output = tokio::select! {
        output = spawn_blocking(move || work(&folder)) => output.expect("it is done"),
        end = manager.run(client) => panic!("the manager ended: {end:?}"),
    };
    (output, lab.folder)
}

/// Starts a run with every report. Returns it and its standard error.
fn start(folder: &Folder, flags: &str) -> (Child, BufReader<ChildStderr>) {
    let kubeconfig = folder.flag("kubeconfig");
    let mut run = command(format!("run --kubeconfig {kubeconfig} --observe 10m {flags}"));
    for report in report::FileFormat::ALL.map(report::FileFormat::name) {
        run.args([format!("--{report}"), folder.flag(report)]);
    }
    run.env("XDG_STATE_HOME", folder.path("state"));
    run.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = run.spawn().expect("the command runs");
    let stderr = BufReader::new(child.stderr.take().expect("a pipe"));
    (child, stderr)
}

fn wait_for(output: &mut impl BufRead, part: &str) {
    let mut text = String::new();
    while !text.contains(part) {
        let read = output.read_line(&mut text).expect("UTF-8");
        assert!(read > 0, "{part:?} never came: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_run_leaves_partial_reports() {
    // In parallel: each waits until its run reports progress.
    tokio::join!(
        assert_partial_reports_after("-INT"),
        assert_partial_reports_after("-TERM")
    );
}

async fn assert_partial_reports_after(name: &'static str) {
    let (output, folder) = with_lab(move |folder| {
        let (child, mut stderr) = start(folder, "");
        wait_for(&mut stderr, " of 10m: ");
        signal(&child, name);
        wait_for(&mut stderr, "stopping: ");
        child.wait_with_output().expect("it ends")
    })
    .await;
    let out = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(output.status.code(), Some(3), "{name}: {out}");
    let decision = "inconclusive for edition standard: the run was cut short ";
    assert_contains(&out, &[decision, "; partial: it was stopped"]);

    let report = folder.json("json");
    assert_eq!(report["decision"], "inconclusive");
    assert_eq!(report["partial"], true);
    assert!(report["profiles"].as_u64() > Some(10), "{report:#}");
    for (report, part) in [
        ("junit", "it was stopped"),
        ("markdown", "partial"),
        ("badge", "inconclusive"),
    ] {
        assert_contains(&folder.text(report), &[part]);
    }
    // The evidence until then can be judged again.
    let replay = format!("replay {}", folder.flag("record"));
    expect_output(3, replay, &["the run was cut short"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn second_signal_ends_a_run_immediately() {
    let (output, folder) = with_lab(|folder| {
        let pipe = folder.flag("joined");
        let status = Command::new("mkfifo").arg(&pipe).status();
        assert!(status.expect("mkfifo runs").success());
        // A member that has joined has to leave before the run may end, and that takes a while.
        let hooks = format!("hooks:\n  join: [sh, -c, 'echo joined > {pipe}']\n  leave: [sleep, '30']\n");
        let driver = folder.write("driver.yaml", hooks);
        let (child, mut stderr) = start(folder, &format!("--driver {driver}"));
        // It opens when the hook opens it, too.
        assert_eq!(fs::read(&pipe).expect("a pipe")[..7], *b"joined\n");
        signal(&child, "-TERM");
        wait_for(&mut stderr, "stopping: ");
        signal(&child, "-INT");
        child.wait_with_output().expect("it ends")
    })
    .await;
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    // Lets go of the hook of the next member, which waits for a reader.
    let pipe = fs::File::options()
        .read(true)
        .write(true)
        .open(folder.path("joined"));
    drop(pipe.expect("a pipe"));
    assert!(output.stdout.is_empty(), "{output:?}");
    assert!(!folder.path("json").exists());
    for entry in fs::read_dir(folder.path("")).expect("the folder") {
        let name = entry.expect("an entry").file_name();
        assert!(!name.to_string_lossy().starts_with('.'), "{name:?} is left");
    }
}

#[test]
fn run_that_is_interrupted_before_the_first_answer_is_inconclusive() {
    let folder = Folder::new();
    let silent = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    folder.kubeconfig(silent.local_addr().expect("an address").port());
    let (child, mut stderr) = start(&folder, "");
    // It listens for signals before it sends a request.
    let (mut stream, _) = silent.accept().expect("a connection");
    stream.read_exact(&mut [0; 4]).expect("a request");
    signal(&child, "-TERM");
    wait_for(&mut stderr, "error: stopped before anything was seen of the hub");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let report = folder.json("json");
    assert_eq!(report["decision"], "inconclusive");
    assert_eq!(report["partial"], true);
    assert!(!folder.path("record").exists());
}

#[test]
fn hub_is_served_until_a_signal() {
    let folder = Folder::new();
    let (kubeconfig, members) = (folder.flag("hub.kubeconfig"), folder.flag("members"));
    let flags = format!("--kubeconfig-out {kubeconfig} --members lisbon,oslo --members-out {members}");
    let mut hub = command(format!("hub --manager reference {flags}"))
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let mut stdout = BufReader::new(hub.stdout.take().expect("a pipe"));
    wait_for(&mut stdout, "serving https://127.0.0.1:");
    for name in ["hub", "members/lisbon", "members/oslo"].map(|name| format!("{name}.kubeconfig")) {
        let mode = fs::metadata(folder.path(&name))
            .expect(&name)
            .permissions()
            .mode();
        assert_eq!(mode & 0o077, 0, "{name} is readable for other users");
    }
    // Its manager may have just begun.
    let run = call(format!("run --kubeconfig {kubeconfig} --observe 0s"));
    assert!(matches!(run.code, Some(0 | 1 | 3)), "{}{}", run.out, run.err);
    assert_contains(&run.out, &["single snapshot"]);
    signal(&hub, "-TERM");
    assert_eq!(hub.wait().expect("it ends").code(), Some(0));
}
