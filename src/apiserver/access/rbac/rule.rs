//! A rule of a role, and what it allows.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Act;
use crate::object::value::list;

/// A rule of a role or of a [`User`](crate::User). Each list may hold `*`. Unused lists are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rule {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub verbs: Vec<String>,
    /// API groups. The core group is the empty string.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub api_groups: Vec<String>,
    /// Plurals, such as `widgets` and `widgets/status`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
    /// Names of objects. Empty allows all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_names: Vec<String>,
    /// Paths that are no resources: `/healthz`, `/openapi/*`.
    #[serde(rename = "nonResourceURLs", skip_serializing_if = "Vec::is_empty")]
    pub non_resource_urls: Vec<String>,
    /// Namespaces in which a user's own rule holds. `*` includes the cluster scope.
    #[serde(skip)]
    pub namespaces: Vec<String>,
}

/// True if `wanted` is in the list.
pub(crate) fn has(list: &[String], wanted: &str) -> bool {
    list.iter().any(|entry| entry == wanted)
}

fn has_or_all(list: &[String], wanted: &str) -> bool {
    has(list, wanted) || has(list, "*")
}

/// True if `resources` has this one (`widgets/status`) or this subresource of all (`*/status`).
fn has_resource(resources: &[String], wanted: &str) -> bool {
    let below = wanted.split_once('/').map(|(_, below)| format!("*/{below}"));
    has_or_all(resources, wanted) || below.is_some_and(|below| has(resources, &below))
}

fn has_url(urls: &[String], wanted: &str) -> bool {
    let reaches = |url: &String| url.ends_with('*') && wanted.starts_with(url.trim_end_matches('*'));
    has(urls, wanted) || urls.iter().any(reaches)
}

impl Rule {
    /// The rules of a role. Unreadable ones allow nothing.
    pub(super) fn all_of(role: &Value) -> Vec<Self> {
        let rules = list(role, "rules").iter();
        rules.filter_map(|rule| Self::deserialize(rule).ok()).collect()
    }

    pub(super) fn allows(&self, act: &Act<'_>) -> bool {
        has_or_all(&self.verbs, act.verb)
            && match act.path {
                Some(path) => has_url(&self.non_resource_urls, path),
                None => {
                    has_or_all(&self.api_groups, act.group)
                        && has_resource(&self.resources, &act.whole_resource())
                        && (self.resource_names.is_empty() || has(&self.resource_names, act.name))
                }
            }
    }
}
