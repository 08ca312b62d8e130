//! Files that only this user may read: they hold credentials, or what undoes a run.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write as _},
    path::Path,
};

use tempfile::NamedTempFile;

/// Writes a file at once, in the place of one that may be there: who waits for it finds it whole.
///
/// # Errors
/// When it cannot be written.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let mut file = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(text.as_bytes())?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// Creates a file that is not there yet.
///
/// # Errors
/// When there is one already, or it cannot be written.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
