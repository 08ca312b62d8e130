//! The files that a run leaves: checked before it starts, complete or untouched when it ends.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

/// What a file may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// The evidence.
    Record,
    /// The JSON report.
    Json,
    /// The JUnit report.
    Junit,
    /// The report in HTML.
    Html,
    /// The report in Markdown.
    Markdown,
    /// The report in SARIF.
    Sarif,
    /// The decision as a picture.
    Badge,
    /// The report that an implementer submits.
    Report,
    /// The same in the shape that the SIG's matrix of implementations is made from.
    Matrix,
}

/// The files that the user asked for; of each form at most one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outputs(pub BTreeMap<Form, PathBuf>);

/// The same, each known to be writable. Drop it, and nothing has changed.
#[derive(Debug, Default)]
pub struct Prepared(pub BTreeMap<Form, Output>);

/// One file to be written.
#[derive(Debug)]
pub struct Output {
    flag: &'static str,
    path: PathBuf,
    sink: Sink,
}

/// Where the content goes until it is complete.
#[derive(Debug)]
enum Sink {
    /// Beside the file, which it then replaces in one step.
    Beside { file: NamedTempFile, target: PathBuf },
    /// Right into what is no regular file, such as `/dev/stdout` or a pipe.
    Into(fs::File),
    /// Behind what the file holds.
    After(fs::File),
}

/// The variable by which a GitHub workflow names the file that a step's summary is gathered in.
const STEP_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// Why a file cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The path does not lead to a place where a file can be.
    #[error("failed to prepare {flag} {}: {advice}", path.display())]
    Unwritable {
        /// The flag that names it.
        flag: &'static str,
        /// The path.
        path: PathBuf,
        /// What to do.
        advice: String,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// Two flags name the same file.
    #[error("{first} and {second} both name {}: give each a file of its own", path.display())]
    Same {
        /// One flag.
        first: &'static str,
        /// The other.
        second: &'static str,
        /// The path.
        path: PathBuf,
    },
    /// Writing failed midway.
    #[error("failed to write {flag} {}: {advice}", path.display())]
    Write {
        /// The flag that names it.
        flag: &'static str,
        /// The path.
        path: PathBuf,
        /// What to do.
        advice: String,
        /// What the system says.
        #[source]
        source: io::Error,
    },
}

impl Outputs {
    /// Makes sure that every file can be written, before a run takes its time.
    pub fn prepare(self) -> Result<Prepared, OutputError> {
        let named: Vec<_> = self.0.iter().map(|(form, path)| (form.flag(), path)).collect();
        for (place, (second, path)) in named.iter().enumerate() {
            for (first, other) in &named[..place] {
                if is_same(path, other) {
                    return Err(OutputError::Same {
                        first,
                        second,
                        path: (*path).clone(),
                    });
                }
            }
        }
        let opened = self
            .0
            .into_iter()
            .map(|(form, path)| Ok((form, Output::open(form.flag(), path)?)));
        opened.collect::<Result<_, _>>().map(Prepared)
    }
}

impl Form {
    /// The flag that asks for it.
    pub fn flag(self) -> &'static str {
        match self {
            Form::Record => "--record",
            Form::Json => "--json",
            Form::Junit => "--junit",
            Form::Html => "--html",
            Form::Markdown => "--markdown",
            Form::Sarif => "--sarif",
            Form::Badge => "--badge",
            Form::Report | Form::Matrix => "--report",
        }
    }
}

impl Output {
    /// Opens the place where the content is to grow; `flag` names it in errors.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn open(flag: &'static str, path: PathBuf) -> Result<Self, OutputError> {
        // What other commands of the step have said in its summary stays.
        let is_summary = flag == Form::Markdown.flag()
            && std::env::var_os(STEP_SUMMARY).is_some_and(|summary| is_same(Path::new(&summary), &path));
        let sink = match is_summary {
            true => fs::OpenOptions::new()
                .append(true)
                .create(true)
                .open(&path)
                .map(Sink::After),
            false => sink(&path),
        };
        match sink {
            Ok(sink) => Ok(Self { flag, path, sink }),
            Err(source) => Err(OutputError::Unwritable {
                flag,
                advice: advice(&path, &source),
                path,
                source,
            }),
        }
    }

    /// The path as the user gave it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the content; the file has all of it, or is as it was before.
    pub fn write(
        self,
        content: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
    ) -> Result<(), OutputError> {
        let Self { flag, path, sink } = self;
        let written = match sink {
            Sink::Beside { mut file, target } => buffered(file.as_file_mut(), content)
                .and_then(|()| file.as_file().sync_all())
                .map_err(Unwritten::from)
                .and_then(|()| put_in_place(file, &target)),
            Sink::Into(mut file) => buffered(&mut file, content).map_err(Unwritten::from),
            Sink::After(mut file) => behind(&mut file, content).map_err(Unwritten::from),
        };
        written.map_err(|Unwritten { source, kept }| OutputError::Write {
            flag,
            advice: match (kept, source.kind()) {
                (Some(kept), _) => format!("what was to be written is in {}", kept.display()),
                (None, io::ErrorKind::NotFound) => "its folder is gone".to_owned(),
                (None, _) => "check the space left on its disk".to_owned(),
            },
            path,
            source,
        })
    }
}

/// Why content did not get where it belongs, and where it is instead.
struct Unwritten {
    source: io::Error,
    kept: Option<PathBuf>,
}

impl From<io::Error> for Unwritten {
    fn from(source: io::Error) -> Self {
        Self { source, kept: None }
    }
}

/// Has the complete file replace its target. Where that cannot be, as with a file that is mounted by itself into a
/// container, its content is copied there. What cannot be put there either is kept where it is.
fn put_in_place(file: NamedTempFile, target: &Path) -> Result<(), Unwritten> {
    let Err(unplaced) = file.persist(target) else {
        return Ok(());
    };
    let copied = io::Seek::rewind(&mut unplaced.file.as_file()).and_then(|()| {
        let mut there = fs::File::create(target)?;
        io::copy(&mut unplaced.file.as_file(), &mut there)?;
        there.sync_all()
    });
    copied.map_err(|_| Unwritten {
        source: unplaced.error,
        kept: unplaced
            .file
            .keep()
            .ok()
            .map(|(_, path)| path)
            .filter(|path| path.exists()),
    })
}

/// Writes behind what a file holds, after an empty line.
fn behind(file: &mut fs::File, content: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> io::Result<()> {
    let is_empty = file.metadata()?.len() == 0;
    buffered(file, |into| {
        if !is_empty {
            into.write_all(b"\n\n")?;
        }
        content(into)
    })
}

fn buffered(
    file: &mut fs::File,
    content: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut buffer = io::BufWriter::new(file);
    content(&mut buffer)?;
    io::Write::flush(&mut buffer)
}

/// Whether two paths lead to one regular file, which may not be there yet.
fn is_same(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| {
        fs::canonicalize(path).ok().or_else(|| {
            let folder = fs::canonicalize(folder_of(path)).ok()?;
            Some(folder.join(path.file_name()?))
        })
    };
    // Of what is no regular file, such as /dev/null, there is enough for both.
    let is_special = |path: &Path| fs::metadata(path).is_ok_and(|there| !there.is_file());
    match (place(one), place(other)) {
        (Some(one), Some(other)) => one == other && !is_special(&one),
        _ => one == other,
    }
}

fn sink(path: &Path) -> io::Result<Sink> {
    // Opened anew, a file that they lead to would be written from its beginning by both.
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        let stream = match path.to_str() {
            Some("/dev/stdout") => Some(io::stdout().as_fd().try_clone_to_owned()?),
            Some("/dev/stderr") => Some(io::stderr().as_fd().try_clone_to_owned()?),
            _ => None,
        };
        if let Some(stream) = stream {
            return Ok(Sink::Into(stream.into()));
        }
    }
    let target = match fs::metadata(path) {
        Ok(there) if there.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        // `/dev/stdout` may well be a regular file; replaced, it would lose what else is printed to it.
        Ok(there) if there.is_file() && path.starts_with("/dev") => {
            return Ok(Sink::Into(fs::OpenOptions::new().append(true).open(path)?));
        }
        // A link stays one: what it points at is replaced.
        Ok(there) if there.is_file() => {
            // Replacing a file asks only for rights on its folder: one that is protected must stay as it is.
            fs::OpenOptions::new().append(true).open(path)?;
            fs::canonicalize(path)?
        }
        Ok(_) => return Ok(Sink::Into(fs::OpenOptions::new().write(true).open(path)?)),
        // A link that leads nowhere yet stays one, too.
        Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::read_link(path) {
            Ok(target) => return sink(&folder_of(path).join(target)),
            Err(_) => path.to_path_buf(),
        },
        Err(error) => return Err(error),
    };
    let folder = folder_of(&target);
    let mut builder = tempfile::Builder::new();
    builder.prefix(".clusterprofile-conformance-");
    // Reports are for others to read, as far as the user's umask lets them.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    // Its own error would name a file that the user knows nothing of.
    let file = builder
        .tempfile_in(folder)
        .map_err(|error| io::Error::from(error.kind()))?;
    if let Ok(there) = fs::metadata(&target) {
        // Whoever has hidden it from others wants the next one hidden too.
        file.as_file().set_permissions(there.permissions())?;
    }
    Ok(Sink::Beside { file, target })
}

/// The folder that a path leads into.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

fn advice(path: &Path, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound if fs::read_link(path).is_ok() => {
            "it is a link that leads into no folder: mend it".to_owned()
        }
        io::ErrorKind::NotFound => format!("create the folder {} first", folder_of(path).display()),
        io::ErrorKind::IsADirectory => "it is a folder: name a file in it".to_owned(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "you may not write there: choose another path".to_owned()
        }
        _ => "choose another path".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(path: &Path) -> Output {
        Output::open(Form::Json.flag(), path.to_owned()).expect("it can be written")
    }

    fn write(output: Output) -> Result<(), OutputError> {
        output.write(|into| into.write_all(b"content"))
    }

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("a folder")
    }

    #[test]
    fn a_folder_that_goes_during_the_run_is_told() {
        let folder = folder();
        let reports = folder.path().join("reports");
        fs::create_dir(&reports).expect("created");
        let output = output(&reports.join("report.json"));
        fs::remove_dir_all(&reports).expect("removed");
        let error = write(output).expect_err("nowhere to write").to_string();
        assert!(
            error.starts_with("failed to write --json ")
                && error.ends_with("report.json: its folder is gone"),
            "{error}"
        );
    }

    #[test]
    fn a_file_that_goes_during_the_run_is_written_anew() {
        let folder = folder();
        let path = folder.path().join("report.json");
        fs::write(&path, "of yesterday").expect("written");
        let output = output(&path);
        fs::remove_file(&path).expect("removed");
        write(output).expect("written");
        assert_eq!(fs::read_to_string(&path).expect("there"), "content");
    }

    #[test]
    fn content_that_cannot_be_put_in_place_is_kept_beside_it() {
        let folder = folder();
        let path = folder.path().join("report.json");
        let output = output(&path);
        // Nothing replaces a folder that is not empty.
        fs::create_dir_all(path.join("full")).expect("created");
        let error = write(output).expect_err("no place for it").to_string();
        let (_, kept) = error
            .split_once("what was to be written is in ")
            .expect("where it is");
        assert_eq!(fs::read_to_string(kept).expect("kept"), "content", "{error}");
    }

    #[test]
    fn what_cannot_be_made_up_leaves_all_as_it_was() {
        let folder = folder();
        let path = folder.path().join("report.json");
        fs::write(&path, "of yesterday").expect("written");
        let failed = output(&path).write(|into| {
            into.write_all(b"half")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert!(
            failed
                .expect_err("no room")
                .to_string()
                .contains("check the space left")
        );
        assert_eq!(fs::read_to_string(&path).expect("there"), "of yesterday");
        assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 1);
    }
}
