//! `/metrics`: counters of answered requests.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use crate::{request::info::RequestInfo, store::named::Target};

/// The number of requests by Prometheus labels.
#[derive(Debug, Default)]
pub(crate) struct Metrics(Mutex<BTreeMap<String, u64>>);

impl Metrics {
    /// Counts a request that was answered with `code`.
    pub(crate) fn count(&self, info: &RequestInfo, code: u16) {
        let nothing = Target::default();
        let target = info.target.as_deref().unwrap_or(&nothing);
        let scope = match (target.name.as_str(), target.namespace.as_str()) {
            _ if info.target.is_none() => "",
            // A create has no name in its path, and is about one object all the same.
            ("", _) if info.verb == "create" => "resource",
            ("", "") => "cluster",
            ("", _) => "namespace",
            _ => "resource",
        };
        // Requests outside of the API are labelled by their path.
        let subresource = match info.target {
            Some(_) => target.subresource.as_str(),
            None => info.path.trim_start_matches('/'),
        };
        let verb = match info.verb {
            "create" | "post" => "POST",
            "update" | "put" => "PUT",
            "" | "head" | "options" => "other",
            verb => &verb.to_uppercase(),
        };
        let labels = format!(
            "code=\"{code}\",component=\"apiserver\",dry_run={:?},group={:?},resource={:?},scope={scope:?},\
             subresource={subresource:?},verb={verb:?},version={:?}",
            info.query.all("dryRun").join(","),
            target.group,
            target.resource,
            target.version,
        );
        *self.0.lock().entry(labels).or_default() += 1;
    }

    /// The counters in Prometheus' text format.
    pub(crate) fn render(&self) -> String {
        let head = "# HELP apiserver_request_total [STABLE] Requests by verb, dry run, group, version, resource, \
                    subresource, scope, component and code.\n# TYPE apiserver_request_total counter\n";
        let counts = self.0.lock();
        let lines = counts
            .iter()
            .map(|(labels, count)| format!("apiserver_request_total{{{labels}}} {count}\n"));
        [head.to_owned()].into_iter().chain(lines).collect()
    }
}
