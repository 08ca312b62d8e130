//! Submitted reports: files, and folders with `report.yaml` in folders of its own, next to its evidence.

use std::{
    fs::{self, DirEntry},
    io,
    path::{Component, Path, PathBuf},
};

use anyhow::{Context, anyhow};
use evidence::{Checksum, LimitError, Limits, read_bounded};
use report::submitted::{ConformanceReport, Held, Proof, UnreadableFolder};

use crate::command::{Failure, bail_usage, flags::files::read_untimed, terminal::advice};

const REPORT: &str = "report.yaml";

const EVIDENCE: [&str; 2] = [".jsonl", ".jsonl.zst"];

/// How deep folders may lie in each other: more than `API/IMPLEMENTATION/VERSION` and anybody's own order need.
const DEEPEST: usize = 8;

/// More than any report needs.
const LARGEST: u64 = 64 * 1024 * 1024;

pub(super) struct ReportFolder {
    /// The folder, below the one that was named.
    pub(super) name: String,
    pub(super) document: ConformanceReport,
    folder: PathBuf,
}

/// What a folder holds, sorted by name.
#[derive(Default)]
pub(super) struct Folders {
    pub(super) reports: Vec<ReportFolder>,
    pub(super) unreadable: Vec<UnreadableFolder>,
}

/// Reads every report below a folder. Folders that cannot be read, or hold neither a report nor folders, are named.
pub(super) fn read_all(root: &Path, limits: &Limits) -> Result<Folders, Failure> {
    sorted(root)
        .with_context(|| format!("failed to read the folder {}", root.display()))
        .map_err(Failure::usage)?;
    let mut folders = Folders::default();
    folders.add(root, "", limits);
    if folders.unreadable.iter().any(|one| one.folder.is_empty()) {
        bail_usage!(
            "there is no report in {}: each has a folder of its own, for example {}",
            root.display(),
            Path::new("IMPLEMENTATION").join("VERSION").join(REPORT).display()
        );
    }
    folders.reports.sort_by(|one, other| one.name.cmp(&other.name));
    folders
        .unreadable
        .sort_by(|one, other| one.folder.cmp(&other.folder));
    Ok(folders)
}

/// What a folder holds; hidden files are not for us.
fn sorted(folder: &Path) -> io::Result<Vec<DirEntry>> {
    let mut entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    entries.retain(|entry| !entry.file_name().to_string_lossy().starts_with('.'));
    entries.sort_by_key(DirEntry::file_name);
    Ok(entries)
}

impl Folders {
    /// Adds the reports of a folder and of the folders in it.
    fn add(&mut self, folder: &Path, name: &str, limits: &Limits) {
        if name.split('/').count() > DEEPEST {
            let reason = format!("it lies deeper than {DEEPEST} folders: move it up");
            return self.refuse(name, reason);
        }
        let entries = match sorted(folder) {
            Ok(entries) => entries,
            Err(error) => return self.refuse(name, format!("it cannot be read: {error}")),
        };
        let mut has_any = false;
        for entry in entries {
            let file_name = entry.file_name();
            let Ok(kind) = entry.file_type() else { continue };
            if file_name == REPORT {
                let name = if name.is_empty() { "." } else { name };
                self.add_report(folder, name, kind.is_file(), limits);
            } else if kind.is_dir() {
                self.add(
                    &entry.path(),
                    &Path::new(name).join(file_name).to_string_lossy(),
                    limits,
                );
            } else {
                continue;
            }
            has_any = true;
        }
        if !has_any {
            self.refuse(name, format!("it has no {REPORT}: write one with `run --report`"));
        }
    }

    fn add_report(&mut self, folder: &Path, name: &str, is_file: bool, limits: &Limits) {
        if !is_file {
            // A link could lead anywhere on the machine that reads it.
            let reason = format!("{REPORT} is not a regular file: add the file itself");
            return self.refuse(name, reason);
        }
        match read(&folder.join(REPORT), limits) {
            Ok(document) => self.reports.push(ReportFolder {
                name: name.to_owned(),
                document,
                folder: folder.to_owned(),
            }),
            Err(failure) => self.refuse(name, cause(&failure)),
        }
    }

    fn refuse(&mut self, name: &str, reason: String) {
        let folder = name.to_owned();
        self.unreadable.push(UnreadableFolder { folder, reason });
    }
}

/// Returns why a report cannot be read, without the path on this machine.
fn cause(failure: &Failure) -> String {
    let message = failure.in_one_line();
    match message.split_once(&format!("{REPORT}: ")) {
        Some((_, cause)) => cause.to_owned(),
        None => message,
    }
}

impl ReportFolder {
    /// Reads the evidence, if it is there.
    pub(super) fn proof(&self, limits: &Limits) -> Proof {
        let path = self.evidence().filter(|_| self.document.evidence.is_some());
        match path.map(|path| read_evidence(&path, limits)) {
            None => Proof::Missing,
            Some(Ok(evidence)) => Proof::Held(Box::new(evidence)),
            Some(Err(failure)) => Proof::Unreadable(failure.in_one_line()),
        }
    }

    /// The evidence in the folder of the report: the file that the report names, or the first evidence file. The content
    /// identifies it.
    fn evidence(&self) -> Option<PathBuf> {
        let file = self.document.evidence.as_ref().map(|one| one.file.clone());
        let file = file.filter(|name| is_plain(name) && self.has(name));
        let name = file.or_else(|| {
            let entries = sorted(&self.folder).unwrap_or_default().into_iter();
            let mut names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
            names.find(|name| EVIDENCE.iter().any(|end| name.ends_with(end)) && self.has(name))
        });
        name.map(|name| self.folder.join(name))
    }

    fn has(&self, name: &str) -> bool {
        let there = fs::symlink_metadata(self.folder.join(name));
        there.is_ok_and(|there| there.is_file())
    }
}

/// Whether it is a file's name, and leads to no other folder.
fn is_plain(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) && !name.contains(['/', '\\'])
}

/// Reads a report from a file, within the limits.
pub(super) fn read(path: &Path, limits: &Limits) -> Result<ConformanceReport, Failure> {
    let failed = || format!("failed to read the report {}", path.display());
    let largest = LARGEST.min(limits.whole);
    let bytes = read_bounded(path, largest)
        .map_err(|error| match error.kind() {
            io::ErrorKind::FileTooLarge if largest < LARGEST => {
                let limit = LimitError::Whole(largest);
                anyhow!("{limit}{}", advice::too_large(Some(limit)))
            }
            io::ErrorKind::FileTooLarge => anyhow!("it has more than {LARGEST} bytes: is it the evidence?"),
            _ => error.into(),
        })
        .with_context(failed)
        .map_err(Failure::usage)?;
    let text = String::from_utf8(bytes).map_err(|_| {
        Failure::usage(
            anyhow!("not UTF-8; did you pass the evidence file instead of the report?").context(failed()),
        )
    })?;
    ConformanceReport::parse(&text)
        .with_context(failed)
        .map_err(Failure::usage)
}

/// Reads an evidence file, within the limits.
pub(super) fn read_evidence(path: &Path, limits: &Limits) -> Result<Held, Failure> {
    let sum = Checksum::of_file(path, limits)
        .map_err(|error| {
            let advice = advice::too_large(Checksum::limit(&error));
            anyhow!("{error}{advice}")
        })
        .with_context(|| format!("failed to read the evidence {}", path.display()))
        .map_err(Failure::usage)?
        .ok_or_else(|| {
            Failure::usage(anyhow!(
                "{} is not a file: name the file that `run --record` wrote",
                path.display()
            ))
        })?;
    // The time of a dump is that of the report.
    let input = read_untimed(path, limits).map_err(Failure::usage)?;
    Ok(Held {
        evidence: input.evidence,
        sum,
    })
}
