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
}

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
    #[error("failed to write {}: check the space left on its disk", path.display())]
    Write {
        /// The path.
        path: PathBuf,
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
        }
    }
}

impl Output {
    /// Opens the place where the content is to grow.
    fn open(flag: &'static str, path: PathBuf) -> Result<Self, OutputError> {
        match sink(&path) {
            Ok(sink) => Ok(Self { path, sink }),
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
        let path = self.path;
        let written = match self.sink {
            Sink::Beside { mut file, target } => buffered(file.as_file_mut(), content)
                .and_then(|()| file.as_file().sync_all())
                .and_then(|()| file.persist(&target).map(drop).map_err(|error| error.error)),
            Sink::Into(mut file) => buffered(&mut file, content),
        };
        written.map_err(|source| OutputError::Write { path, source })
    }
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
            let folder = path.parent().filter(|folder| *folder != Path::new(""));
            let folder = fs::canonicalize(folder.unwrap_or(Path::new("."))).ok()?;
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
        Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_path_buf(),
        Err(error) => return Err(error),
    };
    let folder = match target.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
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

fn advice(path: &Path, error: &io::Error) -> String {
    let folder = path
        .parent()
        .filter(|folder| *folder != Path::new(""))
        .unwrap_or(Path::new("."));
    match error.kind() {
        io::ErrorKind::NotFound => format!("create the folder {} first", folder.display()),
        io::ErrorKind::IsADirectory => "it is a folder: name a file in it".to_owned(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "you may not write there: choose another path".to_owned()
        }
        _ => "choose another path".to_owned(),
    }
}
