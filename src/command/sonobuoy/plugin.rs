//! The plugin's contract: results in a folder, and its path in the file `done`, whatever happens.

use std::{
    env,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, anyhow};
use clap::{Args, Command};
use report::escape;

use super::{
    relay::{Relay, Update},
    results::{Item, Judged},
};
use crate::command::terminal::exit::{Exit, Failure};

/// Where Sonobuoy expects results. The file `done` in it ends the plugin.
const RESULTS: &str = "SONOBUOY_RESULTS_DIR";
/// Where Sonobuoy mounts the files of the plugin's `config-map`.
const CONFIG: &str = "SONOBUOY_CONFIG_DIR";
/// The file that holds the results: Sonobuoy's own name, and the `result-files` of the plugin.
const RESULT_FILE: &str = "sonobuoy_results.yaml";
const JSON_REPORT: &str = "report.json";

const EXAMPLES: &str = "\
Examples:
  As the command of a plugin (ci/sonobuoy/plugin.yaml):
    clusterprofile-conformance sonobuoy --observe 10m
  With a configuration file, as conformance.yaml in the plugin's config-map:
    clusterprofile-conformance sonobuoy";

/// Run as a plugin of Sonobuoy: the same as `run`, with results for `sonobuoy results`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Sonobuoy {
    /// Arguments of `run`, such as --observe 10m
    #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

impl Sonobuoy {
    /// Judges by way of `again`, which carries out a command line, and hands the results to Sonobuoy. The exit code is 0 once that is done: the results say what was found.
    ///
    /// # Errors
    /// When this is no plugin, or its results cannot be written.
    pub fn execute(
        self,
        whole: &Command,
        again: fn(&[OsString]) -> Result<Exit, Failure>,
    ) -> Result<Exit, Failure> {
        let folder = env::var_os(RESULTS).ok_or_else(|| {
            Failure::usage(anyhow!(
                "${RESULTS} is not set: Sonobuoy sets it for its plugins; elsewhere, use `run`"
            ))
        })?;
        let folder = PathBuf::from(folder);
        // Several files are handed over as a folder, without what Sonobuoy itself keeps beside them.
        let results = folder.join(env!("CARGO_PKG_NAME"));
        fs::create_dir_all(&results)
            .with_context(|| format!("failed to create the folder {}", results.display()))
            .map_err(Failure::could_not_run)?;
        let done = Done {
            file: folder.join("done"),
            results: results.clone(),
        };
        // A restarted container must not take the report of an earlier one for its own.
        let report = results.join(JSON_REPORT);
        if report.exists() {
            fs::remove_file(&report)
                .with_context(|| format!("failed to remove {}", report.display()))
                .map_err(Failure::could_not_run)?;
        }
        // In case the run does not come back.
        write(&results, &Item::of_failure("the run ended unexpectedly"))?;
        let outcome = run(&self.arguments, &results, whole, again);
        let judged = Judged::read(&report);
        let item = match &outcome {
            Ok(_) => Item::of_run(&judged.map_err(Failure::could_not_run)?),
            Err(failure) => {
                failure.print();
                Item::of_failed_run(&failure.in_one_line(), judged.ok().as_ref())
            }
        };
        write(&results, &item)?;
        if let Some(relay) = Relay::from_environment() {
            relay.post_and_wait(&Update::of(&item));
        }
        done.write()
            .with_context(|| format!("failed to write {}", done.file.display()))
            .map_err(Failure::could_not_run)?;
        Ok(Exit::Success)
    }
}

/// Runs the suite with these arguments, and its reports beside the results.
fn run(
    arguments: &[OsString],
    results: &Path,
    whole: &Command,
    again: fn(&[OsString]) -> Result<Exit, Failure>,
) -> Result<Exit, Failure> {
    let mut line: Vec<OsString> = [env!("CARGO_PKG_NAME"), "run"].map(OsString::from).into();
    line.extend(configuration(arguments));
    for (flag, file) in [
        ("--json", JSON_REPORT),
        ("--html", "report.html"),
        ("--report", "report.yaml"),
        ("--record", "evidence.jsonl.zst"),
    ] {
        line.extend([OsString::from(flag), results.join(file).into()]);
    }
    line.extend_from_slice(arguments);
    // It would end the process, and Sonobuoy would wait for results.
    if let Err(error) = whole.clone().try_get_matches_from(&line) {
        return Err(Failure::usage(anyhow!("{}", error.render().to_string().trim())));
    }
    again(&line)
}

/// The flag for the configuration file of the plugin, unless the arguments name one.
fn configuration(arguments: &[OsString]) -> Vec<OsString> {
    let named = arguments.iter().any(|argument| {
        let argument = argument.to_string_lossy();
        argument == "--config" || argument.starts_with("--config=")
    });
    let file = env::var_os(CONFIG).map(|folder| PathBuf::from(folder).join("conformance.yaml"));
    match file.filter(|file| !named && file.exists()) {
        Some(file) => vec!["--config".into(), file.into()],
        None => Vec::new(),
    }
}

fn write(results: &Path, item: &Item) -> Result<(), Failure> {
    let path = results.join(RESULT_FILE);
    let text = serde_saphyr::to_string(item)
        .context("failed to write the results as YAML")
        .map_err(Failure::could_not_run)?;
    fs::write(&path, text)
        .with_context(|| format!("failed to write {}", path.display()))
        .map_err(Failure::could_not_run)
}

/// Sonobuoy waits until this file names the results. It is written when this is dropped, so also after an error or in a
/// panic.
struct Done {
    file: PathBuf,
    results: PathBuf,
}

impl Done {
    fn write(&self) -> io::Result<()> {
        fs::write(&self.file, self.results.as_os_str().as_encoded_bytes())
    }
}

impl Drop for Done {
    fn drop(&mut self) {
        if let Err(error) = self.write() {
            anstream::eprintln!("warning: {}", escape::line(&error.to_string()));
        }
    }
}
