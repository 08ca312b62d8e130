#![doc = include_str!("README.md")]

mod server;

use std::{
    env,
    fs::{self, File},
    io::{self, Write as _},
    iter,
    path::{self, Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
};

pub use server::{Envtest, EnvtestOptions, EnvtestUser, ready};

/// Why an API server does not start, or leaves something behind.
#[derive(Debug, thiserror::Error)]
pub enum EnvtestError {
    /// No folder has the programs.
    #[error(
        "failed to find etcd and kube-apiserver; looked in {}. Name a folder of envtest binaries with KUBEBUILDER_ASSETS",
        looked_in.join("; ")
    )]
    AssetsMissing {
        /// The folders, each with what is missing there.
        looked_in: Vec<String>,
    },

    /// The system refused a file, a port, or a process.
    #[error("failed to {action}")]
    System {
        /// What was tried.
        action: String,
        /// The system's error.
        #[source]
        source: io::Error,
    },

    /// A program ended before the API server was ready, or the server was not ready in time.
    #[error("{reason}; whole log: {}; its end:\n{tail}", log.display())]
    NotReady {
        /// What happened.
        reason: String,
        /// A copy of the program's log, which outlives the servers' folder.
        log: PathBuf,
        /// The log's last lines.
        tail: String,
    },
}

impl EnvtestError {
    fn system(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        |source| Self::System { action, source }
    }
}

const ENVIRONMENT_VARIABLE: &str = "KUBEBUILDER_ASSETS";
/// Where Kubebuilder's own set-up has always put them.
const SYSTEM_FOLDER: &str = "/usr/local/kubebuilder/bin";

/// A folder that has `etcd` and `kube-apiserver`, and usually `kubectl`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assets {
    folder: PathBuf,
}

impl Assets {
    /// Finds the programs: in the folder that `$KUBEBUILDER_ASSETS` names, else in `/usr/local/kubebuilder/bin`, else in
    /// the newest folder inside `builds`, which has one for each version or build.
    ///
    /// If the environment names a folder, no other one is considered: a fallback would silently test another Kubernetes.
    ///
    /// # Errors
    /// [`EnvtestError::AssetsMissing`], which lists where it looked.
    pub fn find(builds: Option<&Path>) -> Result<Self, EnvtestError> {
        let folder = env::var_os(ENVIRONMENT_VARIABLE).filter(|value| !value.is_empty());
        Self::find_in(folder.map(PathBuf::from), Path::new(SYSTEM_FOLDER), builds)
    }

    /// The programs in this folder.
    ///
    /// # Errors
    /// [`EnvtestError::AssetsMissing`] when one is not there.
    pub fn in_folder(folder: &Path) -> Result<Self, EnvtestError> {
        Self::find_in(Some(folder.to_owned()), Path::new(""), None)
    }

    fn find_in(env_dir: Option<PathBuf>, system: &Path, builds: Option<&Path>) -> Result<Self, EnvtestError> {
        let newest = builds.map(|builds| newest_build(builds).unwrap_or_else(|| builds.join("*")));
        let folders = match env_dir {
            Some(folder) => vec![folder],
            None => iter::once(system.to_owned()).chain(newest).collect(),
        };
        let mut looked_in = Vec::new();
        for folder in folders {
            let programs = missing_programs(&folder);
            if programs.is_empty() {
                // The servers run in another folder, where a relative path would not lead to the programs.
                let folder = path::absolute(&folder).unwrap_or(folder);
                return Ok(Self { folder });
            }
            looked_in.push(format!("{}: no {}", folder.display(), programs.join(", no ")));
        }
        Err(EnvtestError::AssetsMissing { looked_in })
    }

    /// The folder, absolute.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The kubectl program, if the folder has one.
    pub fn kubectl(&self) -> Option<PathBuf> {
        Some(self.folder.join("kubectl")).filter(|path| path.is_file())
    }
}

fn missing_programs(folder: &Path) -> Vec<&'static str> {
    let mut programs = vec!["etcd", "kube-apiserver"];
    programs.retain(|program| !folder.join(program).is_file());
    programs
}

/// The folder whose kube-apiserver was written last. An interrupted build has none.
fn newest_build(builds: &Path) -> Option<PathBuf> {
    let modified = |folder: &PathBuf| folder.join("kube-apiserver").metadata().ok()?.modified().ok();
    let folders = fs::read_dir(builds).ok()?.flatten().map(|entry| entry.path());
    let complete = folders.filter(|folder| missing_programs(folder).is_empty());
    complete.max_by_key(modified)
}

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
    started: Vec<(&'static str, Child)>,
    folder: PathBuf,
}

impl Servers {
    /// Starts the watchdog, which removes `folder` if this process dies without cleaning up. The servers' logs go there.
    pub fn watched(folder: &Path) -> Result<Self, EnvtestError> {
        let mut command = Command::new("sh");
        command.args(["-c", WATCHDOG, "envtest-watchdog"]).arg(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        command.stderr(Stdio::null());
        Ok(Self {
            watchdog: start(command)?,
            started: Vec::new(),
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
        self.started.push((name, child));
        let pipe = self.watchdog.stdin.as_mut().expect("it is piped");
        writeln!(pipe, "{id}").map_err(EnvtestError::system("tell the watchdog of a server"))
    }

    /// The name and status of the first server that has ended.
    pub fn ended(&mut self) -> Option<(&'static str, ExitStatus)> {
        let mut servers = self.started.iter_mut();
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
}

/// Writes a log to a temporary file that stays.
fn keep_copy(name: &str, log: &[u8]) -> io::Result<PathBuf> {
    let mut file = tempfile::Builder::new()
        .prefix(&format!("envtest-{name}-"))
        .suffix(".log")
        .tempfile()?;
    file.write_all(log)?;
    Ok(file.keep()?.1)
}

impl Drop for Servers {
    /// Kills the servers, which have nothing to save, and waits for them, so that no zombie stays.
    fn drop(&mut self) {
        // The watchdog first: once a server has been waited for, another program may get its process id.
        let servers = self.started.iter_mut().map(|(_, child)| child);
        for child in iter::once(&mut self.watchdog).chain(servers) {
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
    let started = command.spawn();
    started.map_err(EnvtestError::system(format!("start {program}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(parent: &Path, name: &str, programs: &[&str]) -> PathBuf {
        let folder = parent.join(name);
        fs::create_dir_all(&folder).unwrap();
        for program in programs {
            fs::write(folder.join(program), "").unwrap();
        }
        folder
    }

    #[test]
    fn nothing_replaces_the_folder_that_the_environment_names() {
        let place = tempfile::tempdir().unwrap();
        let whole = folder_with(place.path(), "whole", &["etcd", "kube-apiserver"]);
        let other = folder_with(place.path(), "other", &["etcd", "kube-apiserver", "kubectl"]);
        let half = folder_with(place.path(), "half", &["kube-apiserver"]);
        let find = |environment: Option<&Path>| {
            Assets::find_in(environment.map(Path::to_owned), &whole, Some(place.path()))
        };

        assert_eq!(find(Some(&other)).unwrap().kubectl(), Some(other.join("kubectl")));
        assert_eq!(find(None).unwrap().folder(), whole);
        assert_eq!(find(None).unwrap().kubectl(), None);

        let error = find(Some(&half)).unwrap_err().to_string();
        let expected = format!("{}: no etcd", half.display());
        assert!(error.contains(&expected), "{error}");

        assert_eq!(Assets::in_folder(&other).unwrap().folder(), other);
        let error = Assets::in_folder(&half).unwrap_err().to_string();
        assert!(error.contains(&format!("{}: no etcd", half.display())), "{error}");
    }

    #[test]
    fn the_newest_complete_build_is_taken() {
        let place = tempfile::tempdir().unwrap();
        let nowhere = place.path().join("nowhere");
        let builds = place.path().join("builds");
        let age = |folder: &Path, seconds: u64| {
            let file = fs::File::options()
                .write(true)
                .open(folder.join("kube-apiserver"))
                .unwrap();
            file.set_modified(std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds))
                .unwrap();
        };

        let error = Assets::find_in(None, &nowhere, Some(&builds))
            .unwrap_err()
            .to_string();
        for expected in [
            format!("{}: no etcd, no kube-apiserver", nowhere.display()),
            format!("{}: no etcd, no kube-apiserver", builds.join("*").display()),
            "KUBEBUILDER_ASSETS".to_owned(),
        ] {
            assert!(error.contains(&expected), "{error}");
        }

        age(&folder_with(&builds, "a", &["etcd", "kube-apiserver"]), 100);
        age(&folder_with(&builds, "b", &["etcd", "kube-apiserver"]), 300);
        age(&folder_with(&builds, "c", &["etcd", "kube-apiserver"]), 200);
        age(&folder_with(&builds, "interrupted", &["kube-apiserver"]), 400);
        let found = Assets::find_in(None, &nowhere, Some(&builds)).unwrap();
        assert_eq!(found.folder(), builds.join("b"));
    }
}
