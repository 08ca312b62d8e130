//! Reports in folders, and the result of verifying them as a comment on a pull request.

use super::{
    check::{Check, Fitness},
    document::Document,
};
use crate::{
    formats::markdown::{code, plain},
    text::count,
};

/// GitHub refuses a comment of more than 65,536 characters.
const LONGEST: usize = 60_000;

/// A submitted report in its folder.
#[derive(Debug)]
pub struct Submission {
    /// The folder, relative to the folder of all reports, with `/` between its parts.
    pub folder: String,
    /// The report.
    pub document: Document,
    /// The result of checking it.
    pub check: Check,
}

/// A folder without a readable report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The folder, relative to the folder of all reports.
    pub folder: String,
    /// Why it cannot be read.
    pub reason: String,
}

impl Submission {
    /// What is missing or forged, each with what to do. The folder must have the name of the version, so that readers find
    /// it.
    pub fn to_do(&self) -> Vec<String> {
        let bare = |text: &str| text.strip_prefix('v').unwrap_or(text).to_owned();
        let about = self.document.implementation.as_ref();
        let version = about.map_or("", |about| about.version.trim());
        let folder = self.folder.rsplit('/').next().unwrap_or_default();
        let misnamed = (!version.is_empty() && bare(version) != bare(folder)).then(|| {
            format!("the folder is named {folder}, and the report is of version {version}: give both the same name")
        });
        self.check.to_do().cloned().chain(misnamed).collect()
    }

    fn item(&self) -> String {
        let about = self.document.implementation.as_ref();
        let name = about.map_or(String::new(), |about| {
            format!("{} {}", about.project, about.version)
        });
        let mut text = format!(
            "- {} {}: {} is {} (edition {}); {}\n",
            sign(self.check.fitness),
            code(&self.folder),
            code(name.trim()),
            self.document.decision.name().replace('-', " "),
            self.document.edition,
            self.check.describe()
        );
        for item in self.to_do() {
            text += &format!("  - {}\n", plain(&item));
        }
        text
    }
}

/// Writes the comment in Markdown: a line for each folder, with what to do below it.
pub fn comment(submissions: &[Submission], unreadable: &[Unreadable]) -> String {
    let mut text = format!("## {}\n\n", headline(submissions, unreadable));
    let unreadable = unreadable.iter().map(|one| {
        let (folder, reason) = (code(&one.folder), plain(&one.reason));
        format!("- ❌ {folder}: cannot be read\n  - {reason}\n")
    });
    let mut left_out = 0;
    for item in submissions.iter().map(Submission::item).chain(unreadable) {
        if text.len() + item.len() > LONGEST {
            left_out += 1;
        } else {
            text += &item;
        }
    }
    if left_out > 0 {
        text += &format!("\n… and {}\n", count(left_out, "more folder"));
    }
    text
}

fn headline(submissions: &[Submission], unreadable: &[Unreadable]) -> String {
    let of = |fitness| {
        submissions
            .iter()
            .filter(|one| one.check.fitness == fitness)
            .count()
    };
    let (forged, unproven) = (of(Fitness::DoesNotHold), of(Fitness::NotVerified));
    let all = submissions.len() + unreadable.len();
    let mut text = format!("Conformance reports: {} of {all} hold", of(Fitness::Holds));
    for (number, one, many) in [
        (forged, "does not hold", "do not hold"),
        (unproven, "is not verified", "are not verified"),
        (unreadable.len(), "cannot be read", "cannot be read"),
    ] {
        if number > 0 {
            text += &format!(", {number} {}", if number == 1 { one } else { many });
        }
    }
    let worst = match (forged + unreadable.len(), unproven) {
        (0, 0) => Fitness::Holds,
        (0, _) => Fitness::NotVerified,
        _ => Fitness::DoesNotHold,
    };
    format!("{} {text}", sign(worst))
}

fn sign(fitness: Fitness) -> &'static str {
    match fitness {
        Fitness::Holds => "✅",
        Fitness::NotVerified => "❔",
        Fitness::DoesNotHold => "❌",
    }
}
