//! Hooks as commands: programs that the driver file names, run without a shell.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    pin::{Pin, pin},
    process::{ExitStatus, Stdio},
    sync::Arc,
    time::Duration,
};

use evidence::DriverAction;
use futures::{
    FutureExt as _,
    future::{BoxFuture, FusedFuture, join},
};
use jiff::SignedDuration;
use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    process::{Child, Command},
    select,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    file::{DriverFile, Hook, PREFIX},
    hooks::{Call, Called, Hooks, Way},
    output::{Cutter, Tail},
    reaper::{Order, Reaper},
};
use crate::connect::{HubAccess, credentials_in};

/// How long a hook that is to end may take to do so.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// How long the output of a hook that has ended is waited for: what it left running in the background may hold it open.
const LAST_OUTPUT: Duration = Duration::from_millis(300);
/// How much of a failed hook's last line its reason repeats, in characters.
const LAST_LINE: usize = 200;

/// The hooks of a driver file.
pub struct Commands {
    file: DriverFile,
    run: String,
    /// With the kubeconfigs that hooks are given; readable for us alone. The reaper removes it when we do not.
    folder: TempDir,
    reaper: Reaper,
    /// What no output may show.
    secrets: Mutex<Arc<Vec<String>>>,
    /// How long a hook that is to end may take to do so.
    last_words: Duration,
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
        let reaper = Reaper::over(folder.path())?;
        let commands = Self {
            run: run.to_owned(),
            reaper,
            secrets: Mutex::new(Arc::new(secret_values(&file))),
            last_words: LAST_WORDS,
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
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(&path)?.write_all(kubeconfig.as_bytes())?;
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
                self.hide(&fs::read_to_string(path).unwrap_or_default());
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
        let started = self.environment(call).and_then(|told| self.start(hook, told));
        let (mut child, group) = match started {
            Ok(started) => started,
            Err(error) => {
                let program = hook.program.display();
                return Called::failed(format!("{program} could not be started: {error}"));
            }
        };
        let secrets = Arc::clone(&self.secrets.lock());
        let tail = Mutex::new(Tail::without(secrets));
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let end = {
            let mut reading = pin!(join(drain(out, &tail), drain(err, &tail)).fuse());
            let end = until_end(&mut child, reading.as_mut(), hook.timeout, &stop).await;
            if !matches!(end, End::By(_)) {
                self.end(&mut child, group, reading.as_mut()).await;
            }
            rest(reading).await;
            end
        };
        // What is left running of a hook that has ended may go on.
        self.order(Order::Gone, group);
        let tail = tail.into_inner();
        let told = tail.finish();
        Called {
            failure: why(&end, hook.timeout, &told.output),
            output: told.output,
            profile: told.profile,
            decision: told.decision,
        }
    }

    /// Starts a hook, with a process group of its own, and says which.
    fn start(
        &self,
        hook: &Hook,
        told: BTreeMap<&'static str, Option<String>>,
    ) -> io::Result<(Child, Option<u32>)> {
        let mut command = Command::new(&hook.program);
        command
            .args(&hook.arguments)
            .current_dir(self.file.folder())
            .envs(&hook.environment)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        for (name, value) in told {
            let name = format!("{PREFIX}{name}");
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        #[cfg(unix)]
        command.process_group(0);
        let child = command.spawn()?;
        let group = child.id();
        self.order(Order::Add, group);
        Ok((child, group))
    }

    /// Ends a hook and all that it has started.
    async fn end<R>(&self, child: &mut Child, group: Option<u32>, mut reading: Pin<&mut R>)
    where
        R: FusedFuture<Output = ((), ())>,
    {
        self.order(Order::End, group);
        let over = async {
            let _ = child.wait().await;
            // Once both outputs are closed, no process is left that could write to them.
            if !reading.is_terminated() {
                reading.as_mut().await;
            }
        };
        let _ = timeout(self.last_words, over).await;
        self.order(Order::Kill, group);
        let _ = child.start_kill();
        let _ = timeout(self.last_words, child.wait()).await;
    }

    fn order(&self, order: Order, group: Option<u32>) {
        if let Some(group) = group {
            // Where somebody has killed the shell, the program itself is ended all the same.
            let _ = self.reaper.order(order, group);
        }
    }
}

/// How a hook came to its end.
enum End {
    /// By itself.
    By(io::Result<ExitStatus>),
    /// It took too long.
    Late,
    /// The run is to stop.
    Stopped,
}

/// Waits for the end of a hook, while its output flows.
async fn until_end<R>(
    child: &mut Child,
    mut reading: Pin<&mut R>,
    patience: Duration,
    stop: &CancellationToken,
) -> End
where
    R: FusedFuture<Output = ((), ())>,
{
    let mut late = pin!(sleep(patience));
    loop {
        select! {
            status = child.wait() => return End::By(status),
            () = &mut late => return End::Late,
            () = stop.cancelled() => return End::Stopped,
            _ = &mut reading, if !reading.is_terminated() => {}
        }
    }
}

/// Reads an output to its end.
async fn drain(output: Option<impl AsyncRead + Unpin>, tail: &Mutex<Tail>) {
    let (mut cutter, mut buffer) = (Cutter::default(), vec![0; 8192]);
    if let Some(mut output) = output {
        while let Ok(size @ 1..) = output.read(&mut buffer).await {
            tail.lock().take(&mut cutter, &buffer[..size]);
        }
    }
    tail.lock().end(&mut cutter);
}

/// Waits a moment for the rest of the output.
async fn rest(reading: Pin<&mut impl FusedFuture<Output = ((), ())>>) {
    if !reading.is_terminated() {
        let _ = timeout(LAST_OUTPUT, reading).await;
    }
}

/// Why what a hook was to do counts as not done.
fn why(end: &End, patience: Duration, output: &str) -> Option<String> {
    let reason = match end {
        End::By(Ok(status)) if status.success() => return None,
        End::By(Ok(status)) => match status.code() {
            Some(code) => format!("it ended with exit code {code}"),
            None => format!("it was ended: {status}"),
        },
        End::By(Err(error)) => format!("its end was not seen: {error}"),
        End::Late => {
            let patience = SignedDuration::try_from(patience).unwrap_or(SignedDuration::MAX);
            format!("it took longer than {patience:#} and was ended")
        }
        End::Stopped => "the run was stopped, and it was ended".to_owned(),
    };
    let last = output.lines().rfind(|line| !line.trim().is_empty());
    Some(match last {
        Some(last) => {
            let last: String = last.trim().chars().take(LAST_LINE).collect();
            format!("{reason}; its last words: {last}")
        }
        None => reason,
    })
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
