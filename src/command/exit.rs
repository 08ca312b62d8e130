//! Exit codes: a contract with scripts and pipelines.

use std::process::ExitCode;

use collect::{CollectError, connect::ConnectError};
use judge::Decision;
use lab::hub::HubError;
use report::inert;

use super::advice;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Conformant, or simply done.
    Success = 0,
    /// Not conformant.
    NotConformant = 1,
    /// Bad usage or configuration.
    Usage = 2,
    /// Inconclusive.
    Inconclusive = 3,
    /// Could not run.
    CouldNotRun = 4,
}

/// Why a command did not end well, and with which code it ends.
#[derive(Debug)]
pub struct Failure {
    exit: Exit,
    error: anyhow::Error,
}

impl Failure {
    /// The user asked for something that cannot be.
    pub fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self {
            exit: Exit::Usage,
            error: error.into(),
        }
    }

    /// The user asked for something sensible, and the world did not let us.
    pub fn could_not_run(error: impl Into<anyhow::Error>) -> Self {
        Self {
            exit: Exit::CouldNotRun,
            error: error.into(),
        }
    }

    /// A hub of the suite's own does not start.
    pub fn no_hub(error: HubError) -> Self {
        match error {
            HubError::WithoutK3s => Self::usage(error),
            _ => Self::could_not_run(error),
        }
    }

    /// The hub that the user has named cannot be reached.
    pub fn unreachable(error: ConnectError) -> Self {
        let exit = match error {
            ConnectError::UnknownContext { .. } => Exit::Usage,
            _ => Exit::CouldNotRun,
        };
        let advised = format!("{error}{}", advice::unreachable(&error));
        let error = anyhow::Error::new(error).context(advised);
        Self { exit, error }
    }

    /// Nothing was seen of the hub: it could not be, or the run was ended before.
    pub fn nothing_seen(error: CollectError) -> Self {
        let exit = match error {
            CollectError::Stopped => Exit::Inconclusive,
            _ => Exit::CouldNotRun,
        };
        let advised = format!("{error}{}", advice::nothing_seen(&error));
        let error = anyhow::Error::new(error).context(advised);
        Self { exit, error }
    }

    /// Whether it is that the run was ended early.
    pub fn is_stop(&self) -> bool {
        matches!(self.error.downcast_ref(), Some(CollectError::Stopped))
    }

    /// Prints what went wrong to standard error.
    pub fn print(&self) {
        let told = self.error.to_string();
        let mut lines = told.lines();
        anstream::eprintln!(
            "{} {}",
            red("error:"),
            inert::line(lines.next().unwrap_or_default())
        );
        // One error brings a manifest, which is to be copied as it is. In all others a line break may be that of a
        // file's name, which must not pass for a line of ours.
        let manifest = matches!(self.error.downcast_ref(), Some(CollectError::Forbidden { .. }));
        let margin = if manifest { "" } else { "    " };
        for line in lines {
            anstream::eprintln!("{margin}{}", inert::line(line));
        }
        for cause in self.causes() {
            anstream::eprintln!("  caused by: {}", inert::line(&cause));
        }
    }

    /// What went wrong, in one line.
    pub fn in_one_line(&self) -> String {
        let mut line = self
            .error
            .to_string()
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned();
        for cause in self.causes() {
            line += ": ";
            line += &cause;
        }
        line
    }

    /// The causes that say more than what they caused; many errors quote their source.
    fn causes(&self) -> Vec<String> {
        let mut told = self.error.to_string();
        let mut causes = Vec::new();
        for cause in self.error.chain().skip(1) {
            let cause = cause.to_string();
            if !told.contains(&cause) {
                causes.push(cause.clone());
                told = cause;
            }
        }
        causes
    }
}

fn red(text: &str) -> String {
    use owo_colors::OwoColorize;
    text.red().bold().to_string()
}

impl From<Decision> for Exit {
    fn from(decision: Decision) -> Self {
        match decision {
            Decision::Conformant => Exit::Success,
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
