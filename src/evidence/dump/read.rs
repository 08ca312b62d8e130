//! Reads a dump: a file, or the files of a directory.

use std::{
    fs, io,
    ops::ControlFlow,
    panic,
    path::{Path, PathBuf},
    sync::mpsc::sync_channel,
    thread,
};

use super::{
    DumpError,
    cut::{Batch, Cutter},
    gather::Gatherer,
    take::Taker,
};
use crate::{Digester, Input, LimitError, Limits, read::open::open};

/// How many batches may wait to be read.
const WAITING: usize = 4;

/// Reads an unpacked dump, within the usual limits. `name` is for messages and the header: a path, or a description of
/// the reader.
///
/// # Errors
/// When it cannot be read, exceeds a limit, or holds no readable ClusterProfile.
pub fn read_from(reader: impl io::Read + Send, name: &str, digester: &Digester) -> Result<Input, DumpError> {
    read_bounded(reader, name, digester, &Limits::default())
}

/// Does the same within those limits. The reader bounds the whole and the ratio.
pub(crate) fn read_bounded(
    reader: impl io::Read + Send,
    name: &str,
    digester: &Digester,
    limits: &Limits,
) -> Result<Input, DumpError> {
    let mut gatherer = Gatherer::new(digester);
    let mut cutter = Cutter::new(reader, name, *limits)?;
    read_file(&mut cutter, name, limits, &mut gatherer)?;
    if cutter.is_blank() {
        return Err(DumpError::Empty {
            file: name.to_owned(),
        });
    }
    gatherer.finish(name)
}

/// Reads the `*.yaml`, `*.yml` and `*.json` of a directory as one dump, in the order of their names. Ignores
/// subdirectories and empty files.
///
/// # Errors
/// When a file cannot be read, they exceed a limit together, or none holds a readable ClusterProfile.
pub fn read_directory(path: &Path, digester: &Digester, limits: &Limits) -> Result<Input, DumpError> {
    let shown = path.display().to_string();
    let unread = |file: &Path, cause| DumpError::Read {
        file: file.display().to_string(),
        cause,
    };
    let files = files(path).map_err(|cause| unread(path, cause))?;
    if files.is_empty() {
        return Err(DumpError::EmptyDirectory { path: shown });
    }
    let mut gatherer = Gatherer::new(digester);
    let mut left = *limits;
    for file in files {
        let name = file.display().to_string();
        let reader = open(&file, &left).map_err(|cause| unread(&file, cause))?;
        let size = read_next(reader, &name, limits, &mut gatherer).map_err(|error| match error {
            // Of the limit, the files before this one have had their part.
            DumpError::TooLarge {
                file,
                line,
                limit: LimitError::Whole(_),
            } => DumpError::TooLarge {
                file,
                line,
                limit: LimitError::Whole(limits.whole),
            },
            other => other,
        })?;
        left.whole = left.whole.saturating_sub(size);
    }
    gatherer.finish(&shown)
}

/// Reads a file of a directory. Returns its size.
fn read_next(
    reader: impl io::Read + Send,
    name: &str,
    limits: &Limits,
    gatherer: &mut Gatherer<'_>,
) -> Result<u64, DumpError> {
    let mut cutter = Cutter::new(reader, name, *limits)?;
    read_file(&mut cutter, name, limits, gatherer)?;
    Ok(cutter.size())
}

/// Reads a file. A large one is read and cut on a thread of its own, while its objects are read on this one.
fn read_file(
    cutter: &mut Cutter<'_, impl io::Read + Send>,
    name: &str,
    limits: &Limits,
    gatherer: &mut Gatherer<'_>,
) -> Result<(), DumpError> {
    let mut taker = Taker::new(name, *limits, gatherer);
    if !cutter.is_read()
        && let Some(read) = read_beside(cutter, &mut taker)
    {
        return read;
    }
    let mut taken = Ok(());
    let cut = cutter.cut(&mut |batch| {
        taken = taker.take(batch);
        flow(taken.is_ok())
    });
    taken.and(cut)
}

/// Returns `None` if the system has no thread to spare.
fn read_beside(
    cutter: &mut Cutter<'_, impl io::Read + Send>,
    taker: &mut Taker<'_, '_>,
) -> Option<Result<(), DumpError>> {
    let (sender, receiver) = sync_channel::<Batch>(WAITING);
    thread::scope(|scope| {
        let cutting = thread::Builder::new().spawn_scoped(scope, move || {
            cutter.cut(&mut |batch| flow(sender.send(batch).is_ok()))
        });
        let cutting = cutting.ok()?;
        let taken = receiver.iter().try_for_each(|batch| taker.take(batch));
        // It may be waiting for room.
        drop(receiver);
        let cut = cutting.join().unwrap_or_else(|cause| panic::resume_unwind(cause));
        Some(taken.and(cut))
    })
}

fn flow(goes_on: bool) -> ControlFlow<()> {
    if goes_on {
        ControlFlow::Continue(())
    } else {
        ControlFlow::Break(())
    }
}

fn files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let fits = path.extension().and_then(|extension| extension.to_str());
        if matches!(fits, Some("yaml" | "yml" | "json")) && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
