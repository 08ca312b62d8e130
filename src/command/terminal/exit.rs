//! Exit codes: a contract with scripts and pipelines.

use std::process::ExitCode;

use anstyle::AnsiColor;
use collect::{
    CollectError,
    connect::{ConnectError, ConnectFault, Connection},
};
use judge::Decision;
use lab::hub::HubError;
#[cfg(feature = "k3s")]
use lab::hub::K3sError;
use report::escape;

use super::advice;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Success = 0,
    NotConformant = 1,
    Usage = 2,
    Inconclusive = 3,
    CouldNotRun = 4,
}

/// A failed command, with its exit code.
#[derive(Debug)]
pub struct Failure {
    exit: Exit,
    error: anyhow::Error,
}

/// Returns with the failure of a command line or a file that is invalid.
macro_rules! bail_usage {
    ($($message:tt)*) => {
        return Err($crate::command::terminal::exit::Failure::usage(anyhow::anyhow!($($message)*)))
    };
}
pub(crate) use bail_usage;

impl Failure {
    /// The command line or a file is invalid.
    pub fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self {
            exit: Exit::Usage,
            error: error.into(),
        }
    }

    /// The request was valid, but could not be carried out.
    pub fn could_not_run(error: impl Into<anyhow::Error>) -> Self {
        Self {
            exit: Exit::CouldNotRun,
            error: error.into(),
        }
    }

    /// The run was stopped before anything was seen.
    pub fn stopped() -> Self {
        Self {
            exit: Exit::Inconclusive,
            error: CollectError::Stopped.into(),
        }
    }

    /// The run collected no evidence of that hub: collecting failed, or the run was stopped first. A scope without objects is
    /// a mistake in the command line; a hub without profiles is inconclusive.
    pub fn no_evidence(error: CollectError, hub: &Connection) -> Self {
        let exit = match error {
            CollectError::Stopped | CollectError::NoProfiles => Exit::Inconclusive,
            CollectError::NothingInScope { .. } => Exit::Usage,
            _ => Exit::CouldNotRun,
        };
        let address = hub.access().map(|access| &*access.server);
        let advised = format!("{error}{}", advice::nothing_seen(&error, address));
        let error = anyhow::Error::new(error).context(advised);
        Self { exit, error }
    }

    pub fn exit(&self) -> Exit {
        self.exit
    }

    /// Whether the run was stopped early.
    pub fn is_stop(&self) -> bool {
        matches!(self.error.downcast_ref(), Some(CollectError::Stopped))
    }

    pub fn print(&self) {
        let text = self.error.to_string();
        let mut lines = text.lines();
        anstream::eprintln!(
            "{} {}",
            red("error:"),
            escape::line(lines.next().unwrap_or_default())
        );
        // One error contains a manifest to copy as it is. In others, a line break may come from a file's name, which
        // must not look like a line of ours.
        let manifest = matches!(self.error.downcast_ref(), Some(CollectError::Forbidden { .. }));
        let margin = if manifest { "" } else { "    " };
        for line in lines {
            anstream::eprintln!("{margin}{}", escape::line(line));
        }
        for cause in self.causes() {
            anstream::eprintln!("  caused by: {}", escape::line(&cause));
        }
    }

    pub fn in_one_line(&self) -> String {
        let text = self.error.to_string();
        let mut parts = vec![text.lines().next().unwrap_or_default().to_owned()];
        parts.extend(self.causes());
        parts.join(": ")
    }

    /// Lists the causes that add something; many errors quote their source.
    fn causes(&self) -> Vec<String> {
        let mut message = self.error.to_string();
        let mut causes = Vec::new();
        for cause in self.error.chain().skip(1) {
            let cause = cause.to_string();
            if !message.contains(&cause) {
                causes.push(cause.clone());
                message = cause;
            }
        }
        causes
    }
}

fn red(text: &str) -> String {
    let style = AnsiColor::Red.on_default().bold();
    format!("{style}{text}{style:#}")
}

impl From<HubError> for Failure {
    fn from(error: HubError) -> Self {
        match error {
            HubError::WithoutK3s => Self::usage(anyhow::anyhow!(
                "{error}: build it with `cargo install --path . --features k3s` in its repository, or use --hub envtest"
            )),
            #[cfg(feature = "k3s")]
            HubError::K3s(K3sError::NoEngine { .. }) => {
                Self::could_not_run(anyhow::anyhow!("{error}; --hub envtest and --hub lab need none"))
            }
            _ => Self::could_not_run(error),
        }
    }
}

/// There is no connection to the user's hub. A kubeconfig that cannot be used is like any other file that cannot.
impl From<ConnectError> for Failure {
    fn from(error: ConnectError) -> Self {
        let exit = match error.fault {
            ConnectFault::UnknownContext | ConnectFault::File => Exit::Usage,
            _ => Exit::CouldNotRun,
        };
        let advised = format!("{error}{}", advice::unreachable(&error));
        let error = anyhow::Error::new(error).context(advised);
        Self { exit, error }
    }
}

/// A failure that is not the user's.
impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::could_not_run(error)
    }
}

impl From<Decision> for Exit {
    fn from(decision: Decision) -> Self {
        match decision {
            Decision::Conformant | Decision::NoViolation => Exit::Success,
            Decision::NotConformant => Exit::NotConformant,
            Decision::Inconclusive => Exit::Inconclusive,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

impl From<&Failure> for ExitCode {
    fn from(failure: &Failure) -> Self {
        failure.exit.into()
    }
}
