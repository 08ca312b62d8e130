//! What tests of a run collect.

use std::time::Duration;

use collect::{Members, Plan, Wish};
use evidence::{Claim, Scope};

/// Watches all profiles for that many seconds.
pub fn watching(seconds: u64) -> Plan {
    Plan {
        claim: Claim::default(),
        scope: Scope::default(),
        api_version: None,
        observe: Duration::from_secs(seconds),
        settle: Duration::ZERO,
        wait: true,
        secrets: Wish::IfAllowed,
        probe: Wish::IfAllowed,
        audit_logs: Vec::new(),
        workloads: None,
        members: Members::default(),
        driver: None,
        stage: None,
    }
}
