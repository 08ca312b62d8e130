//! A folder of submitted reports: `report.yaml` in folders of its own, with its evidence beside it.

use std::{
    fs::{self, DirEntry},
    path::{Component, Path, PathBuf},
};

use anyhow::{Context, anyhow};
use evidence::Limits;
use report::submitted::{Document, Proof, Unreadable};

use super::read::{held, read};
use crate::command::terminal::exit::Failure;

/// The name of a report in its folder.
const REPORT: &str = "report.yaml";

/// How an evidence file ends.
const EVIDENCE: [&str; 2] = [".jsonl", ".jsonl.zst"];

/// How deep folders may lie in each other: more than `API/IMPLEMENTATION/VERSION` and anybody's own order need.
const DEEPEST: usize = 8;

/// A report with its place.
pub(super) struct Found {
    /// The folder, below the one that was named.
    pub(super) name: String,
    pub(super) document: Document,
    folder: PathBuf,
}

/// What a folder holds, sorted by name.
pub(super) struct Folders {
    pub(super) reports: Vec<Found>,
    pub(super) unreadable: Vec<Unreadable>,
    limits: Limits,
}

/// Reads every report below a folder. Folders that cannot be read, or hold neither a report nor folders, are named.
///
/// # Errors
/// When the folder itself cannot be read, or holds nothing.
pub(super) fn read_all(root: &Path, limits: &Limits) -> Result<Folders, Failure> {
    let mut folders = Folders {
        limits: *limits,
        reports: Vec::new(),
        unreadable: Vec::new(),
    };
    let entries = sorted(root)
        .with_context(|| format!("failed to read the folder {}", root.display()))
        .map_err(Failure::usage)?;
    if !folders.add(root, "", entries, 0) {
        return Err(Failure::usage(anyhow!(
            "there is no report in {}: each has a folder of its own, such as {}",
            root.display(),
            Path::new("IMPLEMENTATION").join("VERSION").join(REPORT).display()
        )));
    }
    Ok(folders)
}

/// What a folder holds; hidden files are not for us.
fn sorted(folder: &Path) -> std::io::Result<Vec<DirEntry>> {
    let mut entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    entries.retain(|entry| !entry.file_name().to_string_lossy().starts_with('.'));
    entries.sort_by_key(DirEntry::file_name);
    Ok(entries)
}

impl Folders {
    /// Adds what a folder holds. Says whether it held anything.
    fn add(&mut self, folder: &Path, name: &str, entries: Vec<DirEntry>, depth: usize) -> bool {
        let mut holds = false;
        for entry in entries {
            let own = entry.file_name();
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if own == REPORT {
                holds = true;
                self.add_report(folder, name, kind.is_file());
            } else if kind.is_dir() {
                holds = true;
                let own = own.to_string_lossy();
                let below = if name.is_empty() {
                    own.into_owned()
                } else {
                    format!("{name}/{own}")
                };
                self.enter(&entry.path(), below, depth + 1);
            }
        }
        holds
    }

    fn add_report(&mut self, folder: &Path, name: &str, is_file: bool) {
        let name = if name.is_empty() { "." } else { name };
        if !is_file {
            // A link could lead anywhere on the machine that reads it.
            self.refuse(
                name.to_owned(),
                format!("{REPORT} is not a regular file: add the file itself"),
            );
            return;
        }
        match read(&folder.join(REPORT), &self.limits) {
            Ok(document) => self.reports.push(Found {
                name: name.to_owned(),
                document,
                folder: folder.to_owned(),
            }),
            Err(failure) => self.refuse(name.to_owned(), cause(&failure)),
        }
    }

    fn enter(&mut self, folder: &Path, name: String, depth: usize) {
        if depth > DEEPEST {
            self.refuse(name, format!("it lies deeper than {DEEPEST} folders: move it up"));
            return;
        }
        match sorted(folder) {
            Ok(entries) => {
                if !self.add(folder, &name, entries, depth) {
                    self.refuse(name, format!("it has no {REPORT}: write one with `run --report`"));
                }
            }
            Err(error) => self.refuse(name, format!("it cannot be read: {error}")),
        }
    }

    fn refuse(&mut self, folder: String, reason: String) {
        self.unreadable.push(Unreadable { folder, reason });
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

impl Found {
    /// Reads the evidence, if it is there.
    pub(super) fn proof(&self, limits: &Limits) -> Proof {
        let path = self.evidence().filter(|_| self.document.evidence.is_some());
        match path.map(|path| held(&path, limits)) {
            None => Proof::Missing,
            Some(Ok(held)) => Proof::Held(Box::new(held)),
            Some(Err(failure)) => Proof::Unreadable(failure.in_one_line()),
        }
    }

    /// The evidence in the folder of the report: the file that the report names, or the first evidence file. The content
    /// identifies it.
    fn evidence(&self) -> Option<PathBuf> {
        let named = self.document.evidence.as_ref().map(|kept| kept.file.clone());
        let named = named.filter(|name| is_plain(name) && self.has(name));
        let name = named.or_else(|| {
            let beside = sorted(&self.folder).unwrap_or_default().into_iter();
            let mut names = beside.map(|entry| entry.file_name().to_string_lossy().into_owned());
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
