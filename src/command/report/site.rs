//! `report site`: a static site that compares implementations.

use std::{fs, io, path::PathBuf};

use anyhow::{Context, anyhow};
use clap::Args;
use evidence::Limits;
use report::{
    escape,
    site::{Board, RunPage, Submission},
};

use super::folder::{Found, read_all};
use crate::command::{Exit, Failure, input::InputFlags, print::print};

/// Make a static site that compares implementations by their submitted reports
#[derive(Debug, Args)]
#[command(
    after_help = "Each report has a folder of its own with `report.yaml` and, to be verified, its evidence. The site needs no \
                        network and no server.\n\nExit codes: 0 made, also where reports do not hold or cannot be read: the site \
                        says so; 2 a folder cannot be used."
)]
pub struct Site {
    /// The folder of the reports, such as reports/
    reports: PathBuf,
    /// The folder to write, which must be new or empty
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    input: InputFlags,
}

impl Site {
    /// Makes it.
    ///
    /// # Errors
    /// When the reports cannot be read or the site cannot be written.
    pub fn execute(self) -> Result<Exit, Failure> {
        let limits = self.input.limits();
        let folders = read_all(&self.reports, &limits)?;
        self.check_out()?;
        for one in &folders.unreadable {
            anstream::eprintln!(
                "note: {}: {}",
                escape::line(&one.folder),
                escape::line(&one.reason)
            );
        }
        let submissions = folders
            .reports
            .into_iter()
            .map(|found| submission(found, &limits))
            .collect::<io::Result<Vec<_>>>()
            .map_err(Failure::could_not_run)?;
        let reports = submissions.len();
        let mut files = 0;
        let board = Board::new(submissions, folders.unreadable);
        board
            .write(|path, content| {
                files += 1;
                let path = self.out.join(path);
                if let Some(folder) = path.parent() {
                    fs::create_dir_all(folder)?;
                }
                fs::write(path, content)
            })
            .with_context(|| format!("failed to write the site to {}", self.out.display()))
            .map_err(Failure::could_not_run)?;
        let first = self.out.join("index.html");
        print(&format!(
            "{reports} reports, {files} files: open {}\n",
            first.display()
        ))?;
        Ok(Exit::Success)
    }

    /// Files of an earlier site would stay, and look as if they were of this one.
    fn check_out(&self) -> Result<(), Failure> {
        match fs::read_dir(&self.out).map(|mut entries| entries.next().is_some()) {
            Ok(true) => Err(Failure::usage(anyhow!(
                "--out {} is not empty: name a new folder, or remove it first",
                self.out.display()
            ))),
            Ok(false) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(Failure::usage(
                anyhow!(error).context(format!("--out {} cannot be used", self.out.display())),
            )),
        }
    }
}

fn submission(found: Found, limits: &Limits) -> io::Result<Submission> {
    let mut runs = Vec::new();
    let check = found.check(limits, |report| runs.push(RunPage::of(report)));
    Ok(Submission {
        folder: found.name,
        document: found.document,
        check,
        runs: runs.into_iter().collect::<io::Result<_>>()?,
    })
}
