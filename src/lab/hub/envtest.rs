//! The hub envtest: what the suite tells the API server on this machine.

use std::path::Path;

use ::envtest::{Assets, EnvtestOptions, User};

use super::{
    HubError,
    users::{CONSUMER, MANAGER, RUNNER, SCHEDULER, VIEWER},
};

/// The audit policy, which the hub k3s shares.
const AUDIT_POLICY: &str = include_str!("audit-policy.yaml");
/// Where `ci/envtest/build` puts the programs, one folder for each state of its pins.
const BUILDS: &str = "ci/envtest/.cache";

/// Finds the programs of the hub envtest: see [`Assets::find`]. `repository` is the suite's, in which
/// `ci/envtest/build` may have built them.
///
/// # Errors
/// When they are missing. The error says where it looked and how to get them.
pub fn assets(repository: &Path) -> Result<Assets, HubError> {
    Assets::find(Some(&repository.join(BUILDS))).map_err(HubError::Assets)
}

/// The API server's settings that every hub envtest has: the users of a [`Hub`](super::Hub), and an audit log with
/// bodies where rules judge them.
pub fn envtest_options() -> EnvtestOptions {
    EnvtestOptions {
        users: vec![
            User::admin(RUNNER),
            User::admin(MANAGER),
            User::admin(SCHEDULER),
            User::admin(CONSUMER),
            User::without_rights(VIEWER),
        ],
        audit_policy: AUDIT_POLICY.to_owned(),
        ..EnvtestOptions::default()
    }
}
