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

/// Waits until this replica leads.
///
/// # Errors
/// When the hub forbids the Lease, or has no such namespace.
pub async fn wait(candidate: &mut Candidate, shared: &Shared) -> Result<(), Failure> {
    let mut is_warned = false;
    loop {
        match candidate.attempt().await {
            Ok(true) => {
                shared.lead(Leading::Leads);
                return Ok(());
            }
            Ok(false) => {
                shared.lead(Leading::Follows(candidate.holder()));
            }
            Err(error) if error.is_lasting() => return Err(refused(&error)),
            Err(error) => {
                if !is_warned {
                    anstream::eprintln!("warning: {}", escape::line(&error.to_string()));
                }
                is_warned = true;
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
