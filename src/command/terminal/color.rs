//! `--color`.

use anstream::ColorChoice;
use clap::{Args, ValueEnum};

/// When to print in colour.
#[derive(Clone, Debug, Default, Args)]
pub struct ColorFlags {
    /// Print in colour; auto follows the terminal, NO_COLOR and CLICOLOR_FORCE
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        value_enum,
        value_name = "WHEN",
        default_value_t
    )]
    color: When,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum When {
    // Without descriptions, which would take half of the help.
    #[default]
    Auto,
    Always,
    Never,
}

impl ColorFlags {
    /// Decides for the whole process.
    pub fn apply(&self) {
        ColorChoice::write_global(match self.color {
            When::Auto => ColorChoice::Auto,
            When::Always => ColorChoice::Always,
            When::Never => ColorChoice::Never,
        });
    }
}
