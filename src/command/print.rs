//! Printing to standard output, which may be a pipe whose reader has read enough.

use std::io::{self, Write};

use super::Failure;

/// Prints text whose colours go where they are not seen.
///
/// # Errors
/// When standard output cannot be written to, other than for its reader having left.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::could_not_run(
            anyhow::Error::new(error).context("failed to write to standard output"),
        )),
        _ => Ok(()),
    }
}
