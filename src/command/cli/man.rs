//! `man`: for `man`.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use clap::{Args, Command, ValueHint};
use clap_mangen::Man;

use crate::command::terminal::exit::{Exit, Failure};

/// The head of the first section.
const FIRST_SECTION: &str = ".SH NAME\n";

/// Sets lines ragged and hyphenates no word: flags and commands are there to be copied.
const UNBROKEN: &str = ".nh\n.ad l\n";

/// Write the manual pages into a folder: one for the command, one for each subcommand
#[derive(Debug, Args)]
pub struct ManPages {
    /// The folder, such as ~/.local/share/man/man1; it is made if it is missing
    #[arg(value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    folder: PathBuf,
}

impl ManPages {
    /// Writes the pages for the whole command line.
    ///
    /// # Errors
    /// When the folder or a page cannot be written.
    pub fn execute(self, whole: Command) -> Result<Exit, Failure> {
        let folder = &self.folder;
        write(whole, folder)
            .with_context(|| format!("failed to write manual pages into {}", folder.display()))
            .map_err(Failure::could_not_run)?;
        Ok(Exit::Success)
    }
}

fn write(mut whole: Command, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    // Gives the subcommands their full names.
    whole.build();
    let source = whole.render_version();
    write_page(&whole, source.trim_end(), folder)
}

fn write_page(command: &Command, source: &str, folder: &Path) -> io::Result<()> {
    for subcommand in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        write_page(subcommand, source, folder)?;
    }
    let page = Man::new(command.clone())
        .source(source)
        .manual("ClusterProfile conformance");
    let mut text = Vec::new();
    page.render(&mut text)?;
    let text =
        String::from_utf8_lossy(&text).replacen(FIRST_SECTION, &format!("{UNBROKEN}{FIRST_SECTION}"), 1);
    fs::write(folder.join(page.get_filename()), text)
}
