//! Reports in folders.

use super::{
    check::{Check, Proof},
    document::Document,
};
use crate::Report;

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
    /// Checks a report and the name of its folder. `show` gets the run that is judged again.
    pub fn of(folder: String, document: Document, proof: &mut Proof, show: impl FnOnce(&Report)) -> Self {
        let mut check = Check::of(&document, proof, show);
        check.obstacles.extend(misnamed(&folder, &document));
        Self {
            folder,
            document,
            check,
        }
    }
}

/// Readers look for a report in the folder that has the name of the version.
fn misnamed(folder: &str, document: &Document) -> Option<String> {
    let version = document.about.implementation.as_ref()?.version.trim();
    let folder = folder.rsplit('/').next()?;
    let bare = |text: &str| text.strip_prefix('v').unwrap_or(text).to_owned();
    (!version.is_empty() && bare(version) != bare(folder)).then(|| {
        format!(
            "the folder is named {folder}, and the report is of version {version}: give both the same name"
        )
    })
}
