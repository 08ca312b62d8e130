//! The changes that a run must undo: hooks to call, fields to restore, and namespaces with objects that it creates.
//!
//! A run on a user's hub writes them to a file, so that a killed run can be cleaned up: one JSON value a line, so that a
//! truncated line spoils no other. The file holds no credential. The run locks it, and cleaning up skips locked files.

use std::{
    fmt,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use evidence::{DriverAction, LARGEST_KUBECONFIG, ObjectRef, read_text, redact::without_credentials};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

/// The extension of a journal's file; its stem is the run's id.
const EXTENSION: &str = "jsonl";

/// The changes that a run must undo.
#[derive(Debug, Default)]
pub struct Journal {
    pub(super) head: JournalHead,
    /// Its locked file; none if the hub ends with the run.
    file: Option<(PathBuf, File)>,
    /// The changes that are not undone, oldest first.
    pending: Mutex<Vec<UndoEntry>>,
    /// Whether each line of the file was understood.
    is_whole: bool,
}

/// Identifies the run, its hub and its driver file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JournalHead {
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

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "undo")]
pub(crate) enum UndoEntry {
    /// Call a hook for a member or a placement; an empty name is the whole implementation.
    Hook {
        action: DriverAction,
        name: String,
    },
    Field(FieldChange),
    /// Delete the objects with the label of the run in these namespaces.
    Objects {
        namespaces: Vec<String>,
    },
    Namespace {
        name: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FieldChange {
    /// The profile with its uid: another one may take its name.
    pub profile: ObjectRef,
    /// The field (RFC 6901).
    pub pointer: String,
    /// Its value before; none if it was absent.
    pub before: Option<String>,
    /// The value that the run sets; none if it removes the field.
    pub after: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum JournalLine {
    Run(JournalHead),
    Undo(UndoEntry),
    Undone(UndoEntry),
}

impl UndoEntry {
    pub(super) fn hook(action: DriverAction, name: &str) -> Self {
        let name = name.to_owned();
        Self::Hook { action, name }
    }
}

impl fmt::Display for UndoEntry {
    /// What to do, after "failed to".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UndoEntry::Hook { action, name } if name.is_empty() => write!(f, "call the hook `{action}`"),
            UndoEntry::Hook { action, name } => write!(f, "call the hook `{action}` for {name}"),
            UndoEntry::Field(change) => write!(f, "restore {} of {}", change.pointer, change.profile),
            UndoEntry::Objects { namespaces } => {
                write!(f, "delete the objects of the run in {}", namespaces.join(", "))
            }
            UndoEntry::Namespace { name } => write!(f, "delete Namespace {name}"),
        }
    }
}

impl Journal {
    /// Begins the file of a run in that folder, and creates the folder if it is missing.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn begin(folder: &Path, head: JournalHead) -> io::Result<Self> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
        let path = folder.join(&head.run).with_extension(EXTENSION);
        let file = create_private_file(&path)?;
        file.lock()?;
        let head = JournalHead {
            server: without_credentials(&head.server).into_owned(),
            ..head
        };
        write(&file, &JournalLine::Run(head.clone()))?;
        Ok(Self {
            is_whole: true,
            head,
            file: Some((path, file)),
            pending: Mutex::default(),
        })
    }

    /// Finds the journals in that folder of runs that ended without cleaning up, oldest first, and the ids of active
    /// runs. Ignores files that are not journals, and a missing folder.
    pub(super) fn unfinished(folder: &Path) -> io::Result<(Vec<Journal>, Vec<String>)> {
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), Vec::new())),
            entries => entries?,
        };
        let (mut unfinished, mut active) = (Vec::new(), Vec::new());
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_none_or(|extension| extension != EXTENSION) {
                continue;
            }
            let file = OpenOptions::new().append(true).read(true).open(&path)?;
            match file.try_lock() {
                Ok(()) => unfinished.extend(read(path, file)?),
                Err(TryLockError::WouldBlock) => {
                    let run = path.file_stem().unwrap_or_default();
                    active.push(run.to_string_lossy().into_owned());
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        unfinished.sort_by_key(|journal: &Journal| (journal.head.began, journal.head.run.clone()));
        Ok((unfinished, active))
    }

    /// Records how to undo a change before it is made.
    /// If this fails, the change must not be made.
    pub(crate) fn record_undo(&self, entry: UndoEntry) -> io::Result<()> {
        let mut pending = self.pending.lock();
        if let Some((_, file)) = &self.file {
            write(file, &JournalLine::Undo(entry.clone()))?;
        }
        pending.push(entry);
        Ok(())
    }

    pub(crate) fn undone(&self, entry: &UndoEntry) {
        let mut pending = self.pending.lock();
        let before = pending.len();
        pending.retain(|other| other != entry);
        if let Some((_, file)) = self.file.as_ref().filter(|_| pending.len() < before) {
            // If this fails, the change is undone again, which does no harm.
            let _ = write(file, &JournalLine::Undone(entry.clone()));
        }
    }

    pub(super) fn pending(&self) -> Vec<UndoEntry> {
        self.pending.lock().clone()
    }

    pub(crate) fn path(&self) -> Option<&Path> {
        self.file.as_ref().map(|(path, _)| path.as_path())
    }
}

impl Drop for Journal {
    /// Removes the file if everything is undone.
    fn drop(&mut self) {
        let Some((path, file)) = &self.file else {
            return;
        };
        if self.pending.lock().is_empty() && self.is_whole {
            let _ = fs::remove_file(path);
        }
        // A program that is just being started shares the file and its lock briefly.
        let _ = file.unlock();
    }
}

fn read(path: PathBuf, file: File) -> io::Result<Option<Journal>> {
    let text = read_text(&path, LARGEST_KUBECONFIG)?;
    let mut lines = text.lines().map(serde_json::from_str::<JournalLine>).peekable();
    let Some(Ok(JournalLine::Run(head))) = lines.next() else {
        return Ok(None);
    };
    let (mut pending, mut is_whole) = (Vec::new(), true);
    while let Some(line) = lines.next() {
        match line {
            Ok(JournalLine::Run(_)) => {}
            Ok(JournalLine::Undo(entry)) => pending.push(entry),
            Ok(JournalLine::Undone(entry)) => pending.retain(|other| *other != entry),
            // A killed run may leave half a line at the end: that change was never made.
            Err(_) => is_whole &= lines.peek().is_none(),
        }
    }
    Ok(Some(Journal {
        is_whole,
        head,
        file: Some((path, file)),
        pending: Mutex::new(pending),
    }))
}

fn write(mut file: &File, line: &JournalLine) -> io::Result<()> {
    file.write_all(format!("{}\n", serde_json::to_string(line)?).as_bytes())?;
    file.sync_data()
}

/// Replaces a file, atomically, with one that only this user may read.
///
/// # Errors
/// When it cannot be written.
pub fn replace_private_file(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let mut file = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(text.as_bytes())?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// Creates a file that only this user may read.
pub(super) fn create_private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(run: &str) -> JournalHead {
        JournalHead {
            run: run.to_owned(),
            server: "https://u:CANARY@hub.example".to_owned(),
            hub: "context hub".to_owned(),
            driver_file: PathBuf::from("/driver.yaml"),
            began: Timestamp::UNIX_EPOCH,
        }
    }

    fn leave(name: &str) -> UndoEntry {
        UndoEntry::Hook {
            action: DriverAction::Leave,
            name: name.to_owned(),
        }
    }

    #[test]
    fn pending_entries_of_a_killed_run_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().join("state").join("runs");
        assert!(Journal::unfinished(&folder).expect("no error").0.is_empty());
        let journal = Journal::begin(&folder, head("b")).expect("a journal");
        journal.record_undo(leave("one")).expect("written");
        journal.record_undo(leave("two")).expect("written");
        journal.undone(&leave("one"));
        let (unfinished, active) = Journal::unfinished(&folder).expect("no error");
        assert!(unfinished.is_empty());
        assert_eq!(active, ["b"]);

        drop(journal);
        // The run was killed while it wrote.
        let path = folder.join("b.jsonl");
        let mut file = OpenOptions::new().append(true).open(&path).expect("a file");
        file.write_all(b"{\"undo\":{\"undo\":\"ho").expect("written");
        let text = fs::read_to_string(path).expect("text");
        assert!(!text.contains("CANARY"), "{text}");

        let (mut unfinished, _) = Journal::unfinished(&folder).expect("no error");
        let journal = unfinished.pop().expect("a journal");
        assert_eq!(journal.head.driver_file, PathBuf::from("/driver.yaml"));
        assert_eq!(journal.pending(), [leave("two")]);
        journal.undone(&leave("two"));
        drop(journal);
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn only_the_user_may_read_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let _journal = Journal::begin(folder.path(), head("a")).expect("a journal");
        let metadata = fs::metadata(folder.path().join("a.jsonl")).expect("a file");
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    }
}
