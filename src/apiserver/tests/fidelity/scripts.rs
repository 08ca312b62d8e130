//! Finds scripts in a folder. The list of divergences lies beside them.

use std::{
    fs::read_dir,
    path::{Path, PathBuf},
};

/// The scripts of `folder`, sorted by name.
pub fn of(folder: &Path) -> Vec<PathBuf> {
    let mut scripts: Vec<PathBuf> = read_dir(folder)
        .expect("the scripts' folder")
        .map(|entry| entry.expect("an entry of the scripts' folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .filter(|path| path.file_stem().is_some_and(|stem| stem != "divergences"))
        .collect();
    scripts.sort();
    scripts
}
