//! `report sign`: vouch for a report with a key.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use report::{
    Output, escape,
    signed::{Envelope, Statement},
};

use super::{keys, read::read_file, signature};
use crate::command::{
    flags::input::InputFlags,
    terminal::{
        exit::{Exit, Failure},
        print::print,
    },
};

/// Sign a report and its evidence, to vouch for them
///
/// Writes an in-toto Statement with their SHA-256 and the verdicts, in a DSSE envelope that `report verify --key` and
/// cosign verify.
#[derive(Debug, Args)]
#[command(
    after_help = "A password of the key comes from COSIGN_PASSWORD, or is asked for on the terminal.\n\nExit codes: 0 signed, 2 a \
                        file or the key cannot be used, 4 the signature cannot be written."
)]
pub struct Sign {
    /// The report, as `run --report` wrote it
    report: PathBuf,
    /// The private key: `cosign.key`, minisign's, or an ECDSA P-256 or Ed25519 key in PEM (PKCS#8)
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// Sign this evidence too, as `run --record` wrote it. Repeat it for several files
    #[arg(long, value_name = "FILE")]
    evidence: Vec<PathBuf>,
    /// The file to write; by default the report's name with `.intoto.json` at its end
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    input: InputFlags,
}

impl Sign {
    /// Signs.
    ///
    /// # Errors
    /// When a file cannot be used, or the report contradicts itself.
    pub fn execute(self) -> Result<Exit, Failure> {
        let limits = self.input.limits();
        let (document, report) = read_file(&self.report, &limits)?;
        let mut files = vec![report];
        files.extend(signature::subjects(&self.evidence, &limits)?);
        let names: Vec<String> = files
            .iter()
            .map(|file| escape::line(&file.name).into_owned())
            .collect();
        let statement = Statement::of(&document, files)
            .with_context(|| format!("the report {} contradicts itself", self.report.display()))
            .map_err(Failure::usage)?;
        let output = self.output.unwrap_or_else(|| signature::beside(&self.report));
        let output = Output::open("--output", output).map_err(Failure::usage)?;
        // Asks for the password, so it comes last.
        let key = keys::private(&self.key)?;
        let envelope = Envelope::sign(&statement, &key).map_err(Failure::could_not_run)?;
        let path = escape::line(&output.path().display().to_string()).into_owned();
        let written = output.write(|into| into.write_all(envelope.as_bytes()));
        written.map_err(Failure::could_not_run)?;
        print(&format!(
            "{path} signs {} with the key {}\n",
            names.join(", "),
            key.public().id()
        ))?;
        Ok(Exit::Success)
    }
}
