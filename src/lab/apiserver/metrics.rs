//! `/metrics`: how many requests were answered, and how.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use super::request::RequestInfo;
use super::server::ApiServer;

/// The requests that were answered, by their labels.
#[derive(Debug, Default)]
pub(super) struct Metrics(Mutex<BTreeMap<Labels, u64>>);

/// What one series is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Labels {
    code: u16,
    dry_run: String,
    group: String,
    resource: String,
    scope: &'static str,
    subresource: String,
    verb: String,
    version: String,
}

impl Metrics {
    /// Counts a request that was answered with `code`.
    pub(super) fn count(&self, info: &RequestInfo, code: u16) {
        let target = info.target.clone().unwrap_or_default();
        let scope = match (&info.target, target.name.is_empty(), target.namespace.is_empty()) {
            (None, ..) => "",
            // What is created has no name in its address, and is one thing all the same.
            (_, true, _) if info.verb == "create" => "resource",
            (_, false, _) => "resource",
            (_, true, false) => "namespace",
            (_, true, true) => "cluster",
        };
        let labels = Labels {
            code,
            dry_run: info.query.all("dryRun").join(","),
            group: target.group,
            resource: target.resource,
            scope,
            // Requests outside of the API are told by their path.
            subresource: match info.target {
                Some(_) => target.subresource,
                None => info.path.trim_start_matches('/').to_owned(),
            },
            verb: verb(info.verb).to_owned(),
            version: target.version,
        };
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(labels).or_default() += 1;
    }
}

/// A verb as metrics tell it.
fn verb(verb: &str) -> &str {
    match verb {
        "get" => "GET",
        "list" => "LIST",
        "watch" => "WATCH",
        "create" | "post" => "POST",
        "update" | "put" => "PUT",
        "patch" => "PATCH",
        "delete" => "DELETE",
        "deletecollection" => "DELETECOLLECTION",
        _ => "other",
    }
}

impl ApiServer {
    /// The counters as Prometheus reads them.
    pub(super) fn metrics(&self) -> String {
        let mut text = String::from(
            "# HELP apiserver_request_total [STABLE] Requests by verb, dry run, group, version, resource, subresource, scope, component and code.\n\
             # TYPE apiserver_request_total counter\n",
        );
        let counts = self
            .inner
            .metrics
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for (labels, count) in counts.iter() {
            let pairs = [
                ("code", labels.code.to_string()),
                ("component", "apiserver".to_owned()),
                ("dry_run", labels.dry_run.clone()),
                ("group", labels.group.clone()),
                ("resource", labels.resource.clone()),
                ("scope", labels.scope.to_owned()),
                ("subresource", labels.subresource.clone()),
                ("verb", labels.verb.clone()),
                ("version", labels.version.clone()),
            ];
            // The format escapes what JSON does.
            let pairs = pairs.map(|(name, value)| format!("{name}={}", super::field::quoted(&value)));
            let _ = writeln!(text, "apiserver_request_total{{{}}} {count}", pairs.join(","));
        }
        text
    }
}
