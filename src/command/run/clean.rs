//! `run --clean`: undo what killed runs have left behind.

use std::path::Path;

use anyhow::anyhow;
use collect::{
    Plan,
    clock::Clock,
    connect::Connection,
    driver::{CleanError, clean as clean_up},
};
use report::escape;

use crate::command::{
    flags::{driver::journals, target::Target},
    hub::start::runtime,
    terminal::{
        exit::{Exit, Failure},
        print::print,
    },
};

/// Undoes it, and reports what was undone and what remains.
///
/// # Errors
/// When the hub cannot be asked, or something could not be undone.
pub fn clean(target: &Target, plan: &Plan, driver_file: Option<&Path>) -> Result<Exit, Failure> {
    let Target::Kubeconfig(options) = target else {
        return Err(Failure::usage(anyhow!(
            "a test hub ends with its run and needs no cleaning: leave out --hub or --clean"
        )));
    };
    let journals = journals()?;
    let cleaned = runtime(target)?.block_on(async {
        let hub = Connection::from_kubeconfig(options)
            .await
            .map_err(Failure::no_connection)?;
        let cleaned = clean_up(
            &hub,
            &plan.claim,
            plan.api_version.as_deref(),
            Clock::system(),
            &journals,
            driver_file,
        );
        cleaned.await.map_err(|error| match error {
            CleanError::Hub(error) => Failure::no_evidence(error, &hub),
            error => Failure::could_not_run(error),
        })
    })?;
    let messages: String = cleaned
        .messages
        .iter()
        .map(|line| format!("{}\n", escape::line(line)))
        .collect();
    print(&messages)?;
    match cleaned.leftovers.as_slice() {
        [] => Ok(Exit::Success),
        remains => Err(Failure::could_not_run(anyhow!(
            "failed to undo everything; fix these causes and clean again, with --driver FILE if the driver file was moved\n{}",
            remains.join("\n")
        ))),
    }
}
