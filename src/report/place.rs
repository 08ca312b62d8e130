//! Where a file's content goes: found before a run, written to when it has ended.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

/// Where the content goes.
#[derive(Debug)]
pub(super) enum Place {
    /// Beside the file, which it replaces in one step once it is complete.
    Beside(PathBuf),
    /// Right into what is no regular file, such as `/dev/stdout` or a pipe.
    Into(fs::File),
    /// Behind what the file holds.
    After(fs::File),
}

impl Place {
    /// The place for a file that is to have the content and nothing else. Fails where it cannot be written.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
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
                return Ok(Place::Into(stream.into()));
            }
        }
        let target = match fs::metadata(path) {
            Ok(there) if there.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            // `/dev/stdout` may well be a regular file; replaced, it would lose what else is printed to it.
            Ok(there) if there.is_file() && path.starts_with("/dev") => {
                return Ok(Place::Into(fs::OpenOptions::new().append(true).open(path)?));
            }
            // A link stays one: what it points at is replaced.
            Ok(there) if there.is_file() => {
                // Replacing a file asks only for rights on its folder: one that is protected must stay as it is.
                fs::OpenOptions::new().append(true).open(path)?;
                fs::canonicalize(path)?
            }
            Ok(_) => return Ok(Place::Into(fs::OpenOptions::new().write(true).open(path)?)),
            // A link that leads nowhere yet stays one, too.
            Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::read_link(path) {
                Ok(target) => return Self::of(&folder_of(path).join(target)),
                Err(_) => path.to_path_buf(),
            },
            Err(error) => return Err(error),
        };
        // It is not kept while the run takes its time: whatever ends that, nothing is left beside the reports.
        drop(beside(&target)?);
        Ok(Place::Beside(target))
    }

    /// The place behind what a file holds. Fails where it cannot be written.
    pub(super) fn after(path: &Path) -> io::Result<Self> {
        let file = fs::OpenOptions::new().append(true).create(true).open(path);
        file.map(Place::After)
    }

    /// Writes the content there: all of it, or a file that is replaced stays as it was.
    pub(super) fn write(
        self,
        content: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
    ) -> Result<(), Unwritten> {
        match self {
            Place::Beside(target) => {
                let mut file = beside(&target)?;
                buffered(file.as_file_mut(), content)?;
                file.as_file().sync_all()?;
                put_in_place(file, &target)
            }
            Place::Into(mut file) => Ok(buffered(&mut file, content)?),
            Place::After(mut file) => Ok(behind(&mut file, content)?),
        }
    }
}

/// Why content did not get where it belongs, and where it is instead.
pub(super) struct Unwritten {
    /// What the system says.
    pub(super) source: io::Error,
    /// The file that has the content instead.
    pub(super) kept: Option<PathBuf>,
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

/// A new file in the folder of another one that it is to replace.
fn beside(target: &Path) -> io::Result<NamedTempFile> {
    let folder = folder_of(target);
    let mut builder = tempfile::Builder::new();
    builder.prefix(".clusterprofile-conformance-");
    // Reports are for others to read, as far as the user's umask lets them.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    // Its own error would name a file that the user knows nothing of.
    let file = builder
        .tempfile_in(folder)
        .map_err(|error| io::Error::from(error.kind()))?;
    if let Ok(there) = fs::metadata(target) {
        // Whoever has hidden it from others wants the next one hidden too.
        file.as_file().set_permissions(there.permissions())?;
    }
    Ok(file)
}

/// The folder that a path leads into.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}
