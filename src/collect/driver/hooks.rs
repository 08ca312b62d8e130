//! Hooks make the implementation act, and offers make members. The hooks of a driver file are programs, run without a shell.

use std::{
    io::{self, Write as _},
    mem,
    path::{Path, PathBuf},
    time::Duration,
};

use evidence::{DriverAction, LARGEST_KUBECONFIG, ObjectKey, PlacementRequest, read_text};
use futures::{FutureExt as _, future::BoxFuture};
use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use super::{DriverFile, HookMember, create_private_file};
use crate::{
    connect::{HubAccess, credentials_in},
    subprocess::{End, Sink, Subprocess, Subprocesses, Tail, with_last_words},
};

pub(super) const PREFIX: &str = "CONFORMANCE_";
/// How long a hook has to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(5);
/// How much of a failed hook's last line its reason repeats, in characters.
const LAST_LINE: usize = 200;

/// Makes the implementation act.
pub trait Hooks: Send + Sync {
    /// Why the implementation cannot do that; none if it can.
    fn lacking(&self, action: DriverAction) -> Option<String>;

    /// Makes it act, and waits until that is done or `stop` is cancelled.
    fn call<'a>(&'a self, call: &'a HookRequest<'a>, stop: CancellationToken) -> BoxFuture<'a, Called>;
}

/// What the implementation should do.
#[derive(Clone)]
pub struct HookRequest<'a> {
    /// The action.
    pub action: DriverAction,
    /// The member; none for the whole implementation.
    pub member: Option<&'a HookMember>,
    /// The content of the member's kubeconfig, if it is a fake member.
    pub kubeconfig: Option<&'a str>,
    /// The profile of that member, if it is known.
    pub profile: Option<ObjectKey>,
    /// The version that the member should have after an upgrade.
    pub version: Option<String>,
    /// The namespace of the run's own in which the member's profile should be; none if the implementation chooses it.
    pub namespace: Option<&'a str>,
    /// What is requested from a scheduler, or no longer.
    pub placement: Option<&'a PlacementRequest>,
}

pub(super) const UNDONE_BY: [(DriverAction, DriverAction); 5] = [
    (DriverAction::Join, DriverAction::Leave),
    (DriverAction::Break, DriverAction::Heal),
    (DriverAction::Disconnect, DriverAction::Reconnect),
    (DriverAction::Place, DriverAction::Unplace),
    (DriverAction::Stop, DriverAction::Start),
];

pub(super) fn undone_by(action: DriverAction) -> Option<DriverAction> {
    let undone = UNDONE_BY.iter().find(|(one, _)| *one == action);
    undone.map(|(_, undo)| *undo)
}

/// Whether a hook undoes what another one did. The run calls it even when it stops.
pub(super) fn undoes(action: DriverAction) -> bool {
    UNDONE_BY.iter().any(|(_, undo)| *undo == action)
}

impl<'a> HookRequest<'a> {
    /// A call for the whole implementation.
    pub(crate) fn of(action: DriverAction) -> Self {
        Self {
            action,
            member: None,
            kubeconfig: None,
            profile: None,
            version: None,
            namespace: None,
            placement: None,
        }
    }

    /// The name of its member or placement; empty for the whole implementation.
    pub(super) fn name(&self) -> &str {
        let placement = self.placement.map(|placement| &placement.name);
        let name = self.member.map(|member| &member.name).or(placement);
        name.map_or("", String::as_str)
    }
}

/// The result of a call.
#[derive(Clone, Debug, Default)]
pub struct Called {
    /// Why it failed, if it did.
    pub failure: Option<String>,
    /// The end of its output, without credentials.
    pub output: String,
    /// The member's profile, if the hook prints it.
    pub profile: Option<ObjectKey>,
    /// The namespace and the key of the placement's decision, if the hook prints them.
    pub decision: Option<ObjectKey>,
}

/// A fake member cannot be offered.
#[derive(Debug, thiserror::Error)]
#[error("failed to offer a fake member: {0}")]
pub struct OfferError(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// Offers fake members.
pub trait Offer: Send + Sync {
    /// Offers a new member of that name: healthy, and running until it is dropped.
    fn offer<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Box<dyn Offered>, OfferError>>;
}

/// A fake member.
pub trait Offered: Send + Sync {
    /// A kubeconfig for it; none if the hooks need none.
    fn kubeconfig(&self) -> Option<String>;
    /// The address of its API server, by which its profile may be recognized; none if it has none.
    fn server(&self) -> Option<String>;
    /// Breaks its control plane: its API server no longer answers.
    fn break_down(&self);
    /// Repairs it.
    fn heal(&self);
    /// Gives it another version, and returns that.
    fn upgrade(&self) -> String;
}

impl Called {
    /// A success.
    pub fn success() -> Self {
        Self::default()
    }

    /// A failure with its reason.
    pub fn failed(reason: impl Into<String>) -> Self {
        Self {
            failure: Some(reason.into()),
            ..Self::default()
        }
    }
}

/// Calls a hook that undoes an earlier one: for the member or the placement of that name, or for the whole implementation.
/// `members` are the implementer's own members.
pub(super) async fn call_undo(
    hooks: &dyn Hooks,
    members: &[HookMember],
    action: DriverAction,
    name: &str,
) -> Called {
    let member = members.iter().find(|member| member.name == name).cloned();
    let member = member.unwrap_or_else(|| HookMember::named(name.to_owned()));
    let placement = PlacementRequest {
        name: name.to_owned(),
        ..PlacementRequest::default()
    };
    let is_on_placements = action.is_on_placements();
    let call = HookRequest {
        member: (!is_on_placements && !name.is_empty()).then_some(&member),
        placement: is_on_placements.then_some(&placement),
        profile: member.profile.clone(),
        ..HookRequest::of(action)
    };
    hooks.call(&call, CancellationToken::new()).await
}

/// The hooks of a driver file.
pub struct Commands {
    file: DriverFile,
    run: String,
    /// Has the kubeconfigs for hooks; only this user may read it. Removed even if this process is killed.
    folder: TempDir,
    subprocesses: Subprocesses,
    secrets: Mutex<Vec<String>>,
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
            secrets: Mutex::new(secret_values(&file)),
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
        create_private_file(&path)?.write_all(kubeconfig.as_bytes())?;
        Ok(path)
    }

    fn hide(&self, kubeconfig: &str) {
        let mut secrets = self.secrets.lock();
        let mut new = credentials_in(kubeconfig);
        new.retain(|secret| !secrets.contains(secret));
        secrets.extend(new);
    }

    /// The variables of a hook; a variable without a value must not be set.
    fn variables(&self, call: &HookRequest) -> io::Result<[(&'static str, Option<String>); 10]> {
        let member = match (call.member, call.kubeconfig) {
            (Some(member), Some(text)) => Some(self.keep(&member.name, text)?),
            (
                Some(HookMember {
                    kubeconfig: Some(path),
                    ..
                }),
                None,
            ) => {
                self.hide(&read_text(path, LARGEST_KUBECONFIG).unwrap_or_default());
                Some(path.clone())
            }
            _ => None,
        };
        let path_text = |path: &Path| path.display().to_string();
        let hub = self.folder.path().join("hub.kubeconfig");
        let profile = call.profile.as_ref();
        let placement = call.placement;
        Ok([
            ("RUN", Some(self.run.clone())),
            ("ACTION", Some(call.action.to_string())),
            ("HUB_KUBECONFIG", Some(path_text(&hub))),
            ("MEMBER", call.member.map(|member| member.name.clone())),
            ("MEMBER_KUBECONFIG", member.as_deref().map(path_text)),
            (
                "PROFILE",
                profile.map(|key| format!("{}/{}", key.namespace, key.name)),
            ),
            ("VERSION", call.version.clone()),
            ("NAMESPACE", call.namespace.map(str::to_owned)),
            ("PLACEMENT", placement.map(|placement| placement.name.clone())),
            (
                "CLUSTERS",
                placement.map(|placement| placement.clusters.to_string()),
            ),
        ])
    }

    async fn run(
        &self,
        call: &HookRequest<'_>,
        hook: &[String],
        stop: CancellationToken,
    ) -> io::Result<Called> {
        let command = self.command(hook, call)?;
        // After the variables, which add the member's credentials.
        let tail = Mutex::new(Tail::without(self.secrets.lock().clone()));
        let subprocess = Subprocess {
            command,
            is_interactive: false,
            stdout: Sink::Tail(&tail),
            stderr: Sink::Tail(&tail),
            limit: self.file.timeout(),
            grace: self.grace,
            stop: &stop,
        };
        let end = self.subprocesses.run(subprocess).await?;
        let mut tail = tail.into_inner();
        let printed = mem::take(&mut tail.printed);
        let output = tail.finish();
        Ok(Called {
            failure: failure(&end, &output),
            profile: printed.profile,
            decision: printed.decision,
            output,
        })
    }

    fn command(&self, hook: &[String], call: &HookRequest) -> io::Result<Command> {
        let mut command = Command::new(self.file.program(hook));
        command
            .args(hook.iter().skip(1))
            .current_dir(self.file.folder())
            .envs(&self.file.env);
        for (name, value) in self.variables(call)? {
            let name = format!("{PREFIX}{name}");
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        Ok(command)
    }
}

fn failure(end: &End, output: &str) -> Option<String> {
    let reason = match end {
        end if end.is_success() => return None,
        End::Stopped => "the run was stopped, and it was ended".to_owned(),
        end => format!("it {end}"),
    };
    let last = output.lines().rfind(|line| !line.trim().is_empty());
    let last: String = last.unwrap_or_default().trim().chars().take(LAST_LINE).collect();
    Some(with_last_words(reason, &last))
}

/// The values that the driver file gives to hooks under names of secrets. More words count than in a kubeconfig, whose secrets
/// are replaced in what rules compare.
fn secret_values(file: &DriverFile) -> Vec<String> {
    let is_secret = |name: &str| {
        let name = name.to_lowercase();
        let words = ["token", "secret", "password", "passwd", "credential", "key"];
        words.iter().any(|word| name.contains(word))
    };
    let secrets = file
        .env
        .iter()
        .filter(|(name, value)| is_secret(name) && value.len() >= 6);
    secrets.map(|(_, value)| value.clone()).collect()
}

impl Hooks for Commands {
    fn lacking(&self, action: DriverAction) -> Option<String> {
        let has_hook = self.file.hooks.contains_key(&action);
        (!has_hook).then(|| format!("the driver file has no hook `{action}`"))
    }

    fn call<'a>(&'a self, call: &'a HookRequest<'a>, stop: CancellationToken) -> BoxFuture<'a, Called> {
        async move {
            let Some(hook) = self.file.hooks.get(&call.action) else {
                return Called::failed("there is no such hook");
            };
            let mut called = self.run(call, hook, stop).await.unwrap_or_else(|error| {
                let program = self.file.program(hook);
                Called::failed(format!("{} could not be started: {error}", program.display()))
            });
            let failure = called.failure.take();
            called.failure = failure.map(|reason| format!("the hook `{}`: {reason}", call.action));
            called
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests;
