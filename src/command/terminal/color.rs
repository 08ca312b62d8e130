//! `--color`.

use clap::{Args, ColorChoice};

/// When to print in colour.
#[derive(Clone, Debug, Args)]
pub struct ColorFlags {
    /// Print in colour; auto follows the terminal, NO_COLOR and CLICOLOR_FORCE
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        value_enum,
        value_name = "WHEN",
        default_value_t = ColorChoice::Auto
    )]
    color: ColorChoice,
}

impl ColorFlags {
    /// Decides for the whole process.
    pub fn apply(&self) {
        match self.color {
            ColorChoice::Auto => anstream::ColorChoice::Auto,
            ColorChoice::Always => anstream::ColorChoice::Always,
            ColorChoice::Never => anstream::ColorChoice::Never,
        }
        .write_global();
    }
}
