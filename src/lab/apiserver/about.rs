//! What the server says of itself outside of its API: its version, and whether it is well.
//!
//! The texts of `/healthz`, `/livez` and `/readyz` are those of a kube-apiserver 1.36: one line for each check, in a
//! fixed order, where `verbose` asks for them or one of them fails.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use http::Method;
use serde_json::{Value, json};

use super::body::{Reply, ReplyBody};
use super::context::Context;
use super::request::Query;
use super::status::{Failure, Outcome};

/// What a server calls itself that nobody gave a version.
const VERSION: &str = "v1.36.0+lab";
/// What is asked of a server, in this order.
const CHECKS: [&str; 36] = [
    "ping",
    "log",
    "loopback-serving-certificate",
    "etcd",
    "etcd-readiness",
    "informer-sync",
    "poststarthook/start-apiserver-admission-initializer",
    "poststarthook/generic-apiserver-start-informers",
    "poststarthook/priority-and-fairness-config-consumer",
    "poststarthook/priority-and-fairness-filter",
    "poststarthook/storage-object-count-tracker-hook",
    "poststarthook/start-apiextensions-informers",
    "poststarthook/start-apiextensions-controllers",
    "poststarthook/crd-informer-synced",
    "poststarthook/start-system-namespaces-controller",
    "poststarthook/peer-endpoint-reconciler-controller",
    "poststarthook/start-cluster-authentication-info-controller",
    "poststarthook/start-kube-apiserver-identity-lease-controller",
    "poststarthook/start-kube-apiserver-identity-lease-garbage-collector",
    "poststarthook/storage-readiness",
    "poststarthook/start-legacy-token-tracking-controller",
    "poststarthook/start-service-ip-repair-controllers",
    "poststarthook/rbac/bootstrap-roles",
    "poststarthook/scheduling/bootstrap-system-priority-classes",
    "poststarthook/priority-and-fairness-config-producer",
    "poststarthook/bootstrap-controller",
    "poststarthook/start-kubernetes-service-cidr-controller",
    "poststarthook/start-kube-aggregator-informers",
    "poststarthook/apiservice-status-local-available-controller",
    "poststarthook/apiservice-status-remote-available-controller",
    "poststarthook/apiservice-registration-controller",
    "poststarthook/apiservice-discovery-controller",
    "poststarthook/kube-apiserver-autoregistration",
    "autoregister-completion",
    "poststarthook/apiservice-openapi-controller",
    "poststarthook/apiservice-openapiv3-controller",
];
/// What is asked only for `/readyz`; the last of all is `shutdown`.
const READY_ONLY: [&str; 3] = ["etcd-readiness", "informer-sync", "shutdown"];
/// What is not asked there.
const UNREADY: &str = "loopback-serving-certificate";

/// What a server says of itself.
#[derive(Debug, Default)]
pub(super) struct About(Mutex<Said>);

#[derive(Debug)]
struct Said {
    version: String,
    failing: BTreeSet<String>,
}

impl Default for Said {
    fn default() -> Self {
        Self {
            version: VERSION.to_owned(),
            failing: BTreeSet::new(),
        }
    }
}

impl About {
    pub(super) fn set_version(&self, version: &str) {
        self.said().version = version.to_owned();
    }

    pub(super) fn set_failing(&self, checks: BTreeSet<String>) {
        self.said().failing = checks;
    }

    fn said(&self) -> std::sync::MutexGuard<'_, Said> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn version(&self) -> Value {
        let git_version = self.said().version.clone();
        let mut numbers = git_version.trim_start_matches('v').split('.');
        let (major, minor) = (
            numbers.next().unwrap_or_default(),
            numbers.next().unwrap_or_default(),
        );
        let before = minor
            .parse::<u32>()
            .unwrap_or_default()
            .saturating_sub(1)
            .to_string();
        json!({
            "major": major, "minor": minor, "gitVersion": git_version,
            "emulationMajor": major, "emulationMinor": minor,
            "minCompatibilityMajor": major, "minCompatibilityMinor": before,
            "gitCommit": "", "gitTreeState": "", "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "",
            "platform": "",
        })
    }

    /// Answers a question about all checks of `endpoint`, such as `readyz`.
    fn health(&self, endpoint: &str, query: &Query) -> Reply {
        let failing = self.said().failing.clone();
        let excluded = query.all("exclude");
        let mut lines = String::new();
        let mut is_well = true;
        for check in checks(endpoint, &failing) {
            lines += &match (excluded.iter().any(|name| name == check), failing.contains(check)) {
                (true, _) => format!("[+]{check} excluded: ok\n"),
                (_, false) => format!("[+]{check} ok\n"),
                (_, true) => {
                    is_well = false;
                    format!("[-]{check} failed: reason withheld\n")
                }
            };
        }
        let known: Vec<&str> = checks(endpoint, &failing).collect();
        let unknown: Vec<String> = excluded
            .iter()
            .filter(|name| !known.contains(&name.as_str()))
            .map(|name| format!("\"{name}\""))
            .collect();
        if !unknown.is_empty() {
            let unknown = unknown.join(",");
            lines += &format!("warn: some health checks cannot be excluded: no matches for {unknown}\n");
        }
        match (is_well, query.has("verbose")) {
            (false, _) => text(500, format!("{lines}{endpoint} check failed\n")),
            (true, true) => text(200, format!("{lines}{endpoint} check passed\n")),
            (true, false) => text(200, "ok".to_owned()),
        }
    }

    /// Answers a question about one check.
    fn one_check(&self, endpoint: &str, check: &str) -> Outcome<Reply> {
        let failing = self.said().failing.clone();
        if !checks(endpoint, &failing).any(|known| known == check) {
            return Err(Failure::no_such_path());
        }
        Ok(match failing.contains(check) {
            true => text(
                500,
                format!("internal server error: {check} is broken on demand\n"),
            ),
            false => text(200, "ok".to_owned()),
        })
    }
}

/// The names of the checks, in their order; those that fail are asked wherever else they belong.
fn checks<'a>(endpoint: &str, failing: &'a BTreeSet<String>) -> impl Iterator<Item = &'a str> {
    let is_ready = endpoint == "readyz";
    let others = failing.iter().map(String::as_str);
    let others = others.filter(|name| !CHECKS.contains(name) && !READY_ONLY.contains(name));
    let all = CHECKS.into_iter().chain(["shutdown"]).chain(others);
    all.filter(move |name| match is_ready {
        true => *name != UNREADY,
        false => !READY_ONLY.contains(name),
    })
}

fn text(code: u16, text: String) -> Reply {
    Reply {
        code,
        body: ReplyBody::Text(text.into()),
        warnings: Vec::new(),
    }
}

/// The format that Prometheus reads.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";

impl Context<'_> {
    /// Answers a request outside of the API.
    pub(super) fn about_server(&self, method: &Method) -> Outcome<Reply> {
        let about = &self.server.inner.about;
        let path = self.info.path.trim_matches('/');
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        let reads = method == Method::GET || method == Method::HEAD;
        match (first, rest) {
            ("healthz" | "livez" | "readyz", "") => Ok(about.health(first, &self.info.query)),
            ("healthz" | "livez" | "readyz", check) => about.one_check(first, check),
            ("version", "") if !reads => Err(Failure::method_not_routed()),
            _ if !reads => Err(Failure::no_such_resource()),
            ("version", "") => Ok(Reply::value(200, &about.version())),
            ("metrics", "") => Ok(Reply {
                code: 200,
                body: ReplyBody::Typed(METRICS, self.server.metrics().into()),
                warnings: Vec::new(),
            }),
            // The core's versions are the server's own, even those that it has not.
            ("api", version) if !matches!(version, "" | "v1") => Err(Failure::no_such_resource()),
            _ => self.discover(self.info.path.trim_end_matches('/')),
        }
    }
}
