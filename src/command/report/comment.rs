//! `report verify --dir`: every report of a folder, for a terminal or as a comment on a pull request.

use std::path::Path;

use evidence::Limits;
use report::{
    escape,
    page::Page,
    submitted::{Check, Fitness, Submission, Unreadable, comment},
};

use super::folder::{Folders, read_all};
use crate::command::terminal::{
    exit::{Exit, Failure},
    print::{print, width},
};

/// Verifies every report below a folder.
///
/// # Errors
/// When the folder cannot be read, or holds no report.
pub(super) fn verify_all(root: &Path, markdown: bool, limits: &Limits) -> Result<Exit, Failure> {
    let Folders {
        reports, unreadable, ..
    } = read_all(root, limits)?;
    let submissions: Vec<Submission> = reports
        .into_iter()
        .map(|found| Submission {
            check: Check::of(&found.document, &mut found.proof(limits), |_| {}),
            folder: found.name,
            document: found.document,
        })
        .collect();
    let text = if markdown {
        comment(&submissions, &unreadable)
    } else {
        describe(&submissions, &unreadable)
    };
    print(&text)?;
    let is_forged = |one: &Submission| one.check.fitness == Fitness::DoesNotHold;
    Ok(if submissions.iter().any(is_forged) {
        Exit::NotConformant
    } else if unreadable.is_empty() {
        Exit::Success
    } else {
        Exit::Usage
    })
}

fn describe(submissions: &[Submission], unreadable: &[Unreadable]) -> String {
    let mut page = Page::new(width());
    for submission in submissions {
        let name = submission.check.fitness.name();
        page.marked(0, &format!("{name}:"), &escape::line(&submission.folder));
        for item in submission.to_do() {
            page.paragraph(2, &escape::line(&item));
        }
    }
    for one in unreadable {
        page.marked(0, "cannot be read:", &escape::line(&one.folder));
        page.paragraph(2, &escape::line(&one.reason));
    }
    page.into_text()
}
