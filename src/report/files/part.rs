//! The part of a file that a killed run leaves next to it.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use crate::files::place::{buffered, create};

/// What the names of parts add to the file's.
const SUFFIX: &str = ".part";
/// What is being written, before it replaces the part.
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

    /// The file that it belongs to.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Its path.
    pub fn path(&self) -> PathBuf {
        self.named(SUFFIX)
    }

    /// Replaces the content. May block.
    ///
    /// # Errors
    /// When the system cannot write it; the earlier content stays.
    pub fn write(&self, content: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> io::Result<()> {
        // A fixed name: a run that is killed now leaves one such file, and the next run removes it.
        let unfinished = self.named(UNFINISHED);
        remove(&unfinished)?;
        let name = unfinished.file_name().unwrap_or_default().to_owned();
        let mut builder = tempfile::Builder::new();
        builder.prefix(&name).rand_bytes(0);
        let mut file = create(builder, &self.file)?;
        buffered(file.as_file_mut(), content)?;
        file.as_file().sync_all()?;
        file.persist(self.path()).map_err(|unplaced| unplaced.error)?;
        Ok(())
    }

    /// Gives the part of an earlier run a name that no later run writes to. Returns the name, or `None` if there is no part.
    ///
    /// # Errors
    /// When the system cannot rename it.
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
            let _ = remove(&self.named(suffix));
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
    fn a_part_is_whole_or_as_before() {
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
    fn what_a_killed_run_was_writing_is_in_nobody_s_way() {
        let folder = tempfile::tempdir().expect("a folder");
        let part = Part::of(&folder.path().join("evidence.jsonl"));
        fs::write(folder.path().join("evidence.jsonl.part.tmp"), "half").expect("written");
        write(&part, "second");
        assert_eq!(fs::read_to_string(part.path()).expect("there"), "second");
        assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 1);
    }

    #[test]
    fn no_run_writes_over_what_another_has_left() {
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
