//! Nobody hands out what they do not have.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::authorize::{role, text};
use super::rule::told_list;
use super::{Act, GROUP, Grants, Rule, authorize};
use crate::lab::apiserver::context::{Context, Named};
use crate::lab::apiserver::meta;
use crate::lab::apiserver::request::Target;
use crate::lab::apiserver::resource::Family;
use crate::lab::apiserver::status::{Failure, Outcome, Qualified};
use crate::lab::apiserver::storage::Storage;

impl Context<'_> {
    /// Refuses a role that allows, or a binding to a role that allows, what its writer may not do.
    pub(in crate::lab::apiserver) fn check_escalation(
        &self,
        storage: &Storage,
        named: &Named,
        target: &Target,
        new: &Value,
        old: Option<&Value>,
    ) -> Outcome<()> {
        let resource = &named.resource;
        let is_harmless = || old.is_some_and(|old| differs_in_ownership_only(new, old));
        if resource.family != Family::Access || self.user.is_master() || is_harmless() {
            return Ok(());
        }
        let may = |verb: &str, resource: &str, name: &str| {
            let act = Act {
                verb,
                group: GROUP,
                resource,
                namespace: &target.namespace,
                name,
                ..Act::default()
            };
            authorize(storage, self.user, &act).allowed
        };
        let forbidden = |why: &str| Failure::forbidden(resource.qualified(), meta::text(new, "name"), why);
        let confirm = |rules: &[Rule]| {
            let why = self.not_held(storage, target, rules);
            why.map_or(Ok(()), |why| Err(forbidden(&why)))
        };
        if !resource.plural.ends_with("bindings") {
            if may("escalate", &resource.plural, &target.name) {
                return Ok(());
            }
            confirm(&Rule::all_of(new))?;
            if is_aggregated(new) || old.is_some_and(is_aggregated) {
                let why = "must have cluster-admin privileges to use the aggregationRule";
                return confirm(&everything()).map_err(|_| forbidden(why));
            }
            return Ok(());
        }
        let reference = &new["roleRef"];
        let (kind, name) = (text(reference, "kind"), text(reference, "name"));
        let bound = match kind {
            "Role" => "roles",
            "ClusterRole" => "clusterroles",
            kind => {
                let why = format!("unsupported role reference kind: \"{kind}\"");
                return Err(Failure::new(500, "", why));
            }
        };
        if text(reference, "apiGroup") == GROUP && may("bind", bound, name) {
            return Ok(());
        }
        if kind == "Role" && target.namespace.is_empty() {
            return Err(Failure::bad_request("Namespace parameter required."));
        }
        match role(storage, reference, &target.namespace) {
            Some(role) => confirm(&Rule::all_of(role)),
            // The real answer says that the binding is missing.
            None => Err(Failure::not_found(
                Qualified {
                    group: GROUP,
                    resource: &target.resource,
                },
                name,
            )),
        }
    }

    /// What of `rules` the user may not do, as the refusal tells it; `None` where that is nothing.
    fn not_held(&self, storage: &Storage, target: &Target, rules: &[Rule]) -> Option<String> {
        let grants = Grants::find(storage, self.user, &target.namespace);
        let is_held = |part: &Rule| grants.rules.iter().any(|(held, _)| held.covers(part));
        // What differs in the verb only is told in one line.
        let mut lines: BTreeMap<String, Rule> = BTreeMap::new();
        for part in rules.iter().flat_map(Rule::parts).filter(|part| !is_held(part)) {
            let verbs = match part.non_resource_urls.is_empty() {
                true => Vec::new(),
                false => part.verbs.clone(),
            };
            let same = Rule {
                verbs,
                ..part.clone()
            }
            .told();
            match lines.get_mut(&same) {
                Some(line) if part.non_resource_urls.is_empty() => line.verbs.extend(part.verbs),
                Some(_) => {}
                None => _ = lines.insert(same, part),
            }
        }
        if lines.is_empty() {
            return None;
        }
        let lines: BTreeSet<String> = lines.values().map(Rule::told).collect();
        let lines: Vec<String> = lines.into_iter().collect();
        let mut why = format!(
            "user \"{}\" (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
            self.user.name,
            told_list(&self.user.groups),
            lines.join("\n")
        );
        let missing = grants.missing(Some(&target.resource));
        if !missing.is_empty() {
            why += &format!("; resolution errors: [{missing}]");
        }
        Some(why)
    }
}

/// Whether nothing is new but who owns the object and who holds it back from being deleted.
fn differs_in_ownership_only(new: &Value, old: &Value) -> bool {
    let rest = |object: &Value| {
        let mut object = object.clone();
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.retain(|field, _| {
                !matches!(field.as_str(), "finalizers" | "ownerReferences" | "managedFields")
            });
        }
        object
    };
    rest(new) == rest(old)
}

fn is_aggregated(role: &Value) -> bool {
    let selectors = role["aggregationRule"]["clusterRoleSelectors"].as_array();
    selectors.is_some_and(|selectors| !selectors.is_empty())
}

fn everything() -> [Rule; 2] {
    let all = || vec!["*".to_owned()];
    [
        Rule {
            verbs: all(),
            api_groups: all(),
            resources: all(),
            ..Rule::default()
        },
        Rule {
            verbs: all(),
            non_resource_urls: all(),
            ..Rule::default()
        },
    ]
}
