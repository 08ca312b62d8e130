//! Finds the files of an audit log.
//!
//! A kube-apiserver writes one file. When that is full it is renamed after the moment, `audit.log` to
//! `audit-2026-11-20T10-11-12.345.log` (UTC), and with `--audit-log-compress` packed into a file of the same name with
//! `.gz` behind it, while the unpacked one stays until that is whole.

use std::{
    collections::HashSet,
    fs, io,
    path::{Path, PathBuf},
};

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};

use super::error::RequestsError;

/// How a rotated file's name tells the moment.
const ROTATED: &str = "%Y-%m-%dT%H-%M-%S%.f";

/// How many bytes that takes, as in `2026-11-20T10-11-12.345`.
const STAMP: usize = 23;

/// The ending of a packed file.
const PACKED: &str = ".gz";

/// A file that may be of an audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LogFile {
    /// Where it is.
    pub(super) path: PathBuf,
    /// Whether the user named it, rather than its folder or the file that it was rotated out of.
    pub(super) is_named: bool,
    /// When the next file was begun, where the name tells.
    pub(super) rotated: Option<Timestamp>,
}

/// What the user's paths stand for, in order and each file once; and what kept files from being found.
pub(super) fn find(paths: &[PathBuf]) -> Result<(Vec<LogFile>, Vec<String>), RequestsError> {
    let (mut files, mut notes) = (Vec::new(), Vec::new());
    for path in paths {
        let unread = |cause| RequestsError::Read {
            path: path.display().to_string(),
            cause,
        };
        if fs::metadata(path).map_err(unread)?.is_dir() {
            let names = names(path).map_err(unread)?;
            files.extend(
                unpacked(names)
                    .into_iter()
                    .map(|name| file(path.join(name), false)),
            );
            continue;
        }
        files.push(file(path.clone(), true));
        match rotated_out_of(path) {
            Ok(siblings) => files.extend(siblings),
            Err(cause) => notes.push(format!(
                "failed to look for the rotated files of the audit log {}: {cause}",
                path.display()
            )),
        }
    }
    // What is named stands before what was found.
    files.sort_by_key(|file| !file.is_named);
    let mut known = HashSet::new();
    files.retain(|file| known.insert(fs::canonicalize(&file.path).unwrap_or_else(|_| file.path.clone())));
    Ok((files, notes))
}

fn file(path: PathBuf, is_named: bool) -> LogFile {
    let name = path.file_name().and_then(|name| name.to_str());
    let rotated = name.and_then(|name| {
        let stem = name.strip_suffix(PACKED).unwrap_or(name);
        let ends = [Some(stem.len()), stem.rfind('.')];
        ends.into_iter().flatten().find_map(|end| {
            let begin = end.checked_sub(STAMP)?;
            moment(stem.get(begin..end)?)
        })
    });
    LogFile {
        path,
        is_named,
        rotated,
    }
}

/// The files that were rotated out of this one.
fn rotated_out_of(path: &Path) -> io::Result<Vec<LogFile>> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Ok(Vec::new());
    };
    let (stem, ending) = name.rfind('.').map_or((name, ""), |dot| name.split_at(dot));
    let is_rotated = |other: &String| {
        let other = other.strip_suffix(PACKED).unwrap_or(other);
        let stamp = other
            .strip_prefix(stem)
            .and_then(|rest| rest.strip_prefix('-'))
            .and_then(|rest| rest.strip_suffix(ending));
        stamp.is_some_and(|stamp| moment(stamp).is_some())
    };
    let here = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let rotated: Vec<String> = names(here)?.into_iter().filter(is_rotated).collect();
    let rotated = unpacked(rotated).into_iter();
    Ok(rotated.map(|name| file(folder.join(name), false)).collect())
}

/// The names of the files in a folder, hidden ones aside.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_file = fs::metadata(entry.path()).is_ok_and(|data| data.is_file());
        if is_file && !name.starts_with('.') {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Leaves out what is just being packed: the unpacked file is whole.
fn unpacked(mut names: Vec<String>) -> Vec<String> {
    let all: HashSet<String> = names.iter().cloned().collect();
    names.retain(|name| name.strip_suffix(PACKED).is_none_or(|plain| !all.contains(plain)));
    names
}

fn moment(stamp: &str) -> Option<Timestamp> {
    let time = DateTime::strptime(ROTATED, stamp).ok()?;
    time.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of the files that a path in a folder with these files stands for, the path's own first.
    fn found(path: &str, files: &[&str]) -> Vec<String> {
        let folder = tempfile::tempdir().expect("a folder");
        for file in files {
            fs::write(folder.path().join(file), "").expect("written");
        }
        fs::create_dir(folder.path().join("audit-2026-11-19T10-11-12.345.log")).expect("made");
        let (files, notes) = find(&[folder.path().join(path)]).expect("found");
        assert_eq!(notes, Vec::<String>::new());
        let name = |file: &LogFile| {
            file.path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
        };
        files.iter().filter_map(name).collect()
    }

    const FOLDER: [&str; 8] = [
        "audit.log",
        "audit-2026-11-20T10-11-12.345.log",
        "audit-2026-11-20T09-11-12.345.log.gz",
        "audit-2026-11-20T08-11-12.345.log",
        "audit-2026-11-20T08-11-12.345.log.gz",
        "audit-policy.log",
        "other-2026-11-20T10-11-12.345.log",
        ".hidden.log",
    ];

    #[test]
    fn rotated_files_belong_to_the_one_that_they_were_rotated_out_of() {
        let expected = [
            "audit.log",
            "audit-2026-11-20T08-11-12.345.log",
            "audit-2026-11-20T09-11-12.345.log.gz",
            "audit-2026-11-20T10-11-12.345.log",
        ];
        assert_eq!(found("audit.log", &FOLDER), expected);
        // One of them stands for itself.
        assert_eq!(found(expected[1], &FOLDER), [expected[1]]);
        assert_eq!(
            found("audit", &["audit", "audit-2026-11-20T10-11-12.345"]),
            ["audit", "audit-2026-11-20T10-11-12.345"]
        );
    }

    #[test]
    fn a_folder_stands_for_all_that_is_seen_in_it() {
        let all = found(".", &FOLDER);
        assert_eq!(all.len(), 6, "{all:?}");
        assert!(!all.contains(&"audit-2026-11-20T08-11-12.345.log.gz".to_owned()));
    }

    #[test]
    fn a_file_counts_once_however_it_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        for file in FOLDER {
            fs::write(folder.path().join(file), "").expect("written");
        }
        let path = |name: &str| folder.path().join(name);
        let given = [
            path("."),
            path("audit.log"),
            path("audit-2026-11-20T10-11-12.345.log"),
        ];
        let (files, _) = find(&given).expect("found");
        assert_eq!(files.len(), 6);
        assert_eq!(files.iter().filter(|file| file.is_named).count(), 2);
        assert!(find(&[path("missing")]).is_err());
    }

    #[test]
    fn a_name_tells_when_the_next_file_was_begun() {
        let told = |name: &str| {
            file(PathBuf::from(name), true)
                .rotated
                .map(|time| time.to_string())
        };
        let time = Some("2026-11-20T10:11:12.345Z".to_owned());
        assert_eq!(told("/x/audit-2026-11-20T10-11-12.345.log"), time);
        assert_eq!(told("audit-2026-11-20T10-11-12.345.log.gz"), time);
        assert_eq!(told("audit-2026-11-20T10-11-12.345"), time);
        for none in [
            "audit.log",
            "audit",
            "a-2026-13-20T10-11-12.345.log",
            "é.log",
            "...",
        ] {
            assert_eq!(told(none), None, "{none}");
        }
    }
}
