//! `--color`: for all that is printed, errors of the command line too.

use std::ffi::OsString;

use anstream::ColorChoice;
use clap::{Args, ValueEnum};

/// The flag, its id and its long form.
const FLAG: &str = "--color";

/// When to print in colour.
#[derive(Clone, Debug, Default, Args)]
pub struct ColorFlags {
    /// Print in colour; auto follows the terminal, NO_COLOR and CLICOLOR_FORCE
    // It is read before the rest: see `choose`.
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t)]
    color: When,
}

/// When to print in colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum When {
    // Without descriptions, which would take half of the help.
    #[default]
    Auto,
    Always,
    Never,
}

/// Decides for the whole process, before the command line is read: its errors are printed in colour too.
pub fn choose(given: &[OsString]) {
    ColorChoice::write_global(match named(given) {
        When::Auto => ColorChoice::Auto,
        When::Always => ColorChoice::Always,
        When::Never => ColorChoice::Never,
    });
}

/// The choice of a command line, which may be wrong in any other way.
fn named(given: &[OsString]) -> When {
    let words: Vec<_> = given.iter().map(|word| word.to_string_lossy()).collect();
    let words = words.split(|word| word == "--").next().unwrap_or_default();
    let value = words.iter().enumerate().rev().find_map(|(place, word)| {
        let rest = word.strip_prefix(FLAG)?;
        if rest.is_empty() {
            words.get(place + 1).map(AsRef::as_ref)
        } else {
            rest.strip_prefix('=')
        }
    });
    value
        .and_then(|value| When::from_str(value, false).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_is_found_wherever_it_stands() {
        for (line, when) in [
            ("suite run", When::Auto),
            ("suite --color always run", When::Always),
            ("suite run --color=never --nonsense", When::Never),
            ("suite run --color", When::Auto),
            ("suite run --color=loud", When::Auto),
            ("suite run -- --color=never", When::Auto),
        ] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert_eq!(named(&words), when, "{line}");
        }
    }
}
