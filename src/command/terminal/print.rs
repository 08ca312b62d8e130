//! Printing to standard output, which may be a pipe that its reader has closed.

use std::{
    env,
    io::{self, Write},
};

use super::exit::Failure;

/// The widest page, in columns: longer lines are hard to read.
const WIDEST: usize = 120;

/// The narrowest page, in columns.
const NARROWEST: usize = 40;

/// Returns how wide to lay out text on standard output, in columns: as wide as the terminal, or as `COLUMNS` says. None
/// where a file or a program reads it.
pub fn width() -> Option<usize> {
    let configured = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || {
        let (_, columns) = console::Term::stdout().size_checked()?;
        Some(columns.into())
    };
    let columns: usize = configured.or_else(terminal)?;
    Some(columns.clamp(NARROWEST, WIDEST))
}

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
