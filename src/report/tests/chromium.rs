//! Finds a browser.

use std::{env, path::PathBuf};

/// The browser, where there is one.
pub fn installed() -> Option<PathBuf> {
    if let Some(given) = env::var_os("CHROME") {
        return Some(given.into());
    }
    let folders: Vec<PathBuf> = env::split_paths(&env::var_os("PATH")?).collect();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let mut places = names
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    places.find(|place| place.is_file())
}
