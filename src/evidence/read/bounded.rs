//! Reads files up to a bound: a name may lead to something that has no end, such as `/dev/zero`.

use std::{
    fs::{self, File},
    io::{self, ErrorKind, Read},
    path::Path,
};

use crate::read::limits::size;

/// The most bytes of a file that a user writes: a configuration, waivers, a list of members, a driver, a provider file.
pub const LARGEST_TEXT: u64 = 16 << 20;

/// The most bytes of a kubeconfig: one with 10,000 contexts takes half of it.
pub const LARGEST_KUBECONFIG: u64 = 64 << 20;

/// The most bytes of a certificate, a key or a token in a file of its own.
pub const LARGEST_CREDENTIAL: u64 = 1 << 20;

/// Reads a file with at most so many bytes.
///
/// # Errors
/// When the system cannot read it, or it has more; the error says what to do.
pub fn read_bounded(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(most.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(too_large(most));
    }
    Ok(bytes)
}

/// Reads a file of text with at most so many bytes.
///
/// # Errors
/// When the system cannot read it, it has more, or it is no text.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    let bytes = read_bounded(path, most)?;
    let no_text = |_| io::Error::new(ErrorKind::InvalidData, "it is not UTF-8 text: name another file");
    String::from_utf8(bytes).map_err(no_text)
}

/// Checks a file before others read it, who know no bound: it has to be a regular one with at most so many bytes.
///
/// # Errors
/// When it is not.
pub fn check_bounded(path: &Path, most: u64) -> io::Result<()> {
    let metadata = fs::metadata(path)?;
    if metadata.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if !metadata.is_file() {
        let told = "it is not a regular file: copy it into one";
        return Err(io::Error::new(ErrorKind::InvalidInput, told));
    }
    if metadata.len() > most {
        return Err(too_large(most));
    }
    Ok(())
}

fn too_large(most: u64) -> io::Error {
    let told = format!("it has more than {}: is this the right file?", size(most));
    io::Error::new(ErrorKind::FileTooLarge, told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_bound() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        fs::write(&path, "text").expect("a file");
        assert_eq!(read_text(&path, 4).expect("reads"), "text");
        assert!(check_bounded(&path, 4).is_ok());
        let told = "it has more than 3 bytes: is this the right file?";
        assert_eq!(read_text(&path, 3).expect_err("too large").to_string(), told);
        assert_eq!(check_bounded(&path, 3).expect_err("too large").to_string(), told);
        fs::write(&path, [0xff]).expect("a file");
        assert!(read_text(&path, 4).is_err(), "no text");
    }

    #[cfg(unix)]
    #[test]
    fn what_has_no_end_is_refused() {
        let endless = Path::new("/dev/zero");
        let told = "it has more than 1 MiB: is this the right file?";
        assert_eq!(
            read_text(endless, 1 << 20).expect_err("endless").to_string(),
            told
        );
        let told = "it is not a regular file: copy it into one";
        assert_eq!(check_bounded(endless, 1).expect_err("endless").to_string(), told);
    }
}
