//! Calls of the command, and folders for the files that it reads and writes.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::spawn_blocking;

pub const BINARY: &str = env!("CARGO_BIN_EXE_clusterprofile-conformance");

pub struct Done {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Done {
    pub fn printed(&self) -> String {
        format!("{}{}", self.out, self.err)
    }
}

/// The command in the folder of the dumps, `tests/cli`, without the user's environment. A word with spaces is in single
/// quotes.
pub fn command(line: impl AsRef<str>) -> Command {
    let mut command = Command::new(BINARY);
    for (place, part) in line.as_ref().split('\'').enumerate() {
        if place % 2 == 1 {
            command.arg(part);
        } else {
            command.args(part.split_whitespace());
        }
    }
    command
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli"))
        .stdin(Stdio::null())
        .env("HOME", "/nonexistent");
    let variables = "KUBECONFIG KUBERNETES_SERVICE_HOST COLUMNS JOB_COMPLETION_INDEX";
    for name in variables.split(' ') {
        command.env_remove(name);
    }
    command
}

pub fn call(line: impl AsRef<str>) -> Done {
    done(&mut command(line))
}

pub fn done(command: &mut Command) -> Done {
    let output = command.output().expect("the command runs");
    Done {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).expect("UTF-8"),
        err: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

/// Calls it, expects that code, and returns what it prints to both streams.
#[track_caller]
pub fn expect(code: i32, line: impl AsRef<str>) -> String {
    let done = call(&line);
    let printed = done.printed();
    assert_eq!(done.code, Some(code), "{}\n{printed}", line.as_ref());
    printed
}

/// Calls it, expects that code and all these parts in its output, and returns what it prints to both streams.
#[track_caller]
pub fn expect_output(code: i32, line: impl AsRef<str>, parts: &[&str]) -> String {
    let printed = expect(code, line);
    assert_contains(&printed, parts);
    printed
}

/// Expects bad usage, reported in one message with all these parts.
#[track_caller]
pub fn refused(line: impl AsRef<str>, parts: &[&str]) {
    let done = call(&line);
    assert_eq!(done.code, Some(2), "{}\n{}{}", line.as_ref(), done.out, done.err);
    assert!(done.err.starts_with("error: "), "{}", done.err);
    assert_eq!(done.err.matches("error: ").count(), 1, "{}", done.err);
    assert_contains(&done.err, parts);
}

/// The rows of a table: one a line, with ` | ` between the cells. A line that begins with `#` is a heading.
pub fn table(text: &str) -> impl Iterator<Item = Vec<&str>> + Clone {
    let is_row = |line: &&str| !line.is_empty() && !line.starts_with('#');
    text.lines().filter(is_row).map(|row| row.split(" | ").collect())
}

pub fn verdicts(report: &Value) -> impl Iterator<Item = &Value> + Clone {
    report["verdicts"].as_array().expect("verdicts").iter()
}

pub fn verdict_of<'a>(report: &'a Value, rule: &str) -> &'a Value {
    let verdict = verdicts(report).find(|verdict| verdict["rule"] == rule);
    verdict.unwrap_or_else(|| panic!("no {rule} in the report"))
}

/// Asserts that the text has all these parts, wherever its lines are wrapped.
#[track_caller]
pub fn assert_contains(text: &str, parts: &[&str]) {
    let unwrapped = unwrapped(text);
    for part in parts {
        let is_there = text.contains(part) || unwrapped.contains(part);
        assert!(is_there, "{part:?} is not in: {text}");
    }
}

/// The text on one line, as it was before it was wrapped.
pub fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub fn signal(process: &Child, name: &str) {
    let mut kill = Command::new("kill");
    let status = kill.args([name, &process.id().to_string()]).status();
    assert!(status.expect("kill runs").success());
}

pub struct Folder(pub TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn flag(&self, name: &str) -> String {
        self.path(name).to_str().expect("UTF-8").to_owned()
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        fs::write(self.path(name), text).expect("written");
        self.flag(name)
    }

    pub fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("the file is there")
    }

    pub fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.text(name)).expect("JSON")
    }

    pub fn kubeconfig(&self, port: u16) -> String {
        self.kubeconfig_with(&format!("server: 'http://127.0.0.1:{port}'"), "")
    }

    pub fn kubeconfig_with(&self, cluster: &str, user: &str) -> String {
        self.write("kubeconfig", kubeconfig(cluster, user))
    }
}

/// Calls a function that blocks. Needs a runtime.
pub async fn in_background<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> T {
    spawn_blocking(call).await.expect("no panic")
}

/// A ClusterProfile of this manager, without a status.
pub fn profile(namespace: &str, name: &str, manager: &str) -> Value {
    json!({
        "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
        "metadata": {"name": name, "namespace": namespace, "labels": {"x-k8s.io/cluster-manager": manager}},
        "spec": {"displayName": name, "clusterManager": {"name": manager}},
    })
}

/// A kubeconfig with these fields of its cluster and of its user.
pub fn kubeconfig(cluster: &str, user: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: here\n\
         contexts: [{{name: here, context: {{cluster: c, user: u}}}}]\n\
         clusters: [{{name: c, cluster: {{{cluster}}}}}]\nusers: [{{name: u, user: {{{user}}}}}]\n"
    )
}
