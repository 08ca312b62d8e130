//! Runs the command lines of a script in a shell.

use std::{
    fmt,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use serde_json::json;
use tokio::process::Command;

use super::{hubs::Hub, script::Script};
use crate::clients::compare::normal;

/// A command's timeout.
const PATIENCE: Duration = Duration::from_secs(60);

/// A command's exit code and output, normalized.
pub struct Answer {
    pub command: String,
    /// The exit code that the script expects with a real API server.
    pub expected: i32,
    pub exit: i32,
    pub out: String,
    pub err: String,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "exit {}\n{}{}", self.exit, self.out, self.err)
    }
}

/// Runs all command lines of the script, in order.
pub async fn play(script: &Script, hub: &Hub, kubectl: &Path) -> Vec<Answer> {
    let folder = hub.folder(&script.name, &script.name);
    for (name, text) in &script.files {
        std::fs::write(folder.join(name), text).expect("a file can be written");
    }
    let shell = Shell::new(&folder, kubectl, &script.name);
    hub.create_namespace(json!({"name": script.name})).await;
    let mut answers = Vec::new();
    for step in &script.commands {
        let (exit, out, err) = shell.run(step.command()).await;
        answers.push(Answer {
            command: step.command().to_owned(),
            expected: step.exit(),
            exit,
            out: normal(&out),
            err: normal(&err),
        });
    }
    answers
}

/// A shell in a folder, whose kubeconfig is the file `config` in it.
pub struct Shell {
    path: String,
    folder: PathBuf,
    namespace: String,
}

impl Shell {
    /// `$NS` is the namespace.
    pub fn new(folder: &Path, kubectl: &Path, namespace: &str) -> Self {
        Self {
            path: path_with(kubectl),
            folder: folder.to_owned(),
            namespace: namespace.to_owned(),
        }
    }

    /// Returns the exit code, and what the command printed to stdout and to stderr.
    pub async fn run(&self, command: &str) -> (i32, String, String) {
        let running = Command::new("sh")
            .args(["-c", command])
            .current_dir(&self.folder)
            .env_clear()
            .env("PATH", &self.path)
            .env("HOME", &self.folder)
            .env("KUBECONFIG", self.folder.join("config"))
            .env("KUBECACHEDIR", self.folder.join("cache"))
            .env("NS", &self.namespace)
            .env("LC_ALL", "C")
            .env("TZ", "UTC")
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        let Ok(output) = tokio::time::timeout(PATIENCE, running).await else {
            let seconds = PATIENCE.as_secs();
            return (
                -1,
                String::new(),
                format!("did not end within {seconds} seconds\n"),
            );
        };
        let output = output.expect("there is a shell");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (
            output.status.code().unwrap_or(-1),
            text(&output.stdout),
            text(&output.stderr),
        )
    }
}

/// The search path, beginning with this kubectl's folder.
fn path_with(kubectl: &Path) -> String {
    let folder = kubectl.parent().expect("a program is in a folder");
    let others = std::env::var("PATH").unwrap_or_default();
    format!("{}:{others}", folder.display())
}
