//! The servers' processes: their logs go to files, and none of them outlives this process.

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
pub(crate) struct Servers {
    watchdog: Child,
    servers: Vec<(&'static str, Child)>,
    folder: PathBuf,
}

impl Servers {
    /// Starts the watchdog, which removes `folder` if this process dies without cleaning up. The servers' logs go there.
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
            folder: folder.to_owned(),
        })
    }

    fn log(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.log"))
    }

    /// Starts a server whose output goes to a log.
    pub fn start(&mut self, name: &'static str, mut command: Command) -> Result<(), EnvtestError> {
        let output = File::create(self.log(name)).and_then(|file| Ok((file.try_clone()?, file)));
        let (stdout, stderr) = output.map_err(EnvtestError::system(format!("create the log of {name}")))?;
        command.stdin(Stdio::null()).stdout(stdout).stderr(stderr);
        let child = start(command)?;
        let id = child.id();
        self.servers.push((name, child));
        let pipe = self.watchdog.stdin.as_mut().expect("it is piped");
        writeln!(pipe, "{id}").map_err(EnvtestError::system("tell the watchdog of a server"))
    }

    /// The name and status of the first server that has ended.
    pub fn ended(&mut self) -> Option<(&'static str, ExitStatus)> {
        let mut servers = self.servers.iter_mut();
        servers.find_map(|(name, child)| Some((*name, child.try_wait().ok()??)))
    }

    /// The error for a server that is not ready. Copies its log to a file that stays.
    pub fn not_ready(&self, name: &str, reason: String) -> EnvtestError {
        let log = self.log(name);
        let text = fs::read(&log).unwrap_or_default();
        let copy = keep_copy(name, &text);
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        EnvtestError::NotReady {
            reason,
            log: copy.unwrap_or(log),
            tail: lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n"),
        }
    }

    /// The servers' process ids.
    pub fn ids(&self) -> Vec<u32> {
        self.servers.iter().map(|(_, child)| child.id()).collect()
    }
}

/// Writes a log to a temporary file that stays.
fn keep_copy(name: &str, log: &[u8]) -> io::Result<PathBuf> {
    let prefix = format!("envtest-{name}-");
    let mut file = tempfile::Builder::new()
        .prefix(&prefix)
        .suffix(".log")
        .tempfile()?;
    file.write_all(log)?;
    Ok(file.keep()?.1)
}

impl Drop for Servers {
    /// Kills the servers, which have nothing to save, and waits for them, so that no zombie stays.
    fn drop(&mut self) {
        // The watchdog first: once a server has been waited for, another program may get its process id.
        let servers = self.servers.iter_mut().map(|(_, child)| child);
        for child in std::iter::once(&mut self.watchdog).chain(servers) {
            // Each fails only if the process has ended and been waited for, as wanted.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Starts a process in a group of its own, so that Ctrl-C at the terminal reaches this process only.
fn start(mut command: Command) -> Result<Child, EnvtestError> {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let program = command.get_program().to_string_lossy().into_owned();
    command
        .spawn()
        .map_err(EnvtestError::system(format!("start {program}")))
}
