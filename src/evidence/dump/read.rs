//! Reads a dump: a file, or the files of a directory.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    DumpError,
    gather::Gatherer,
    item::Found,
    json,
    text::{self, Text},
    yaml,
};
use crate::{Digester, Input, open::open};

/// Reads an unpacked dump. `name` is for messages and the header: a path, or a description of the reader.
///
/// # Errors
/// When it cannot be read, or holds no readable ClusterProfile.
pub fn read_from(mut reader: impl io::Read, name: &str, digester: &Digester) -> Result<Input, DumpError> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).map_err(|cause| DumpError::Read {
        file: name.to_owned(),
        cause,
    })?;
    let text = text::decode(bytes, name)?;
    if text.is_empty() {
        return Err(DumpError::Empty {
            file: name.to_owned(),
        });
    }
    let mut gatherer = Gatherer::new(digester);
    each_item(&text, name, &mut gatherer);
    gatherer.finish(name)
}

/// Reads the `*.yaml`, `*.yml` and `*.json` of a directory as one dump, in the order of their names. Ignores
/// subdirectories and empty files.
///
/// # Errors
/// When a file cannot be read, or none holds a readable ClusterProfile.
pub fn read_directory(path: &Path, digester: &Digester) -> Result<Input, DumpError> {
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
    for file in files {
        let mut bytes = Vec::new();
        open(&file)
            .and_then(|mut reader| io::Read::read_to_end(&mut reader, &mut bytes))
            .map_err(|cause| unread(&file, cause))?;
        let name = file.display().to_string();
        let text = text::decode(bytes, &name)?;
        each_item(&text, &name, &mut gatherer);
    }
    gatherer.finish(&shown)
}

fn each_item(text: &Text, file: &str, gatherer: &mut Gatherer<'_>) {
    for document in text::documents(text, file) {
        let mut sink = |found: Found<'_>| gatherer.take(found);
        if document.document().trim_start().starts_with(['{', '[']) {
            json::each_item(document, &mut sink);
        } else {
            yaml::each_item(document, &mut sink);
        }
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
