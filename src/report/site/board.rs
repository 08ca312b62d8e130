//! The implementations on the board, their versions, and the places of their pages.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
};

use evidence::api::Edition;
use jiff::civil::Date;
use semver::Version as Semver;

use super::{
    slug::Slugs,
    submission::{Submission, Told},
};
use crate::html::text::shown;

/// The board.
#[derive(Debug)]
pub struct Board {
    pub(super) implementations: Vec<Implementation>,
    pub(super) unreadable: Vec<Unreadable>,
    /// The day on which it is made, for reports that have become old.
    pub(super) today: Option<Date>,
}

/// A folder that holds no report that could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The folder, below that of all reports.
    pub folder: String,
    /// Why it cannot be read.
    pub reason: String,
}

/// An implementation.
#[derive(Debug)]
pub(super) struct Implementation {
    /// Its project, or its folder where the report does not say.
    pub(super) name: String,
    pub(super) organization: String,
    pub(super) slug: String,
    /// Its reports, the newest version last.
    pub(super) versions: Vec<Version>,
}

/// A report of one version, by one edition.
#[derive(Debug)]
pub(super) struct Version {
    /// The implementation's name and the version.
    pub(super) name: String,
    /// The version alone.
    pub(super) version: String,
    /// The folder of its pages, from the board's root, with a slash at its end.
    pub(super) folder: String,
    pub(super) submission: Submission,
    pub(super) told: BTreeMap<&'static str, Told>,
}

impl Board {
    /// Sorts reports by implementation and version.
    pub fn new(submissions: Vec<Submission>, mut unreadable: Vec<Unreadable>) -> Self {
        let mut groups: BTreeMap<Key, Vec<Submission>> = BTreeMap::new();
        for submission in submissions {
            groups.entry(Key::of(&submission)).or_default().push(submission);
        }
        let mut slugs = Slugs::default();
        let implementations = groups
            .into_iter()
            .map(|(key, submissions)| Implementation::new(&key, submissions, &mut slugs))
            .collect();
        unreadable.sort_by(|one, other| one.folder.cmp(&other.folder));
        Self {
            implementations,
            unreadable,
            today: None,
        }
    }

    /// Greys what is older than a year on that day.
    #[must_use]
    pub fn on(self, today: Date) -> Self {
        Self {
            today: Some(today),
            ..self
        }
    }

    /// The editions that it has reports of, role by role: that with the most implementations first, then the oldest.
    pub(super) fn editions(&self) -> Vec<Edition> {
        let mut editions: Vec<Edition> = Edition::ALL
            .into_iter()
            .filter(|edition| self.latest(*edition).next().is_some())
            .collect();
        editions.sort_by_key(|edition| (edition.role(), std::cmp::Reverse(self.latest(*edition).count())));
        editions
    }

    /// The newest report of each implementation by that edition.
    pub(super) fn latest(&self, edition: Edition) -> impl Iterator<Item = (&Implementation, &Version)> {
        self.implementations.iter().filter_map(move |implementation| {
            let newest = implementation.of_edition(edition).last()?;
            Some((implementation, newest))
        })
    }
}

/// What reports of one implementation have in common. The folder above that of the version is part of it, so that
/// nobody adds a version to an implementation of somebody else.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    /// Sorts by name first, without regard to case.
    name: String,
    project: String,
    organization: String,
    folder: String,
}

impl Key {
    fn of(submission: &Submission) -> Self {
        let parts: Vec<&str> = submission.folder.split('/').collect();
        let folder = match parts[..] {
            [.., parent, _] => parent,
            _ => &submission.folder,
        };
        let implementation = submission.document.implementation.as_ref();
        let said = |text: Option<&String>| text.map(|text| shown(text.trim())).unwrap_or_default();
        let mut project = said(implementation.map(|of| &of.project));
        if project.is_empty() {
            project = shown(folder);
        }
        Self {
            name: project.to_lowercase(),
            project,
            organization: said(implementation.map(|of| &of.organization)),
            folder: folder.to_owned(),
        }
    }
}

impl Implementation {
    fn new(key: &Key, mut submissions: Vec<Submission>, slugs: &mut Slugs) -> Self {
        sort(&mut submissions);
        let slug = slugs.add(&key.project);
        let mut versions = Slugs::beside(["index.html", "badge.svg"]);
        let named = submissions.into_iter().map(|submission| {
            let version = version_of(&submission);
            let edition = submission.document.edition;
            let own = versions.add(&format!("{version}-{edition}"));
            Version {
                name: format!("{} {version}", key.project),
                folder: format!("implementations/{slug}/{own}/"),
                told: submission.told(),
                version,
                submission,
            }
        });
        Self {
            name: key.project.clone(),
            organization: key.organization.clone(),
            versions: named.collect(),
            slug,
        }
    }

    /// How many versions of it there are.
    pub(super) fn count(&self) -> usize {
        let names = self.versions.iter().map(|version| &*version.version);
        names.collect::<BTreeSet<&str>>().len()
    }

    /// The folder of its pages, from the board's root, with a slash at its end.
    pub(super) fn folder(&self) -> String {
        format!("implementations/{}/", self.slug)
    }

    /// Its reports by that edition, the newest version last.
    pub(super) fn of_edition(&self, edition: Edition) -> impl Iterator<Item = &Version> {
        let versions = self.versions.iter();
        versions.filter(move |version| version.submission.document.edition == edition)
    }
}

impl Version {
    /// Where the findings of a rule are, from the board's root: in the report that was judged again, where there is one.
    pub(super) fn findings(&self, rule: &str) -> String {
        let page = if self.submission.runs.len() == 1 {
            "report.html"
        } else {
            "index.html"
        };
        format!("{}{page}#{rule}", self.folder)
    }
}

fn version_of(submission: &Submission) -> String {
    let implementation = submission.document.implementation.as_ref();
    let version = implementation
        .map(|of| shown(of.version.trim()))
        .unwrap_or_default();
    if version.is_empty() {
        "unversioned".to_owned()
    } else {
        version
    }
}

/// Sorts reports of one implementation: by version if all are semantic, else by the time of the judgement.
fn sort(submissions: &mut [Submission]) {
    let semantic = |submission: &Submission| {
        let version = version_of(submission);
        Semver::parse(version.strip_prefix('v').unwrap_or(&version)).ok()
    };
    let all = submissions
        .iter()
        .all(|submission| semantic(submission).is_some());
    submissions.sort_by(|one, other| {
        let version = if all {
            semantic(one).cmp(&semantic(other))
        } else {
            Ordering::Equal
        };
        version
            .then_with(|| one.document.date.cmp(&other.document.date))
            .then_with(|| one.is_submitted().cmp(&other.is_submitted()))
            .then_with(|| one.folder.cmp(&other.folder))
    });
}
