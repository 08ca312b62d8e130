//! What every subcommand shares at the terminal: how it is called, signals, errors and exit codes.

pub mod advice;
pub mod exit;
pub mod signals;

use std::{
    env,
    ffi::OsStr,
    io::{self, Write},
    path::Path,
    sync::LazyLock,
};

use report::COMMAND;

use self::exit::{Exit, Failure};

/// The widest page, in columns: longer lines are hard to read.
const WIDEST: usize = 120;

/// The narrowest page, in columns.
const NARROWEST: usize = 40;

/// Returns how wide to lay out text on standard output, in columns: as `COLUMNS` says, or as wide as the terminal, which
/// has 80 columns if it does not know. None where a file or a program reads it.
pub fn width() -> Option<usize> {
    let configured = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = console::Term::stdout();
    let terminal = terminal.is_term().then(|| terminal.size().1.into());
    let columns: usize = configured.or(terminal)?;
    Some(columns.clamp(NARROWEST, WIDEST))
}

/// Prints text, without its colours where the output shows none. A closed output is not a failure.
pub fn print(text: &str) -> Result<Exit, Failure> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let error = anyhow::Error::new(error);
            Err(error.context("failed to write to standard output").into())
        }
        _ => Ok(Exit::Success),
    }
}

/// kubectl runs `kubectl x-y` as a program of this prefix, `kubectl-x_y`.
const PLUGIN: &str = "kubectl-";

/// Returns the command as the user types it, so that examples and advice can be copied.
pub fn called() -> &'static str {
    static CALLED: LazyLock<String> = LazyLock::new(|| typed(env::args_os().next().as_deref()));
    &CALLED
}

/// What the user types to run a program of this name.
fn typed(program: Option<&OsStr>) -> String {
    let stem = program
        .map(Path::new)
        .and_then(Path::file_stem)
        .and_then(OsStr::to_str);
    match stem.and_then(|stem| stem.strip_prefix(PLUGIN)) {
        // Dashes separate kubectl's subcommands, so a dash in a plugin's name is an underscore in its file's.
        Some(plugin) => format!("kubectl {}", plugin.replace('-', " ").replace('_', "-")),
        None => COMMAND.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_is_typed_after_kubectl() {
        let krew = "/root/.krew/bin/kubectl-clusterprofile_conformance";
        let plugin = "kubectl clusterprofile-conformance";
        for (program, expected) in [
            ("clusterprofile-conformance", COMMAND),
            ("/usr/bin/clusterprofile-conformance", COMMAND),
            ("renamed", COMMAND),
            ("kubectl", COMMAND),
            (krew, plugin),
            ("kubectl-clusterprofile_conformance.exe", plugin),
            ("kubectl-fleet-judge_all", "kubectl fleet judge-all"),
        ] {
            assert_eq!(typed(Some(OsStr::new(program))), expected, "{program}");
        }
        assert_eq!(typed(None), COMMAND);
    }
}
