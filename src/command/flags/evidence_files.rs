//! Reading evidence that is in several files: the shares of one run.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context;
use collect::clock::Clock;
use evidence::{
    Input, InputError, Limits, Shard,
    merge::{Part, merge},
    read_input_bounded,
};

use crate::command::terminal::advice;

/// How the names of evidence files end.
const ENDINGS: [&str; 2] = [".jsonl", ".jsonl.zst"];

/// Lists the files at these paths: a folder that holds evidence files stands for them.
///
/// # Errors
/// When a folder cannot be read.
pub fn files(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        let within = if path.is_dir() { within(path)? } else { Vec::new() };
        if within.is_empty() {
            files.push(path.clone());
        } else {
            files.extend(within);
        }
    }
    Ok(files)
}

/// The evidence files in a folder, by name.
fn within(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let failed = || format!("failed to read the folder {}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(failed)? {
        let entry = entry.with_context(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // A hidden file is one that is being written.
        let is_evidence = !name.starts_with('.') && ENDINGS.iter().any(|ending| name.ends_with(ending));
        if is_evidence {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

/// Reads an evidence file or a dump, or merges the evidence files of several shares. Each is bounded by the limits.
///
/// # Errors
/// When one cannot be read, or they do not belong together.
pub fn read(paths: &[PathBuf], limits: &Limits) -> anyhow::Result<Input> {
    match (paths, files(paths)?.as_slice()) {
        ([path], [file]) if path == file => read_evidence(file, limits),
        (_, files) => merged(files, limits),
    }
}

/// Merges the evidence files of several shares.
///
/// # Errors
/// When one cannot be read, or they do not belong together.
pub fn merged(files: &[PathBuf], limits: &Limits) -> anyhow::Result<Input> {
    let mut notes = Vec::new();
    let mut parts = Vec::new();
    for file in files {
        let input = read_evidence(file, limits)?;
        let name = file.display().to_string();
        notes.extend(input.notes.into_iter().map(|note| format!("{name}: {note}")));
        parts.push(Part {
            name,
            evidence: input.evidence,
        });
    }
    let evidence = merge(parts).context("failed to merge the evidence")?;
    let shares = &evidence.header.shares;
    let count = evidence.merged_from().unwrap_or_default();
    let missing: Vec<String> = (0..count)
        .map(|index| Shard { index, count })
        .filter(|shard| shares.iter().all(|share| share.shard != *shard))
        .map(|shard| shard.to_string())
        .collect();
    if !missing.is_empty() {
        notes.push(format!(
            "shares are missing, so that rules are inconclusive: {}",
            missing.join(", ")
        ));
    }
    Ok(Input { evidence, notes })
}

/// Reads an evidence file or a dump, and names the flags that bring what a dump lacks.
///
/// # Errors
/// When it cannot be read, or holds nothing to judge.
pub fn read_evidence(path: &Path, limits: &Limits) -> anyhow::Result<Input> {
    let mut input = read_untimed(path, limits)?;
    let header = &mut input.evidence.header;
    if header.window.is_none() {
        header.read_at.get_or_insert_with(|| Clock::system().now());
    }
    Ok(input)
}

/// Does the same, but does not take the time of a dump, which does not tell it, for now.
///
/// # Errors
/// When it cannot be read, or holds nothing to judge.
pub fn read_untimed(path: &Path, limits: &Limits) -> anyhow::Result<Input> {
    read_input_bounded(path, &collect::new_digester(), limits).map_err(advised)
}

fn advised(error: InputError) -> anyhow::Error {
    let told = format!("{error}{}", advice::too_large(error.limit()));
    anyhow::Error::new(error).context(told)
}
