//! Runs the command lines of a script in a shell.

use std::{fmt, path::Path, process::Stdio, time::Duration};

use serde_json::json;
use tokio::process::Command;

use super::{hubs::Hub, script::Script};
use crate::clients::compare::normal;

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

/// Runs all command lines of the script, in order, in a folder with its files and a kubeconfig `config`.
pub async fn play(script: &Script, hub: &Hub, kubectl: &Path) -> Vec<Answer> {
    let folder = hub.folder(&script.name, &script.name);
    for (name, text) in &script.files {
        std::fs::write(folder.join(name), text).expect("a file can be written");
    }
    hub.create_namespace(json!({"name": script.name})).await;
    let programs = kubectl.parent().expect("a program is in a folder").display();
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap_or_default());
    let mut answers = Vec::new();
    for step in &script.commands {
        let running = Command::new("sh")
            .args(["-c", step.command()])
            .current_dir(&folder)
            .env_clear()
            .env("PATH", &path)
            .env("HOME", &folder)
            .env("KUBECONFIG", folder.join("config"))
            .env("KUBECACHEDIR", folder.join("cache"))
            .env("NS", &script.name)
            .env("LC_ALL", "C")
            .env("TZ", "UTC")
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        let output = tokio::time::timeout(PATIENCE, running).await;
        let output = output.map(|output| output.expect("there is a shell"));
        let text = |bytes: &[u8]| normal(&String::from_utf8_lossy(bytes));
        answers.push(Answer {
            command: step.command().to_owned(),
            expected: step.exit(),
            exit: output
                .as_ref()
                .ok()
                .and_then(|output| output.status.code())
                .unwrap_or(-1),
            out: output
                .as_ref()
                .map(|output| text(&output.stdout))
                .unwrap_or_default(),
            err: output.map_or_else(
                |_| "did not end in time\n".to_owned(),
                |output| text(&output.stderr),
            ),
        });
    }
    answers
}
