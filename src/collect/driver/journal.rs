//! Write-ahead log of changes to undo, so that a killed run can be cleaned up.
//!
//! One file for each run, one JSON value a line, so that a truncated line spoils no other. It holds no credential. The
//! run locks the file, and cleaning up skips locked files: their runs are still going on.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use evidence::{DriverAction, LARGEST_KUBECONFIG, ObjectKey, read_text, redact::without_credentials};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::private_file;

/// The extension of a journal's file; its stem is the run's id.
const EXTENSION: &str = "jsonl";

/// The write-ahead log of a run that is going on.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: File,
    next: u64,
    pending: BTreeMap<u64, UndoEntry>,
}

/// The write-ahead log of a killed run.
#[derive(Debug)]
pub(super) struct Found {
    pub path: PathBuf,
    pub head: Head,
    /// Changes to undo, oldest first.
    pub pending: Vec<(u64, UndoEntry)>,
    /// Holds the lock.
    file: File,
}

/// Identifies the run, its hub and its driver file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Head {
    /// The run's id.
    pub run: String,
    /// When it began.
    pub began: Timestamp,
    /// The address of the hub.
    pub server: String,
    /// The hub, for people.
    pub hub: String,
    /// The driver file.
    pub driver_file: PathBuf,
}

/// A change to undo.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "undo")]
pub(crate) enum UndoEntry {
    /// A member joined: make it leave.
    Member { name: String },
    /// A member was broken: heal it.
    Outage { name: String },
    /// The implementation was cut off from where its members come from: connect it again.
    Disconnection,
    /// A profile was created: delete it.
    Profile { profile: ObjectKey },
    /// A slice was created: delete it.
    Slice { slice: ObjectKey },
    /// A testbed publishes objects in these namespaces: delete those with the label of the run.
    Testbed { namespaces: Vec<String> },
    /// A namespace was created: delete it.
    Namespace { name: String },
    /// A scheduler was asked for clusters: take that back.
    Placement { name: String },
    /// A field of a profile was changed: restore it.
    Field(FieldUndo),
}

impl UndoEntry {
    /// The action that undoes it, if it is a step of its own in a scenario.
    pub(super) fn undone_by(&self) -> Option<DriverAction> {
        match self {
            UndoEntry::Outage { .. } => Some(DriverAction::Heal),
            UndoEntry::Disconnection => Some(DriverAction::Reconnect),
            _ => None,
        }
    }
}

/// A changed field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FieldUndo {
    pub profile: ObjectKey,
    /// The uid of the profile: another one may take its name.
    pub uid: String,
    /// Whether it belongs to `/status`.
    pub status: bool,
    /// Where it is (RFC 6901).
    pub pointer: String,
    /// Its value before; none where there was none.
    pub before: Option<String>,
    /// The value that the run gives it; none where it removes it.
    pub after: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Line {
    Run(Head),
    #[serde(rename = "debt")]
    Undo(u64, UndoEntry),
    Undone(u64),
}

impl Journal {
    /// Begins the journal of a run in that folder, and creates the folder if it is missing.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn begin(folder: &Path, head: Head) -> io::Result<Self> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
        let path = folder.join(&head.run).with_extension(EXTENSION);
        let file = private_file::create(&path)?;
        file.lock()?;
        let head = Head {
            server: without_credentials(&head.server).into_owned(),
            ..head
        };
        write(&file, &Line::Run(head))?;
        Ok(Self {
            path,
            state: Mutex::new(State {
                file,
                next: 0,
                pending: BTreeMap::new(),
            }),
        })
    }

    /// Records a change before it is made, and returns its number.
    ///
    /// # Errors
    /// When it cannot be written: the change must not be made then.
    pub(crate) fn record_undo(&self, undo: UndoEntry) -> io::Result<u64> {
        let mut state = self.state.lock();
        let number = state.next;
        write(&state.file, &Line::Undo(number, undo.clone()))?;
        state.next += 1;
        state.pending.insert(number, undo);
        Ok(number)
    }

    /// Notes that the change is undone.
    pub(crate) fn undone(&self, number: u64) {
        let mut state = self.state.lock();
        state.pending.remove(&number);
        // If this fails, the change is undone once more, which does no harm.
        let _ = write(&state.file, &Line::Undone(number));
    }

    /// The path of its file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Journal {
    /// Removes the file if everything is undone.
    fn drop(&mut self) {
        let state = self.state.lock();
        if state.pending.is_empty() {
            let _ = fs::remove_file(&self.path);
        }
        // A program that is just being started shares the file and its lock for a moment.
        let _ = state.file.unlock();
    }
}

impl Drop for Found {
    /// Unlocks the file, for the same reason.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

impl Found {
    /// Finds the journals in that folder of runs that ended without cleaning up, and the ids of runs that are still
    /// going on. Ignores files that are not journals, and a missing folder.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn all(folder: &Path) -> io::Result<(Vec<Found>, Vec<String>)> {
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), Vec::new())),
            entries => entries?,
        };
        let (mut found, mut going_on) = (Vec::new(), Vec::new());
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_none_or(|extension| extension != EXTENSION) {
                continue;
            }
            let file = OpenOptions::new().append(true).read(true).open(&path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let run = path.file_stem().unwrap_or_default();
                    going_on.push(run.to_string_lossy().into_owned());
                    continue;
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
            found.extend(read(path, file)?);
        }
        found.sort_by(|one, other| (one.head.began, &one.head.run).cmp(&(other.head.began, &other.head.run)));
        Ok((found, going_on))
    }

    /// Notes that the change is undone.
    pub fn undone(&mut self, number: u64) {
        self.pending.retain(|(pending, _)| *pending != number);
        let _ = write(&self.file, &Line::Undone(number));
    }

    /// Removes the journal when everything is undone.
    pub fn end(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

fn read(path: PathBuf, file: File) -> io::Result<Option<Found>> {
    let text = read_text(&path, LARGEST_KUBECONFIG)?;
    let mut lines = text.lines().map(serde_json::from_str::<Line>);
    let Some(Ok(Line::Run(head))) = lines.next() else {
        return Ok(None);
    };
    let mut pending = BTreeMap::new();
    for line in lines.map_while(Result::ok) {
        match line {
            Line::Run(_) => {}
            Line::Undo(number, undo) => {
                pending.insert(number, undo);
            }
            Line::Undone(number) => {
                pending.remove(&number);
            }
        }
    }
    Ok(Some(Found {
        path,
        head,
        pending: pending.into_iter().collect(),
        file,
    }))
}

fn write(mut file: &File, line: &Line) -> io::Result<()> {
    let value: Value = serde_json::to_value(line)?;
    file.write_all(format!("{value}\n").as_bytes())?;
    file.sync_data()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(run: &str) -> Head {
        Head {
            run: run.to_owned(),
            server: "https://u:CANARY@hub.example".to_owned(),
            hub: "context hub".to_owned(),
            driver_file: PathBuf::from("/driver.yaml"),
            began: Timestamp::UNIX_EPOCH,
        }
    }

    fn member(name: &str) -> UndoEntry {
        UndoEntry::Member {
            name: name.to_owned(),
        }
    }

    #[test]
    fn what_was_not_undone_is_found_by_the_next() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().join("state").join("runs");
        assert!(Found::all(&folder).expect("no error").0.is_empty());
        let journal = Journal::begin(&folder, head("b")).expect("a journal");
        let one = journal.record_undo(member("one")).expect("written");
        journal.record_undo(member("two")).expect("written");
        journal.undone(one);
        let (found, going_on) = Found::all(&folder).expect("no error");
        assert!(found.is_empty());
        assert_eq!(going_on, ["b"]);

        drop(journal);
        // The run was killed while it wrote.
        let mut file = OpenOptions::new()
            .append(true)
            .open(folder.join("b.jsonl"))
            .expect("there");
        file.write_all(b"{\"debt\":[2,{\"undo\":\"mem").expect("written");
        let text = fs::read_to_string(folder.join("b.jsonl")).expect("text");
        assert!(!text.contains("CANARY"), "{text}");

        let (mut found, _) = Found::all(&folder).expect("no error");
        assert_eq!(found.len(), 1);
        let mut found = found.remove(0);
        assert_eq!(found.head.driver_file, PathBuf::from("/driver.yaml"));
        assert_eq!(found.pending, [(1, member("two"))]);
        found.undone(1);
        found.end().expect("removed");
        assert!(Found::all(&folder).expect("no error").0.is_empty());
    }

    #[test]
    fn a_clean_end_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let journal = Journal::begin(folder.path(), head("a")).expect("a journal");
        let one = journal.record_undo(member("one")).expect("written");
        journal.undone(one);
        drop(journal);
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_may_read_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let _journal = Journal::begin(folder.path(), head("a")).expect("a journal");
        let metadata = fs::metadata(folder.path().join("a.jsonl")).expect("there");
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    }
}
