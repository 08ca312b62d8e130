//! `report site`: a static site that compares implementations.

use std::{
    fs, io,
    path::PathBuf,
};

use anyhow::{Context, anyhow};
use clap::Args;
use collect::clock::Clock;
use evidence::{Implementation, Limits, api::Edition};
use jiff::tz::TimeZone;
use report::{
    escape,
    signed::NamedKey,
    site::{Board, RunPage, Submission},
    submitted::{Check, Document, Fitness, Proof, Verified, compose},
};

use super::{
    folder::{Found, read_all},
    keys::KeyFlags,
};
use crate::command::{
    flags::input::InputFlags,
    terminal::{
        exit::{Exit, Failure},
        print::print,
    },
};

/// Make a static site that compares implementations by their submitted reports
#[derive(Debug, Args)]
#[command(
    after_help = "Each report has a folder of its own with `report.yaml` and, to be verified, its evidence. The site needs no \
                        network and no server.\n\nExit codes: 0 made, also where reports do not hold or cannot be read: the site \
                        says so; 2 a folder or a key cannot be used."
)]
pub struct Site {
    /// The folder of the reports, such as reports/
    reports: PathBuf,
    /// The folder to write, which must be new or empty
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    keys: KeyFlags,
    #[command(flatten)]
    input: InputFlags,
}

impl Site {
    /// Makes it.
    ///
    /// # Errors
    /// When the reports cannot be read or the site cannot be written.
    pub fn execute(self) -> Result<Exit, Failure> {
        let limits = self.input.limits_of_submitted();
        let keys = self.keys.read()?;
        let folders = read_all(&self.reports, &limits)?;
        self.check_out()?;
        for one in &folders.unreadable {
            anstream::eprintln!(
                "note: {}: {}",
                escape::line(&one.folder),
                escape::line(&one.reason)
            );
        }
        let reports = folders.reports.len();
        let submissions = submissions(folders.reports, &keys, &limits).map_err(Failure::could_not_run)?;
        let mut files = 0;
        let today = Clock::system().now().to_zoned(TimeZone::UTC).date();
        let board = Board::new(submissions, folders.unreadable).on(today);
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
            "{}, {files} files: open {}\n",
            report::count(reports, "report"),
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

/// The reports; and each that holds for one edition also by the others, which nobody needs to submit.
fn submissions(reports: Vec<Found>, keys: &[NamedKey], limits: &Limits) -> io::Result<Vec<Submission>> {
    let submitted: Vec<_> = reports.iter().map(|found| known_by(&found.document)).collect();
    let mut submissions = Vec::new();
    for found in reports {
        let submission = submission(&found, keys, limits)?;
        if submission.check.fitness() == Fitness::Holds && found.document.is_whole_run() {
            for edition in found.document.edition.role().editions() {
                let asked = found.in_edition(edition);
                if !submitted.contains(&known_by(&asked.document)) {
                    submissions.extend(by_other_edition(&asked, &found.document, limits)?);
                }
            }
        }
        submissions.push(submission);
    }
    Ok(submissions)
}

/// What no two reports of the same run have in common.
fn known_by(document: &Document) -> (Option<Implementation>, Edition) {
    (document.implementation.clone(), document.edition)
}

fn submission(found: &Found, keys: &[NamedKey], limits: &Limits) -> io::Result<Submission> {
    let mut runs = Vec::new();
    let check = found.check(limits, |report| runs.push(RunPage::of(report)));
    Ok(Submission {
        folder: found.name.clone(),
        document: found.document.clone(),
        check,
        signature: found.signature(keys, limits),
        submitted_for: None,
        runs: runs.into_iter().collect::<io::Result<_>>()?,
    })
}

/// What the evidence of a submitted report gives by another edition.
fn by_other_edition(asked: &Found, submitted: &Document, limits: &Limits) -> io::Result<Option<Submission>> {
    let mut judged = None;
    asked.check(limits, |report| {
        judged = Some((compose(report, None), RunPage::of(report)))
    });
    let Some((composed, page)) = judged else {
        return Ok(None);
    };
    let document = Document {
        date: submitted.date,
        implementation: submitted.implementation.clone(),
        evidence: submitted.evidence.clone(),
        ..composed
    };
    Ok(Some(Submission {
        folder: asked.name.clone(),
        check: Check::of(&document, Proof::Judged(Verified::default())),
        document,
        signature: None,
        submitted_for: Some(submitted.edition),
        runs: vec![page?],
    }))
}
