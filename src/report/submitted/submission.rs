//! A submitted report, checked, and what its submitter has to do.

use super::{
    document::Document,
    eligibility::{Obstacle, obstacles},
    fitness::{Check, Fitness, Proof},
};
use crate::text::{escape, number::count};

/// How many differences are quoted.
const QUOTED: usize = 3;

/// How many characters of each side of a difference are quoted.
const LONGEST: usize = 60;

/// A submitted report.
#[derive(Debug)]
pub struct Submission {
    /// The folder that holds it, relative to the folder of all reports, with `/` between its parts.
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
    /// Whether its evidence reproduces it.
    pub fn fitness(&self) -> Fitness {
        self.check.fitness()
    }

    /// What is missing or forged, each with what to do. Empty: the report holds and can be submitted.
    pub fn to_do(&self) -> Vec<String> {
        let mut list: Vec<String> = Vec::new();
        if let Some(contradiction) = &self.check.contradiction {
            list.push(format!(
                "the report contradicts itself: {contradiction}: submit it as the suite wrote it"
            ));
        }
        list.extend(self.about_evidence());
        for obstacle in obstacles(&self.document).iter().chain(self.check.obstacles()) {
            match obstacle {
                Obstacle::NoEvidence => list.push(format!("{obstacle}: run again with `--record FILE`")),
                _ => list.push(obstacle.to_string()),
            }
        }
        list.extend(self.about_folder());
        list
    }

    fn about_evidence(&self) -> Option<String> {
        let differences = self.check.differences();
        match &self.check.proof {
            Proof::Unreadable(reason) => Some(format!("the evidence cannot be read: {reason}")),
            Proof::Missing => {
                let file = &self.document.evidence.as_ref()?.file;
                Some(format!(
                    "the evidence is missing: add {file} beside report.yaml, or reviewers cannot verify the report"
                ))
            }
            Proof::Judged(_) if differences.is_empty() => None,
            Proof::Judged(_) => {
                let quoted = differences.iter().take(QUOTED).map(|one| {
                    let (old, new) = (one.old_text(), one.new_text());
                    let (old, new) = (escape::short(&old, LONGEST), escape::short(&new, LONGEST));
                    format!("{}: the report says {old}, the evidence {new}", one.at)
                });
                Some(format!(
                    "the evidence does not reproduce {}, such as {}: judge it again with `replay EVIDENCE --report report.yaml`",
                    count(differences.len(), "part"),
                    quoted.collect::<Vec<_>>().join("; ")
                ))
            }
        }
    }

    /// The folder is to be named like the version, so that readers find it.
    fn about_folder(&self) -> Option<String> {
        let version = self.document.implementation.as_ref()?.version.trim();
        let folder = self.folder.rsplit('/').next()?;
        let bare = |text: &str| text.strip_prefix('v').unwrap_or(text).to_owned();
        (!version.is_empty() && bare(version) != bare(folder)).then(|| {
            format!("the folder is named {folder}, and the report is of version {version}: name both alike")
        })
    }
}
