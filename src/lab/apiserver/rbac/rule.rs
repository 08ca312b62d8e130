//! One rule of a role: what it allows, and which rules it covers.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Act;

/// A rule of a role. Lists that do not concern it are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::lab::apiserver) struct Rule {
    pub(in crate::lab::apiserver) verbs: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(in crate::lab::apiserver) api_groups: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(in crate::lab::apiserver) resources: Vec<String>,
    /// Empty for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(in crate::lab::apiserver) resource_names: Vec<String>,
    #[serde(rename = "nonResourceURLs", skip_serializing_if = "Vec::is_empty")]
    pub(in crate::lab::apiserver) non_resource_urls: Vec<String>,
}

fn has(list: &[String], wanted: &str) -> bool {
    list.iter().any(|entry| entry == wanted)
}

fn has_or_all(list: &[String], wanted: &str) -> bool {
    has(list, wanted) || has(list, "*")
}

/// Whether `resources` has this one (`clusterprofiles/status`), or all that are called so below any (`*/status`).
fn has_resource(resources: &[String], wanted: &str) -> bool {
    let below = wanted.split_once('/').map(|(_, below)| format!("*/{below}"));
    has_or_all(resources, wanted) || below.is_some_and(|below| has(resources, &below))
}

fn has_url(urls: &[String], wanted: &str) -> bool {
    let reaches = |url: &String| url.ends_with('*') && wanted.starts_with(url.trim_end_matches('*'));
    has(urls, wanted) || urls.iter().any(reaches)
}

impl Rule {
    /// The rules of a role. What is no rule allows nothing.
    pub(super) fn all_of(role: &Value) -> Vec<Self> {
        let rules = role["rules"].as_array().into_iter().flatten();
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

    /// The same as rules with one entry in each list.
    pub(super) fn parts(&self) -> Vec<Self> {
        let one = |text: &String| vec![text.clone()];
        let names: Vec<Vec<String>> = match self.resource_names.is_empty() {
            true => vec![Vec::new()],
            false => self.resource_names.iter().map(one).collect(),
        };
        let mut parts = Vec::new();
        for (group, resource) in pairs(&self.api_groups, &self.resources) {
            for verb in &self.verbs {
                parts.extend(names.iter().map(|names| Self {
                    verbs: one(verb),
                    api_groups: one(group),
                    resources: one(resource),
                    resource_names: names.clone(),
                    non_resource_urls: Vec::new(),
                }));
            }
        }
        parts.extend(
            pairs(&self.non_resource_urls, &self.verbs).map(|(url, verb)| Self {
                verbs: one(verb),
                non_resource_urls: one(url),
                ..Self::default()
            }),
        );
        parts
    }

    /// Whether everything is allowed by this rule that `part`, one of [`Rule::parts`], allows.
    pub(super) fn covers(&self, part: &Self) -> bool {
        let all = |wanted: &[String], held: &dyn Fn(&str) -> bool| wanted.iter().all(|entry| held(entry));
        all(&part.verbs, &|verb| has_or_all(&self.verbs, verb))
            && all(&part.api_groups, &|group| has_or_all(&self.api_groups, group))
            && all(&part.resources, &|resource| {
                has_resource(&self.resources, resource)
            })
            && all(&part.non_resource_urls, &|url| {
                has_url(&self.non_resource_urls, url)
            })
            && (self.resource_names.is_empty()
                || !part.resource_names.is_empty()
                    && all(&part.resource_names, &|name| has(&self.resource_names, name)))
    }

    /// The rule as refusals tell it: `{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}`.
    pub(super) fn told(&self) -> String {
        let lists = [
            ("APIGroups", &self.api_groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.non_resource_urls),
            ("ResourceNames", &self.resource_names),
            ("Verbs", &self.verbs),
        ];
        let lists = lists.iter().filter(|(_, list)| !list.is_empty());
        let lists: Vec<String> = lists
            .map(|(name, list)| format!("{name}:{}", told_list(list)))
            .collect();
        format!("{{{}}}", lists.join(", "))
    }
}

fn pairs<'a>(left: &'a [String], right: &'a [String]) -> impl Iterator<Item = (&'a String, &'a String)> {
    left.iter()
        .flat_map(move |left| right.iter().map(move |right| (left, right)))
}

/// A list as Go tells it: `["a" "b"]`.
pub(super) fn told_list(list: &[String]) -> String {
    format!("{list:?}").replace("\", \"", "\" \"")
}
