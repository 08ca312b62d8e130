//! Plays the reference manager by the binary, as a user would, over half an hour of simulated time.

use std::{
    io,
    process::{Command, Output},
};

use evidence::{Digester, Evidence, InputError, api::Edition, read_input};
use lab::manager::Manager;
use tempfile::TempDir;

/// Whether a run has the manager act.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Drive {
    No,
    Yes,
}

/// A run of the binary on its lab.
pub struct Played {
    pub output: Output,
    /// Holds `report.json` and the evidence.
    pub folder: TempDir,
}

impl Played {
    /// Plays a manager, as `--manager` names it, with further flags.
    ///
    /// # Errors
    /// When the binary cannot be started.
    pub fn of(edition: Edition, manager: &str, drive: Drive, flags: &[&str]) -> io::Result<Self> {
        let folder = TempDir::new()?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_clusterprofile-conformance"));
        command.args(["run", "--hub", "lab", "--manager", manager]);
        command.args(["--edition", edition.name(), "--feature", "consumer-secrets"]);
        command.args(match drive {
            Drive::Yes => &["--driver", "reference", "--allow-mutations"][..],
            Drive::No => &["--driver", "none"],
        });
        for consumer in Manager::CONSUMERS {
            command.args(["--consumer", consumer]);
        }
        command.args(flags);
        command.arg("--json").arg(folder.path().join("report.json"));
        command.arg("--record").arg(folder.path().join("evidence"));
        let output = command.output()?;
        Ok(Self { output, folder })
    }

    /// The evidence that it recorded.
    ///
    /// # Errors
    /// When there is none.
    pub fn evidence(&self) -> Result<Evidence, InputError> {
        let path = self.folder.path().join("evidence");
        Ok(read_input(&path, &Digester::new([7; 32]))?.evidence)
    }

    /// What it printed for people.
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }
}
