//! Starts the servers' processes with their logs in files, and never leaves one behind.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
};

use crate::EnvtestError;

/// How many of a log's last lines an error carries.
const TAIL_LINES: usize = 20;

/// Waits until this process is gone, then kills the servers and removes their folder (`$1`). It reads the servers'
/// process ids line by line; the pipe ends with this process. Neither server can do this by itself, and the system's
/// own way (a death signal for the parent) needs unsafe code.
const WATCHDOG: &str = r#"
pids=
while read -r pid; do pids="$pids $pid"; done
[ -z "$pids" ] || kill -9 $pids
rm -rf -- "$1" || { sleep 1; rm -rf -- "$1"; }
"#;

/// The running servers. Dropping it kills them.
pub(crate) struct Processes {
    watchdog: Child,
    servers: Vec<Server>,
}

struct Server {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

/// A server that ended by itself.
pub(crate) struct Ended {
    pub name: &'static str,
    pub status: ExitStatus,
}

impl Processes {
    /// Starts the watchdog, which removes `folder` if this process dies without cleaning up.
    pub fn watched(folder: &Path) -> Result<Self, EnvtestError> {
        let mut command = Command::new("sh");
        command.args(["-c", WATCHDOG, "envtest-watchdog"]).arg(folder);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Ok(Self {
            watchdog: start(command)?,
            servers: Vec::new(),
        })
    }

    /// Starts a server whose output goes to the file `log`.
    pub fn spawn(
        &mut self,
        name: &'static str,
        mut command: Command,
        log: PathBuf,
    ) -> Result<(), EnvtestError> {
        let output = File::create(&log).and_then(|file| Ok((file.try_clone()?, file)));
        let (stdout, stderr) = output.map_err(|source| EnvtestError::Folder {
            path: log.clone(),
            source,
        })?;
        command.stdin(Stdio::null()).stdout(stdout).stderr(stderr);
        let child = start(command)?;
        let id = child.id();
        self.servers.push(Server { name, child, log });

        let pipe = self
            .watchdog
            .stdin
            .as_mut()
            .ok_or_else(|| io::Error::other("its input is closed"));
        pipe.and_then(|pipe| writeln!(pipe, "{id}"))
            .map_err(|source| EnvtestError::Spawn {
                program: "sh, the servers' watchdog".to_owned(),
                source,
            })
    }

    /// The first server that has ended.
    pub fn ended(&mut self) -> Option<Ended> {
        self.servers
            .iter_mut()
            .find_map(|server| match server.child.try_wait() {
                Ok(Some(status)) => Some(Ended {
                    name: server.name,
                    status,
                }),
                _ => None,
            })
    }

    /// Copies the log of the server `name` to a file that stays, and returns its path and the last lines.
    pub fn keep_log(&self, name: &str) -> (PathBuf, String) {
        let Some(server) = self.servers.iter().find(|server| server.name == name) else {
            return (PathBuf::new(), String::new());
        };
        let text = String::from_utf8_lossy(&fs::read(&server.log).unwrap_or_default()).into_owned();
        let kept = tempfile::Builder::new()
            .prefix(&format!("envtest-{name}-"))
            .suffix(".log")
            .tempfile()
            .and_then(|mut file| file.write_all(text.as_bytes()).map(|()| file))
            .and_then(|file| Ok(file.keep()?.1));
        (kept.unwrap_or_else(|_| server.log.clone()), tail(&text))
    }

    /// The servers' process ids.
    pub fn ids(&self) -> Vec<u32> {
        self.servers.iter().map(|server| server.child.id()).collect()
    }

    /// Kills the servers, which have nothing to save, and waits for them, so that no zombie stays.
    fn end(&mut self) {
        // The watchdog first: once a server has been waited for, another program may get its process id.
        let servers = self.servers.iter_mut().map(|server| &mut server.child);
        for child in std::iter::once(&mut self.watchdog).chain(servers) {
            // Each fails only if the process has ended and been waited for, as wanted.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.end();
    }
}

/// The last lines of a log.
fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}

/// Starts a process in a group of its own, so that Ctrl-C at the terminal reaches this process only.
fn start(mut command: Command) -> Result<Child, EnvtestError> {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn().map_err(|source| EnvtestError::Spawn {
        program: command.get_program().to_string_lossy().into_owned(),
        source,
    })
}
