//! The server's version, and its health checks.
//!
//! The texts of `/healthz`, `/livez` and `/readyz` are those of kube-apiserver 1.36: one line for each check, in fixed
//! order, if `verbose` is set or a check fails. Only some of its checks are listed.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{
    object::status::{Failure, Outcome},
    request::{info::Query, reply::Reply},
};

/// The health checks, in order.
const CHECKS: &str = "
    ping log loopback-serving-certificate etcd etcd-readiness informer-sync
    poststarthook/generic-apiserver-start-informers poststarthook/crd-informer-synced
    poststarthook/start-system-namespaces-controller poststarthook/rbac/bootstrap-roles
    poststarthook/apiservice-registration-controller shutdown
";
/// Checks of `/readyz` alone.
const READY_ONLY: [&str; 3] = ["etcd-readiness", "informer-sync", "shutdown"];
/// The check that `/readyz` omits.
const UNREADY: &str = "loopback-serving-certificate";

/// Version and health.
#[derive(Debug, Default)]
pub(crate) struct About {
    /// Its `gitVersion`.
    pub(crate) version: String,
    /// The failing checks.
    pub(crate) failing: BTreeSet<String>,
}

impl About {
    pub(crate) fn version(&self) -> Value {
        let mut numbers = self.version.trim_start_matches('v').split('.');
        let [major, minor] = [(); 2].map(|()| numbers.next().unwrap_or_default());
        let before = minor.parse().map_or(0, |minor: u32| minor.saturating_sub(1));
        json!({
            "major": major, "minor": minor, "gitVersion": self.version,
            "emulationMajor": major, "emulationMinor": minor,
            "minCompatibilityMajor": major, "minCompatibilityMinor": before.to_string(),
            "gitCommit": "", "gitTreeState": "", "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "",
            "platform": "",
        })
    }

    /// The names of the checks of `endpoint`, in order. Unknown failing checks come last.
    fn checks(&self, endpoint: &str) -> Vec<&str> {
        let mut checks: Vec<&str> = CHECKS.split_whitespace().collect();
        let failing = self.failing.iter().map(String::as_str);
        let others: Vec<&str> = failing.filter(|name| !checks.contains(name)).collect();
        checks.extend(others);
        checks.retain(|name| match endpoint {
            "readyz" => *name != UNREADY,
            _ => !READY_ONLY.contains(name),
        });
        checks
    }

    /// Answers a request for all checks of `endpoint`, such as `readyz`.
    pub(crate) fn health(&self, endpoint: &str, query: &Query) -> Reply {
        let mut unknown = query.all("exclude").to_vec();
        let (mut lines, mut is_well) = (String::new(), true);
        for check in self.checks(endpoint) {
            let excluded = unknown.extract_if(.., |name| name == check).count() > 0;
            lines += &if excluded {
                format!("[+]{check} excluded: ok\n")
            } else if self.failing.contains(check) {
                is_well = false;
                format!("[-]{check} failed: reason withheld\n")
            } else {
                format!("[+]{check} ok\n")
            };
        }
        if !unknown.is_empty() {
            let unknown: Vec<String> = unknown.iter().map(|name| format!("\"{name}\"")).collect();
            let unknown = unknown.join(",");
            lines += &format!("warn: some health checks cannot be excluded: no matches for {unknown}\n");
        }
        match (is_well, query.has("verbose")) {
            (false, _) => Reply::text(500, format!("{lines}{endpoint} check failed\n")),
            (true, true) => Reply::text(200, format!("{lines}{endpoint} check passed\n")),
            (true, false) => Reply::text(200, "ok"),
        }
    }

    /// Answers a request for one check.
    pub(crate) fn one_check(&self, endpoint: &str, check: &str) -> Outcome<Reply> {
        if !self.checks(endpoint).contains(&check) {
            return Err(Failure::no_such_path());
        }
        Ok(if self.failing.contains(check) {
            Reply::text(
                500,
                format!("internal server error: {check} is broken on demand\n"),
            )
        } else {
            Reply::text(200, "ok")
        })
    }
}
