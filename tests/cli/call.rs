//! Calls of the command, and folders for what it reads and writes.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

/// What one call of the command did.
pub struct Done {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// The command, in the folder of the dumps that these tests use, with nothing of the user's about it.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clusterprofile-conformance"));
    command
        .args(arguments)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli"));
    command
        .env_remove("KUBECONFIG")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .env_remove("COLUMNS")
        .env_remove("JOB_COMPLETION_INDEX")
        .env("HOME", "/nonexistent");
    command
}

pub fn call(arguments: &[&str]) -> Done {
    done(&mut command(arguments))
}

/// Calls it on a terminal of 80 columns.
pub fn call_in_80_columns(arguments: &[&str]) -> Done {
    done(command(arguments).env("COLUMNS", "80"))
}

pub fn done(command: &mut Command) -> Done {
    let done = command.stdin(Stdio::null()).output().expect("the command runs");
    Done {
        code: done.status.code(),
        out: String::from_utf8(done.stdout).expect("UTF-8"),
        err: String::from_utf8(done.stderr).expect("UTF-8"),
    }
}

/// Calls it, expects that code, and gives back what it printed to both streams.
pub fn expect(code: i32, arguments: &[&str]) -> String {
    let done = call(arguments);
    assert_eq!(done.code, Some(code), "{arguments:?}\n{}{}", done.out, done.err);
    done.out + &done.err
}

/// Expects bad usage, told in one message that has all of these.
pub fn refused(arguments: &[&str], told: &[&str]) {
    let done = call(arguments);
    assert_eq!(done.code, Some(2), "{arguments:?}\n{}{}", done.out, done.err);
    assert!(done.err.starts_with("error: "), "{}", done.err);
    assert_eq!(done.err.matches("error: ").count(), 1, "{}", done.err);
    for told in told {
        assert!(done.err.contains(told), "{told:?} is not in: {}", done.err);
    }
}

pub struct Folder(pub TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A path in it, for a flag.
    pub fn flag(&self, name: &str) -> String {
        self.path(name).to_str().expect("UTF-8").to_owned()
    }

    pub fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("the file is there")
    }

    pub fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.text(name)).expect("JSON")
    }

    /// A kubeconfig that leads to that port of this machine.
    pub fn kubeconfig(&self, port: u16) -> String {
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: here\ncontexts: [{{name: here, context: {{cluster: c, user: u}}}}]\n\
             clusters: [{{name: c, cluster: {{server: 'http://127.0.0.1:{port}'}}}}]\nusers: [{{name: u, user: {{}}}}]\n"
        );
        fs::write(self.path("kubeconfig"), text).expect("written");
        self.flag("kubeconfig")
    }
}
