//! Settings of one API server.

use std::time::Duration;

use crate::User;

/// Settings of one API server.
#[derive(Clone, Debug)]
pub struct EnvtestOptions {
    /// Users beside `admin`, whom every server knows.
    pub users: Vec<User>,
    /// The audit policy, in YAML. The default logs the metadata of every request of a user.
    pub audit_policy: String,
    /// Further flags for kube-apiserver, such as `--feature-gates=…`.
    pub api_server_flags: Vec<String>,
    /// How long the API server may take to become ready.
    pub ready_within: Duration,
}

impl Default for EnvtestOptions {
    fn default() -> Self {
        Self {
            users: Vec::new(),
            audit_policy: include_str!("audit-policy.yaml").to_owned(),
            api_server_flags: Vec::new(),
            ready_within: Duration::from_secs(60),
        }
    }
}
