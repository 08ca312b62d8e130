//! The place of a file's content, found before a run and written at its end, and the part that a killed run leaves.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

/// Where the content goes.
#[derive(Debug)]
pub(crate) enum Destination {
    /// A file next to it, which replaces it atomically when complete.
    Replaced(PathBuf),
    /// Directly into a file that is not regular, for example `/dev/stdout` or a pipe.
    Into(fs::File),
    /// After the file's content and an empty line.
    After(fs::File),
}

impl Destination {
    /// Finds the place for a new content. Fails if it cannot be written.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        // If both lead to one file, opening it again would overwrite its beginning.
        #[cfg(unix)]
        {
            use std::os::fd::AsFd;
            let stream = match path.to_str() {
                Some("/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1") => {
                    Some(io::stdout().as_fd().try_clone_to_owned()?)
                }
                Some("/dev/stderr" | "/dev/fd/2" | "/proc/self/fd/2") => {
                    Some(io::stderr().as_fd().try_clone_to_owned()?)
                }
                _ => None,
            };
            if let Some(stream) = stream {
                return Ok(Destination::Into(stream.into()));
            }
        }
        let target = match fs::metadata(path) {
            Ok(there) if there.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            // An open file may be regular; replacing it would lose other output.
            Ok(there) if there.is_file() && (path.starts_with("/dev") || path.starts_with("/proc")) => {
                return Ok(Destination::Into(fs::OpenOptions::new().append(true).open(path)?));
            }
            // Replace a link's target, not the link.
            Ok(there) if there.is_file() => {
                // Replacing a file only needs rights on its folder, so check the file's own.
                fs::OpenOptions::new().append(true).open(path)?;
                fs::canonicalize(path)?
            }
            Ok(_) => return Ok(Destination::Into(fs::OpenOptions::new().write(true).open(path)?)),
            // Keep a link whose target is missing, too.
            Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::read_link(path) {
                Ok(target) => return Self::of(&folder_of(path).join(target)),
                Err(_) => path.to_path_buf(),
            },
            Err(error) => return Err(error),
        };
        // Not kept during the run, so that nothing is left behind however the run ends.
        drop(temporary(&target)?);
        Ok(Destination::Replaced(target))
    }

    /// Finds the place after a file's content. Fails if it cannot be written.
    pub(crate) fn after(path: &Path) -> io::Result<Self> {
        let file = fs::OpenOptions::new().append(true).create(true).open(path);
        file.map(Destination::After)
    }

    /// Writes the content, atomically for a file that is replaced.
    pub(crate) fn write(
        self,
        content: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
    ) -> Result<(), Unwritten> {
        match self {
            Destination::Replaced(target) => {
                let mut file = temporary(&target)?;
                buffered(file.as_file_mut(), content)?;
                file.as_file().sync_all()?;
                put_in_place(file, &target)
            }
            Destination::Into(mut file) => Ok(buffered(&mut file, content)?),
            Destination::After(mut file) => {
                if file.metadata()?.len() > 0 {
                    io::Write::write_all(&mut file, b"\n\n")?;
                }
                Ok(buffered(&mut file, content)?)
            }
        }
    }
}

/// Why content could not be written.
pub(crate) struct Unwritten {
    pub(crate) source: io::Error,
    /// The file that holds the complete content instead, if there is one.
    pub(crate) copy: Option<PathBuf>,
}

impl From<io::Error> for Unwritten {
    fn from(source: io::Error) -> Self {
        Self { source, copy: None }
    }
}

/// Replaces the target with the complete file. If that fails, as with a single file mounted into a container, it copies
/// the content. If that fails too, it keeps the file.
fn put_in_place(file: NamedTempFile, target: &Path) -> Result<(), Unwritten> {
    let Err(unplaced) = file.persist(target) else {
        return Ok(());
    };
    copy(unplaced.file.as_file(), target).map_err(|_| {
        let copy = unplaced.file.keep().ok().map(|(_, path)| path);
        Unwritten {
            source: unplaced.error,
            copy: copy.filter(|path| path.exists()),
        }
    })
}

fn copy(mut content: &fs::File, target: &Path) -> io::Result<()> {
    io::Seek::rewind(&mut content)?;
    let mut there = fs::File::create(target)?;
    io::copy(&mut content, &mut there)?;
    there.sync_all()
}

fn buffered(
    file: &mut fs::File,
    content: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut buffer = io::BufWriter::new(file);
    content(&mut buffer)?;
    io::Write::flush(&mut buffer)
}

fn temporary(target: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".clusterprofile-conformance-");
    create(builder, target)
}

/// Creates a file in the folder of another, with its permissions.
fn create(mut builder: tempfile::Builder<'_, '_>, target: &Path) -> io::Result<NamedTempFile> {
    // Reports are readable by all users that the umask admits.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    // The original error would name a temporary file.
    let file = builder
        .tempfile_in(folder_of(target))
        .map_err(|error| io::Error::from(error.kind()))?;
    if let Ok(there) = fs::metadata(target) {
        // Keep the permissions of the file that is replaced.
        file.as_file().set_permissions(there.permissions())?;
    }
    Ok(file)
}

pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// What the name of a part adds to the file's.
const SUFFIX: &str = ".part";
/// What the name of a part adds while it is written. It is fixed: the next run removes what a killed run leaves.
const UNFINISHED: &str = ".part.tmp";

/// A copy of what a file is to hold, next to it: `FILE.part`. Each write replaces it atomically.
#[derive(Clone, Debug)]
pub struct Part {
    file: PathBuf,
}

impl Part {
    pub(crate) fn of(file: &Path) -> Self {
        Self {
            file: file.to_owned(),
        }
    }

    /// Its path.
    pub fn path(&self) -> PathBuf {
        self.named(SUFFIX)
    }

    /// Replaces the content. May block. If it fails, the earlier content stays.
    pub fn write(&self, content: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> io::Result<()> {
        let unfinished = self.named(UNFINISHED);
        remove(&unfinished)?;
        let name = unfinished.file_name().unwrap_or_default();
        let mut builder = tempfile::Builder::new();
        builder.prefix(name).rand_bytes(0);
        let mut file = create(builder, &self.file)?;
        buffered(file.as_file_mut(), content)?;
        file.as_file().sync_all()?;
        file.persist(self.path()).map_err(|unplaced| unplaced.error)?;
        Ok(())
    }

    /// Gives the part of an earlier run a name that no later run writes to. Returns the name, or `None` if there is no part.
    pub fn set_aside(&self) -> io::Result<Option<PathBuf>> {
        remove(&self.named(UNFINISHED))?;
        if !self.path().try_exists()? {
            return Ok(None);
        }
        let mut names = (1..).map(|number| self.named(&format!("{SUFFIX}.{number}")));
        let free = names.find(|path| !path.exists());
        let free = free.ok_or(io::ErrorKind::AlreadyExists)?;
        fs::rename(self.path(), &free)?;
        Ok(Some(free))
    }

    /// Removes it. A part that cannot be removed only takes room.
    pub(crate) fn remove(&self) {
        for suffix in [SUFFIX, UNFINISHED] {
            let _ = fs::remove_file(self.named(suffix));
        }
    }

    fn named(&self, suffix: &str) -> PathBuf {
        let mut name = OsString::from(&self.file);
        name.push(suffix);
        name.into()
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(part: &Part, content: &str) {
        part.write(|into| into.write_all(content.as_bytes()))
            .expect("written");
    }

    #[test]
    fn failed_write_keeps_the_old_part() {
        let folder = tempfile::tempdir().expect("a folder");
        let part = Part::of(&folder.path().join("evidence.jsonl"));
        write(&part, "first");
        let failed = part.write(|into| {
            into.write_all(b"half")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert_eq!(failed.expect_err("no room").kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read_to_string(part.path()).expect("there"), "first");
        assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 1);
    }

    #[test]
    fn unfinished_part_of_a_killed_run_is_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let part = Part::of(&folder.path().join("evidence.jsonl"));
        fs::write(folder.path().join("evidence.jsonl.part.tmp"), "half").expect("written");
        write(&part, "second");
        assert_eq!(fs::read_to_string(part.path()).expect("there"), "second");
        assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 1);
    }

    #[test]
    fn parts_of_earlier_runs_are_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let part = Part::of(&folder.path().join("evidence.jsonl"));
        assert_eq!(part.set_aside().expect("nothing there"), None);
        for number in 1..=2 {
            write(&part, &number.to_string());
            let aside = part.set_aside().expect("renamed").expect("there was one");
            assert!(aside.ends_with(format!("evidence.jsonl.part.{number}")));
            assert_eq!(fs::read_to_string(aside).expect("there"), number.to_string());
        }
        assert!(!part.path().exists());
    }
}
