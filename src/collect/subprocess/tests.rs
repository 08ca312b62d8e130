//! Subprocesses as they really run: small scripts, in real time.

use std::{fs, time::Duration};

use futures::future::join;
use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::{
    process::Command,
    select,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::*;

const LONG: Duration = Duration::from_secs(60);
/// Whether a process of that id runs: one that has ended and was not waited for does not.
pub(crate) fn runs(id: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", id.trim())).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

pub(crate) async fn until(what: &str, happened: impl Fn() -> bool) {
    let waiting = async {
        while !happened() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    assert!(timeout(Duration::from_secs(20), waiting).await.is_ok(), "{what}");
}

/// Where scripts run.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    /// The text of a file; empty until it is there.
    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.path().join(name)).unwrap_or_default()
    }

    fn command(&self, script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(self.0.path());
        command
    }

    /// Runs a script that has `limit` of time.
    async fn run(&self, script: &str, limit: Duration) -> (End, String) {
        let (tail, stop) = (Mutex::new(Tail::default()), CancellationToken::new());
        let subprocess = Subprocess {
            stdout: Sink::Tail(&tail),
            stderr: Sink::Tail(&tail),
            limit,
            ..quiet(self.command(script), &stop)
        };
        let end = Subprocesses::new().run(subprocess).await.expect("started");
        (end, tail.into_inner().finish())
    }

    async fn is_there(&self, name: &str) {
        until(name, || self.read(name).ends_with('\n')).await;
    }

    async fn has_ended(&self, name: &str) {
        let id = self.read(name);
        assert!(!id.is_empty(), "the {name} has not begun");
        until(&format!("the {name} ends"), || !runs(&id)).await;
    }
}

/// Without output, and killed as soon as it is stopped.
fn quiet(command: Command, stop: &CancellationToken) -> Subprocess<'_> {
    Subprocess {
        command,
        is_interactive: false,
        stdout: Sink::Nowhere,
        stderr: Sink::Nowhere,
        limit: LONG,
        grace: Duration::ZERO,
        stop,
    }
}

fn kill(id: &str) {
    let killed = std::process::Command::new("kill").arg(id.trim()).status();
    assert!(killed.is_ok_and(|status| status.success()), "{id}");
}

#[tokio::test]
async fn a_subprocess_that_ends_by_itself_is_heard_to_its_end() {
    let folder = Folder::new();
    let (end, output) = folder.run("cat; echo out; echo err >&2; exit 3", LONG).await;
    assert_eq!(end.to_string(), "ended with exit code 3");
    let mut lines: Vec<_> = output.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["err", "out"]);
    let (end, _) = folder.run("kill -9 $$", LONG).await;
    assert_eq!(end.to_string(), "was ended: signal: 9 (SIGKILL)");
    assert!(folder.run("exit 0", LONG).await.0.is_success());

    let absent = Command::new("/none/such");
    let error = Subprocesses::new()
        .run(quiet(absent, &CancellationToken::new()))
        .await;
    assert!(error.is_err());
}

#[tokio::test]
async fn what_is_left_running_goes_on() {
    let folder = Folder::new();
    let (end, _) = folder.run("sleep 60 & echo $! > child", LONG).await;
    assert!(end.is_success());
    let id = folder.read("child");
    assert!(runs(&id));
    kill(&id);
}

#[tokio::test]
async fn a_flood_is_bounded_and_ends_the_subprocess() {
    let folder = Folder::new();
    let stop = CancellationToken::new();
    // The second has ended by itself. The third floods the other output too, which is read all the while.
    for script in [
        "echo $$ > id; exec yes",
        "yes & echo $! > id",
        "yes >&2 & echo $! > id; yes",
    ] {
        let (mut printed, tail) = (Vec::new(), Mutex::new(Tail::default()));
        let subprocess = Subprocess {
            stdout: Sink::Whole {
                into: &mut printed,
                most: 100 * 1024,
            },
            stderr: Sink::Tail(&tail),
            ..quiet(folder.command(script), &stop)
        };
        let end = Subprocesses::new().run(subprocess).await.expect("started");
        assert_eq!(end.to_string(), "printed more than 100 KiB and was ended");
        assert_eq!(printed.len(), 100 * 1024 + 1);
        folder.has_ended("id").await;
    }
}

#[tokio::test]
async fn a_late_subprocess_is_killed() {
    let folder = Folder::new();
    // Only its process group shows its parent.
    let script = "env -i sleep 60 & echo $! > child; wait";
    let (end, _) = folder.run(script, Duration::from_secs(1)).await;
    assert_eq!(end.to_string(), "took longer than 1s and was ended");
    folder.has_ended("child").await;
}

#[tokio::test]
async fn children_that_ignore_the_signal_are_killed() {
    let folder = Folder::new();
    // One child heeds the signal, the other does not.
    let script = r#"
sh -c 'trap "" TERM; echo $$ > stubborn; while :; do sleep 0.05; done' &
sh -c 'trap "echo heard > heard; exit 0" TERM; echo $$ > polite; while :; do sleep 0.05; done' &
wait"#;
    let (tail, stop) = (Mutex::new(Tail::default()), CancellationToken::new());
    let subprocess = Subprocess {
        // They are waited for as long as they may still print.
        stdout: Sink::Tail(&tail),
        grace: Duration::from_secs(1),
        ..quiet(folder.command(script), &stop)
    };
    let subprocesses = Subprocesses::new();
    let stopping = async {
        folder.is_there("stubborn").await;
        folder.is_there("polite").await;
        stop.cancel();
    };
    let (end, ()) = join(subprocesses.run(subprocess), stopping).await;
    assert!(matches!(end, Ok(End::Stopped)), "{end:?}");
    assert_eq!(folder.read("heard"), "heard\n");
    folder.has_ended("stubborn").await;
    folder.has_ended("polite").await;
}

#[tokio::test]
async fn a_call_that_is_dropped_ends_all() {
    let folder = Folder::new();
    let stop = CancellationToken::new();
    let subprocess = quiet(
        folder.command("sleep 60 & echo $! > child; echo $$ > id; exec sleep 60"),
        &stop,
    );
    let subprocesses = Subprocesses::new();
    let started = join(folder.is_there("id"), folder.is_there("child"));
    select! {
        end = subprocesses.run(subprocess) => panic!("{end:?}"),
        _ = started => {}
    }
    folder.has_ended("id").await;
    folder.has_ended("child").await;
}

#[tokio::test]
async fn nothing_stays_when_we_are_gone_but_what_was_left_running() {
    let (folder, left) = (Folder::new(), Folder::new());
    let credentials = folder.0.path().join("credentials");
    fs::create_dir(&credentials).expect("a folder");
    let reaper = Reaper::new(Some(&credentials)).expect("a shell");
    let mut children = Vec::new();
    for folder in [&folder, &left] {
        let mut command = folder.command("echo $$ > id; exec sleep 60");
        let child = command.process_group(0).spawn().expect("started");
        folder.is_there("id").await;
        reaper.order("watch", child.id().expect("it runs"));
        children.push(child);
    }
    reaper.order("forget", children[1].id().expect("it runs"));
    // Its input ends, as it does when this process is killed.
    drop(reaper);
    folder.has_ended("id").await;
    assert!(!credentials.exists());
    assert!(runs(&left.read("id")));
    kill(&left.read("id"));
}
