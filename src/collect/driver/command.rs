//! Hooks as commands: programs that the driver file names, run without a shell.

use std::{
    collections::BTreeMap,
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use evidence::{DriverAction, LARGEST_KUBECONFIG, read_text};
use futures::{FutureExt as _, future::BoxFuture};
use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use super::{
    file::{DriverFile, Hook},
    hooks::{Call, Called, Hooks, PREFIX, Way},
    named::Named,
    private_file,
};
use crate::{
    connect::hub_access::{HubAccess, credentials_in},
    subprocess::{End, Sink, Subprocess, Subprocesses, Tail, with_last_words},
};

/// How long a hook has to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(5);
/// How many processes that run still are named.
const MOST_NAMED: usize = 10;
/// How much of a failed hook's last line its reason repeats, in characters.
const LAST_LINE: usize = 200;

/// The hooks of a driver file.
pub struct Commands {
    file: DriverFile,
    run: String,
    /// With the kubeconfigs that hooks are given; readable for us alone. Removed even if this process is killed.
    folder: TempDir,
    subprocesses: Subprocesses,
    /// What no output may show.
    secrets: Mutex<Arc<Vec<String>>>,
    /// How long a hook has to end after SIGTERM.
    grace: Duration,
}

impl Commands {
    /// The hooks of that file, for one run on that hub.
    ///
    /// # Errors
    /// When there is no place for the hub's kubeconfig, or no shell to keep watch.
    pub fn new(file: DriverFile, hub: &HubAccess, run: &str) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("clusterprofile-conformance-");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        let folder = builder.tempdir()?;
        let subprocesses = Subprocesses::removing(folder.path())?;
        let commands = Self {
            run: run.to_owned(),
            subprocesses,
            secrets: Mutex::new(Arc::new(secret_values(&file))),
            grace: GRACE,
            folder,
            file,
        };
        commands.keep("hub", &hub.kubeconfig)?;
        Ok(commands)
    }

    /// Writes a kubeconfig that only this user can read, and remembers what of it is secret.
    fn keep(&self, name: &str, kubeconfig: &str) -> io::Result<PathBuf> {
        let path = self.folder.path().join(format!("{name}.kubeconfig"));
        if path.is_file() {
            return Ok(path);
        }
        self.hide(kubeconfig);
        private_file::create(&path)?.write_all(kubeconfig.as_bytes())?;
        Ok(path)
    }

    fn hide(&self, kubeconfig: &str) {
        let mut secrets = self.secrets.lock();
        let known = credentials_in(kubeconfig);
        if known.iter().any(|secret| !secrets.contains(secret)) {
            Arc::make_mut(&mut secrets).extend(known);
        }
    }

    /// What the hook is told, by name; none: that name must not be there.
    fn environment(&self, call: &Call) -> io::Result<BTreeMap<&'static str, Option<String>>> {
        let member = match call.member.map(|member| (member, &member.way)) {
            Some((member, Way::Kubeconfig(text))) => Some(self.keep(&member.name, text)?),
            Some((_, Way::File(path))) => {
                self.hide(&read_text(path, LARGEST_KUBECONFIG).unwrap_or_default());
                Some(path.clone())
            }
            Some((_, Way::Unknown)) | None => None,
        };
        let shown = |path: &Path| path.display().to_string();
        Ok(BTreeMap::from([
            ("RUN", Some(self.run.clone())),
            ("ACTION", Some(call.action.to_string())),
            (
                "HUB_KUBECONFIG",
                Some(shown(&self.folder.path().join("hub.kubeconfig"))),
            ),
            ("MEMBER", call.member.map(|member| member.name.clone())),
            ("MEMBER_KUBECONFIG", member.as_deref().map(shown)),
            (
                "PROFILE",
                call.profile
                    .as_ref()
                    .map(|key| format!("{}/{}", key.namespace, key.name)),
            ),
            ("VERSION", call.version.clone()),
            ("NAMESPACE", call.namespace.map(str::to_owned)),
            (
                "PLACEMENT",
                call.placement.map(|placement| placement.name.clone()),
            ),
            (
                "CLUSTERS",
                call.placement.map(|placement| placement.clusters.to_string()),
            ),
        ]))
    }

    async fn run(&self, call: &Call<'_>, hook: &Hook, stop: CancellationToken) -> Called {
        let named = Arc::<Mutex<Named>>::default();
        let lines = Arc::clone(&named);
        let environment = match self.environment(call) {
            Ok(environment) => environment,
            Err(error) => return not_started(hook, &error),
        };
        // After the environment, which adds the member's credentials.
        let tail = Tail::without(Arc::clone(&self.secrets.lock()));
        let tail = Mutex::new(tail.shown_to(move |line| lines.lock().read(line)));
        let subprocess = Subprocess {
            command: self.command(hook, environment),
            is_interactive: false,
            stdout: Sink::Tail(&tail),
            stderr: Sink::Tail(&tail),
            limit: hook.timeout,
            grace: self.grace,
            stop: &stop,
        };
        let end = match self.subprocesses.run(subprocess).await {
            Ok(end) => end,
            Err(error) => return not_started(hook, &error),
        };
        let mut output = tail.into_inner().finish();
        let mut failure = why(&end, &output);
        if let Some(left) = told_of_left(&self.subprocesses.take_left()) {
            match &mut failure {
                Some(reason) if !matches!(end, End::By(_)) => *reason += &format!("; still running: {left}"),
                _ => {
                    let line = format!("left running: {left}");
                    output = [output, line].join("\n").trim_start().to_owned();
                }
            }
        }
        let Named { profile, decision } = named.lock().clone();
        Called {
            failure,
            output,
            profile,
            decision,
        }
    }

    fn command(&self, hook: &Hook, environment: BTreeMap<&'static str, Option<String>>) -> Command {
        let mut command = Command::new(&hook.program);
        command
            .args(&hook.arguments)
            .current_dir(self.file.folder())
            .envs(&hook.environment);
        for (name, value) in environment {
            let name = format!("{PREFIX}{name}");
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }
}

/// Names the processes that run still, or the first of them; none if there is none.
fn told_of_left(left: &[String]) -> Option<String> {
    let (named, others) = left.split_at(left.len().min(MOST_NAMED));
    let named = named.join(", ");
    match others.len() {
        0 => (!named.is_empty()).then_some(named),
        others => Some(format!("{named} and {others} more")),
    }
}

fn not_started(hook: &Hook, error: &io::Error) -> Called {
    let program = hook.program.display();
    Called::failed(format!("{program} could not be started: {error}"))
}

/// Why what a hook was to do counts as not done.
fn why(end: &End, output: &str) -> Option<String> {
    let reason = match end {
        end if end.is_success() => return None,
        End::Stopped => "the run was stopped, and it was ended".to_owned(),
        end => format!("it {end}"),
    };
    let last = output.lines().rfind(|line| !line.trim().is_empty());
    let last: String = last.unwrap_or_default().trim().chars().take(LAST_LINE).collect();
    Some(with_last_words(reason, &last))
}

/// What the driver file gives to hooks under names that tell of something secret.
fn secret_values(file: &DriverFile) -> Vec<String> {
    let tells = |name: &str| {
        let name = name.to_lowercase();
        let words = ["token", "secret", "password", "passwd", "credential", "key"];
        words.iter().any(|word| name.contains(word))
    };
    let variables = file.hooks.values().flat_map(|hook| &hook.environment);
    variables
        .filter(|(name, value)| tells(name) && value.len() >= 6)
        .map(|(_, value)| value.clone())
        .collect()
}

impl Hooks for Commands {
    fn lacking(&self, action: DriverAction) -> Option<String> {
        let there = self.file.hooks.contains_key(&action);
        (!there).then(|| format!("the driver file has no hook `{action}`"))
    }

    fn call<'a>(&'a self, call: &'a Call<'a>, stop: CancellationToken) -> BoxFuture<'a, Called> {
        async move {
            let Some(hook) = self.file.hooks.get(&call.action) else {
                return Called::failed("there is no such hook");
            };
            let called = self.run(call, hook, stop).await;
            Called {
                failure: called
                    .failure
                    .map(|reason| format!("the hook `{}`: {reason}", call.action)),
                ..called
            }
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests;
