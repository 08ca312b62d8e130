//! Writing the board: every page, badge and file, in a fixed order.

use std::io;

use askama::Template;
use jiff::civil::Date;
use judge::rules;

use super::{
    board::{Board, Implementation, Version},
    edition::{self, EditionPage},
    frame::Frames,
    implementation::ImplementationPage,
    rule::RulePage,
    version::{VersionPage, matrix_path, run_pages},
};
use crate::{
    formats::badge,
    submitted::{Fitness, tally, write_matrix_of},
};

impl Board {
    /// Writes it: `put` gets the path of each file, relative and with `/` between its parts, and its content. The same
    /// reports give the same files.
    ///
    /// # Errors
    /// When `put` fails.
    pub fn write(&self, mut put: impl FnMut(&str, &[u8]) -> io::Result<()>) -> io::Result<()> {
        let frames = Frames::new();
        self.write_editions(&frames, &mut put)?;
        for implementation in &self.implementations {
            implementation.write(self.today, &frames, &mut put)?;
        }
        self.write_matrices(&mut put)?;
        let editions = self.editions();
        for rule in rules::all() {
            let in_any = editions
                .iter()
                .any(|edition| rule.facts.in_edition(*edition).is_some());
            if in_any {
                let path = format!("rules/{}.html", rule.id);
                let frame = frames.plain(&path, rule.id.to_owned());
                put(&path, text(&RulePage::new(self, rule, frame))?.as_bytes())?;
            }
        }
        Ok(())
    }

    fn write_editions(
        &self,
        frames: &Frames,
        put: &mut impl FnMut(&str, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let editions = self.editions();
        // Without any report, the first page still names the folders that cannot be read.
        let shown = if editions.is_empty() {
            vec![Default::default()]
        } else {
            editions
        };
        for (place, edition) in shown.into_iter().enumerate() {
            let path = if place == 0 {
                "index.html".to_owned()
            } else {
                edition::path(edition, self)
            };
            let subject = edition.role().objects().name();
            let frame = frames.filtered(&path, format!("{subject} conformance: edition {edition}"));
            put(&path, text(&EditionPage::new(self, edition, frame))?.as_bytes())?;
        }
        Ok(())
    }

    /// The reports that hold, in the SIG's form: a folder for each version of the API, and one for each implementation.
    fn write_matrices(&self, put: &mut impl FnMut(&str, &[u8]) -> io::Result<()>) -> io::Result<()> {
        for implementation in &self.implementations {
            for version in &implementation.versions {
                if let Some(path) = matrix_path(implementation, version) {
                    put(&path, &matrix(version)?)?;
                }
            }
        }
        Ok(())
    }
}

fn matrix(version: &Version) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    write_matrix_of(&version.submission.document, &mut bytes).map_err(io::Error::other)??;
    Ok(bytes)
}

impl Implementation {
    fn write(
        &self,
        today: Option<Date>,
        frames: &Frames,
        put: &mut impl FnMut(&str, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let path = format!("{}index.html", self.folder());
        let frame = frames.filtered(&path, self.name.clone());
        put(
            &path,
            text(&ImplementationPage::new(self, today, frame))?.as_bytes(),
        )?;
        if let Some(newest) = self.versions.last() {
            put(&format!("{}badge.svg", self.folder()), &badge_of(newest)?)?;
        }
        for version in &self.versions {
            let folder = &version.folder;
            let path = format!("{folder}index.html");
            let frame = frames.plain(&path, version.name.clone());
            put(&path, text(&VersionPage::new(self, version, frame))?.as_bytes())?;
            put(&format!("{folder}badge.svg"), &badge_of(version)?)?;
            if version.submission.is_submitted() {
                let mut report = Vec::new();
                version.submission.document.write(&mut report)?;
                put(&format!("{folder}report.yaml"), &report)?;
            }
            for (name, run) in run_pages(&version.submission)
                .iter()
                .zip(&version.submission.runs)
            {
                put(&format!("{folder}{name}"), &run.html)?;
            }
        }
        Ok(())
    }
}

fn badge_of(version: &Version) -> io::Result<Vec<u8>> {
    let submission = &version.submission;
    let document = &submission.document;
    let mut bytes = Vec::new();
    match (submission.fitness(), document.entries()) {
        (Fitness::Holds, Ok(entries)) => badge::write_decision(
            document.edition.role().objects().name(),
            document.decision,
            &tally(&entries),
            document.edition.name(),
            if document.is_partial() { badge::PARTIAL } else { "" },
            &mut bytes,
        )?,
        (fitness, _) => badge::write_undecided(fitness.name(), document.edition, &mut bytes)?,
    }
    Ok(bytes)
}

fn text(page: &impl Template) -> io::Result<String> {
    page.render().map_err(io::Error::other)
}
