//! Reads the scripts in a folder, and the definitions that they use.

use std::{fs, path::Path};

use serde::de::DeserializeOwned;
use serde_json::Value;

/// The files of a folder: name, text, and content. The list of divergences is not among them.
pub fn read_all<T: DeserializeOwned>(folder: &Path) -> Vec<(String, String, T)> {
    let mut scripts: Vec<(String, String, T)> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry of the folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .filter(|path| path.file_stem().is_some_and(|stem| stem != "divergences"))
        .map(|path| {
            let text = fs::read_to_string(&path).expect("a script is readable");
            let options = serde_saphyr::options! { strict_booleans: true };
            let content = serde_saphyr::from_str_with_options(&text, options)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let name = path.file_stem().expect("a script has a name");
            (name.to_string_lossy().into_owned(), text, content)
        })
        .collect();
    scripts.sort_by(|(one, ..), (other, ..)| one.cmp(other));
    scripts
}

/// The CRDs that scripts and controllers use.
pub fn definitions() -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lab/crds");
    let definitions = read_all(&folder).into_iter();
    definitions.map(|(_, _, definition)| definition).collect()
}
