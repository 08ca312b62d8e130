//! The files of a run: checked before it starts, written atomically at its end.

use std::{
    collections::BTreeMap,
    env, fs, io,
    path::{Path, PathBuf},
};

use evidence::named_enum;

pub use self::place::Part;
use self::place::{Destination, Unwritten, folder_of};

mod place;

named_enum! {
    /// What a file may hold.
    pub enum FileFormat {
        /// The evidence. It is the first, as the report to submit has its checksum.
        Record = "record",
        /// JUnit, for CI systems.
        Junit = "junit",
        /// One HTML file, for people.
        Html = "html",
        /// Markdown, for pull requests and job summaries.
        Markdown = "markdown",
        /// The decision as a picture.
        Badge = "badge",
        /// JSON, for programs.
        Json = "json",
        /// The report that an implementer submits.
        Report = "report",
    }
}

/// The variable with the path of a GitHub step's summary.
const STEP_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// Checked files, at most one of each format. Dropping them changes nothing.
pub type OutputFiles = BTreeMap<FileFormat, OutputFile>;

/// One file to be written.
#[derive(Debug)]
pub struct OutputFile {
    name: String,
    path: PathBuf,
    place: Destination,
    /// The part that a killed run leaves.
    part: Option<Part>,
}

/// Why a file cannot be written, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct OutputError {
    what: String,
    #[source]
    source: Option<io::Error>,
}

/// Checks before a run that every file can be written. `name` says what the user calls each.
///
/// # Errors
/// When one cannot be written, or two are the same file.
pub fn prepare(
    files: BTreeMap<FileFormat, PathBuf>,
    name: impl Fn(FileFormat) -> String,
) -> Result<OutputFiles, OutputError> {
    let mut outputs = OutputFiles::new();
    for (format, path) in files {
        if let Some((other, _)) = outputs.iter().find(|(_, other)| is_same(&path, &other.path)) {
            let (first, second) = (name(*other), name(format));
            return Err(OutputError {
                what: format!(
                    "{first} and {second} both name {}: give each a file of its own",
                    path.display()
                ),
                source: None,
            });
        }
        // Other commands of a GitHub step write its summary, too.
        let place = if format == FileFormat::Markdown && is_step_summary(&path) {
            Destination::after(&path)
        } else {
            Destination::of(&path)
        };
        outputs.insert(format, OutputFile::at(&name(format), path, place)?);
    }
    Ok(outputs)
}

fn is_step_summary(path: &Path) -> bool {
    env::var_os(STEP_SUMMARY).is_some_and(|summary| is_same(Path::new(&summary), path))
}

impl OutputFile {
    /// Checks that a file can be written. `name` is what the user calls it.
    pub fn open(name: &str, path: PathBuf) -> Result<Self, OutputError> {
        let place = Destination::of(&path);
        Self::at(name, path, place)
    }

    fn at(name: &str, path: PathBuf, place: io::Result<Destination>) -> Result<Self, OutputError> {
        match place {
            Ok(place) => Ok(Self {
                name: name.to_owned(),
                path,
                place,
                part: None,
            }),
            Err(source) => Err(OutputError::of("prepare", name, &path, source.into())),
        }
    }

    /// The path as the user gave it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps a part of the content next to the file until the file is written. Returns `None` if it is not a regular
    /// file, for example a pipe.
    pub fn begin_part(&mut self) -> Option<Part> {
        if let Destination::Replaced(target) = &self.place {
            self.part = Some(Part::of(target));
        }
        self.part.clone()
    }

    /// Writes the content atomically, and removes its part.
    pub fn write(
        self,
        content: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
    ) -> Result<(), OutputError> {
        let result = self.place.write(content);
        result.map_err(|unwritten| OutputError::of("write", &self.name, &self.path, unwritten))?;
        if let Some(part) = self.part {
            part.remove();
        }
        Ok(())
    }
}

impl OutputError {
    fn of(action: &str, name: &str, path: &Path, unwritten: Unwritten) -> Self {
        let advice = match unwritten.copy {
            Some(copy) => format!("its content is in {}", copy.display()),
            None => advice(path, &unwritten.source),
        };
        Self {
            what: format!("failed to {action} {name} {}: {advice}", path.display()),
            source: Some(unwritten.source),
        }
    }
}

/// Whether two paths lead to one regular file, which may not be there yet.
fn is_same(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| {
        fs::canonicalize(path).ok().or_else(|| {
            let folder = fs::canonicalize(folder_of(path)).ok()?;
            Some(folder.join(path.file_name()?))
        })
    };
    // Two outputs can share a file that is not regular, for example /dev/null.
    let is_special = |path: &Path| fs::metadata(path).is_ok_and(|there| !there.is_file());
    match (place(one), place(other)) {
        (Some(one), Some(other)) => one == other && !is_special(&one),
        _ => one == other,
    }
}

fn advice(path: &Path, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound if fs::read_link(path).is_ok() => {
            "it is a link into a missing folder: fix it".to_owned()
        }
        io::ErrorKind::NotFound => format!("create the folder {} first", folder_of(path).display()),
        io::ErrorKind::IsADirectory => "it is a folder: name a file in it".to_owned(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "you may not write there: choose another path".to_owned()
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "check the space left on its disk".to_owned()
        }
        _ => "choose another path".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(path: &Path) -> OutputFile {
        OutputFile::open("the JSON report", path.to_owned()).expect("it can be written")
    }

    fn write(output: OutputFile) -> Result<(), OutputError> {
        output.write(|into| into.write_all(b"content"))
    }

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("a folder")
    }

    #[test]
    fn missing_folder_is_reported() {
        let folder = folder();
        let reports = folder.path().join("reports");
        fs::create_dir(&reports).expect("created");
        let output = output(&reports.join("report.json"));
        fs::remove_dir_all(&reports).expect("removed");
        let error = write(output).expect_err("nowhere to write").to_string();
        assert!(error.starts_with("failed to write the JSON report "), "{error}");
        assert!(error.contains("report.json: create the folder "), "{error}");
    }

    #[test]
    fn no_file_is_created_before_the_end() {
        let folder = folder();
        let output = output(&folder.path().join("report.json"));
        assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 0);
        write(output).expect("written");
        assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 1);
    }

    #[test]
    fn deleted_file_is_written_again() {
        let folder = folder();
        let path = folder.path().join("report.json");
        fs::write(&path, "of yesterday").expect("written");
        let output = output(&path);
        fs::remove_file(&path).expect("removed");
        write(output).expect("written");
        assert_eq!(fs::read_to_string(&path).expect("there"), "content");
    }

    #[test]
    fn content_is_kept_if_the_rename_fails() {
        let folder = folder();
        let path = folder.path().join("report.json");
        let output = output(&path);
        // Nothing replaces a folder that is not empty.
        fs::create_dir_all(path.join("full")).expect("created");
        let error = write(output).expect_err("no place for it").to_string();
        let (_, kept) = error.split_once("its content is in ").expect("where it is");
        assert_eq!(fs::read_to_string(kept).expect("kept"), "content", "{error}");
    }

    #[test]
    #[cfg(unix)]
    fn open_file_is_not_replaced() {
        use std::{io::Write, os::fd::AsRawFd};
        let folder = folder();
        let path = folder.path().join("all.txt");
        let mut open = fs::File::create(&path).expect("created");
        open.write_all(b"other output, ").expect("written");
        let name = format!("/dev/fd/{}", open.as_raw_fd());
        let mut output = output(Path::new(&name));
        assert!(output.begin_part().is_none());
        write(output).expect("written");
        assert_eq!(fs::read_to_string(&path).expect("there"), "other output, content");
    }

    #[test]
    fn failed_write_keeps_the_old_file() {
        let folder = folder();
        let path = folder.path().join("report.json");
        fs::write(&path, "of yesterday").expect("written");
        let failed = output(&path).write(|into| {
            into.write_all(b"half")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        let error = failed.expect_err("no room").to_string();
        assert!(error.contains("check the space left"), "{error}");
        assert_eq!(fs::read_to_string(&path).expect("there"), "of yesterday");
        assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 1);
    }
}
