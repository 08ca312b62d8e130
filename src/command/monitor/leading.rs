//! Which replica works.

use std::{
    env,
    hash::{BuildHasher as _, RandomState},
};

use anyhow::anyhow;
use collect::lease::{Candidate, INTERVAL, LeaseError};
use report::escape;
use tokio::time::sleep;

use super::status::{Leading, Shared};
use crate::command::Failure;

/// A name that no other replica has: that of the Pod, and some digits.
pub fn identity() -> String {
    let name = env::var("HOSTNAME").unwrap_or_else(|_| "monitor".to_owned());
    let name: String = name.chars().take(200).collect();
    format!("{name}_{:08x}", RandomState::new().hash_one(0) as u32)
}

/// After how many failures in a row nothing is known of the Lease any more.
const UNKNOWN: u32 = 3;
/// After how many failures in a row to connect anew: half a minute. Credentials may have ended.
const GIVES_UP: u32 = 15;

/// How the wait for the Lease ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// This replica leads.
    Leads,
    /// The hub does not answer on the Lease.
    Unanswered,
}

/// Waits until this replica leads.
///
/// # Errors
/// When the hub forbids the Lease, or has no such namespace.
pub async fn wait(candidate: &mut Candidate, shared: &Shared) -> Result<Waited, Failure> {
    let mut failures = 0;
    loop {
        match candidate.attempt().await {
            Ok(true) => {
                shared.lead(Leading::Leads);
                return Ok(Waited::Leads);
            }
            Ok(false) => {
                failures = 0;
                shared.lead(Leading::Follows(candidate.holder()));
            }
            Err(error) if error.is_lasting() => return Err(refused(&error)),
            Err(error) => {
                failures += 1;
                if failures == 1 {
                    anstream::eprintln!("warning: {}", escape::line(&error.to_string()));
                }
                if failures >= UNKNOWN {
                    shared.wait(format!("who leads is unknown: {error}"));
                }
                if failures >= GIVES_UP {
                    return Ok(Waited::Unanswered);
                }
            }
        }
        sleep(INTERVAL).await;
    }
}

/// Renews the Lease, until this replica leads no longer.
pub async fn keep(candidate: &mut Candidate) {
    loop {
        sleep(INTERVAL).await;
        if candidate.attempt().await != Ok(true) {
            return;
        }
    }
}

fn refused(error: &LeaseError) -> Failure {
    match error {
        LeaseError::Forbidden { lease, .. } => Failure::could_not_run(anyhow!(
            "{error}\nor print all grants with `clusterprofile-conformance rbac --monitor --lease {lease}`"
        )),
        _ => Failure::could_not_run(anyhow!("{error}")),
    }
}
