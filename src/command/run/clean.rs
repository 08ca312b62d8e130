//! `run --clean`: undo what killed runs have left behind.

use anyhow::anyhow;
use collect::{
    clock::Clock,
    connect::Connection,
    driver::{CleanError, clean as clean_up},
};
use evidence::Claim;
use report::escape;

use crate::command::{
    flags::{RunFlags, driver::journals, target::Target},
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
pub fn clean(flags: RunFlags) -> Result<Exit, Failure> {
    let mut claim = Claim::default();
    flags.claim.apply(&mut claim)?;
    let target = flags.target.resolve(&claim)?;
    let Target::Kubeconfig(options) = &target else {
        return Err(Failure::usage(anyhow!(
            "a test hub ends with its run and needs no cleaning: leave out --hub or --clean"
        )));
    };
    let journals = journals()?;
    let cleaned = runtime(&target)?.block_on(async {
        let hub = Connection::from_kubeconfig(options)
            .await
            .map_err(Failure::no_connection)?;
        let cleaned = clean_up(
            &hub,
            &claim,
            flags.plan.api_version.as_deref(),
            Clock::system(),
            &journals,
            flags.driver.file(),
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
