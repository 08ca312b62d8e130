//! Files that only this user may read: they hold credentials, or what undoes a run.

use std::{
    fs::{File, OpenOptions},
    io,
    path::Path,
};

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
