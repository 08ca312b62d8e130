//! Printing to standard output, which may be a pipe that its reader has closed.

use std::io::{self, Write};

use super::Failure;

/// Prints text, without its colours where the output shows none.
///
/// # Errors
/// When standard output cannot be written to, unless its reader has closed it.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::could_not_run(
            anyhow::Error::new(error).context("failed to write to standard output"),
        )),
        _ => Ok(()),
    }
}
