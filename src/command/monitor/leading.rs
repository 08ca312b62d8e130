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

/// Waits until this replica leads. `grants` prints the roles of the monitor. `has_answered` tells whether the hub has
/// answered on the Lease before, and is set: what it refuses from then on may be granted again.
///
/// # Errors
/// When the hub forbids the Lease from the first, or has no such namespace.
pub async fn wait(
    candidate: &mut Candidate,
    shared: &Shared,
    grants: &str,
    has_answered: &mut bool,
) -> Result<Waited, Failure> {
    let mut failures = 0;
    loop {
        match candidate.attempt().await {
            Ok(leads) => {
                *has_answered = true;
                failures = 0;
                if leads {
                    shared.lead(Leading::Leads);
                    return Ok(Waited::Leads);
                }
                shared.lead(Leading::Follows(candidate.holder()));
            }
            Err(error) if error.is_lasting() && !*has_answered => return Err(refused(&error, grants)),
            Err(error) => {
                failures += 1;
                if failures == 1 {
                    let advice = match error {
                        LeaseError::Forbidden { .. } => format!("; apply the roles that `{grants}` prints"),
                        _ => String::new(),
                    };
                    anstream::eprintln!("warning: {}{advice}", escape::line(&first_line(&error)));
                }
                if failures >= UNKNOWN {
                    shared.wait(format!("who leads is unknown: {}", first_line(&error)));
                }
                if failures >= GIVES_UP {
                    return Ok(Waited::Unanswered);
                }
            }
        }
        sleep(INTERVAL).await;
    }
}

/// Renews the Lease, until this replica leads no longer. Notes who does.
pub async fn keep(candidate: &mut Candidate, shared: &Shared) {
    candidate.keep().await;
    let holder = candidate.holder();
    let is_known = holder.is_some();
    shared.lead(Leading::Follows(holder));
    if !is_known {
        shared.wait("who leads is unknown: the hub did not renew the Lease in time".to_owned());
    }
}

fn refused(error: &LeaseError, grants: &str) -> Failure {
    match error {
        LeaseError::Forbidden { .. } => {
            Failure::could_not_run(anyhow!("{error}\nor print all grants with `{grants}`"))
        }
        _ => Failure::could_not_run(anyhow!("{error}")),
    }
}

/// The error without the role that it prints.
fn first_line(error: &LeaseError) -> String {
    let told = error.to_string();
    told.lines().next().unwrap_or_default().to_owned()
}
