//! RBAC escalation check: users cannot grant rights they lack.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Act, GROUP, Rule, authorize, authorize::rules_of, bootstrap::cluster_admin, missing};
use crate::{
    access::user::User,
    object::{
        meta,
        status::{Failure, Outcome},
        value::{list, text},
    },
    store::{
        named::{Named, Target},
        resource::Family,
        storage::Storage,
    },
};

/// Refuses a role or a binding that grants what its writer may not do.
pub(crate) fn check(
    user: &User,
    storage: &Storage,
    named: &Named,
    new: &Value,
    old: Option<&Value>,
) -> Outcome<()> {
    let (resource, target) = (&named.resource, &named.target);
    let is_harmless = || old.is_some_and(|old| differs_in_ownership_only(new, old));
    if resource.family != Family::Access || user.is_master() || is_harmless() {
        return Ok(());
    }
    let asked = Act {
        group: GROUP,
        namespace: &target.namespace,
        ..Act::default()
    };
    let may = |verb, resource, name| {
        let act = Act {
            verb,
            resource,
            name,
            ..asked
        };
        authorize(storage, user, &act).allowed
    };
    let forbidden = |why: &str| Failure::forbidden(resource.qualified(), meta::text(new, "name"), why);
    let confirm = |rules: &[Rule]| {
        let why = not_held(user, storage, target, rules);
        why.map_or(Ok(()), |why| Err(forbidden(&why)))
    };
    if !resource.plural.ends_with("bindings") {
        if may("escalate", &resource.plural, &target.name) {
            return Ok(());
        }
        confirm(&Rule::all_of(new))?;
        if is_aggregated(new) || old.is_some_and(is_aggregated) {
            let why = "must have cluster-admin privileges to use the aggregationRule";
            return confirm(&cluster_admin()).map_err(|_| forbidden(why));
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
            return Err(Failure::internal(why));
        }
    };
    if text(reference, "apiGroup") == GROUP && may("bind", bound, name) {
        return Ok(());
    }
    if kind == "Role" && target.namespace.is_empty() {
        return Err(Failure::bad_request("Namespace parameter required."));
    }
    // kube-apiserver says that the binding is not found.
    let rules = rules_of(storage, reference, &target.namespace)
        .ok_or_else(|| Failure::not_found(resource.qualified(), name))?;
    confirm(&rules)
}

/// The message about the rights in `rules` that the user lacks, or `None`.
fn not_held(user: &User, storage: &Storage, target: &Target, rules: &[Rule]) -> Option<String> {
    let held: Vec<_> = super::rules(storage, user, &target.namespace).collect();
    let is_held = |act: &Act<'_>| held.iter().any(|(rule, _)| rule.allows(act));
    // Rights that differ only in the verb share a line.
    let mut lines: BTreeMap<Act<'_>, Vec<&str>> = BTreeMap::new();
    for act in rules.iter().flat_map(Rule::acts).filter(|act| !is_held(act)) {
        let verb = if act.path.is_some() { act.verb } else { "" };
        let verbs = lines.entry(Act { verb, ..act }).or_default();
        if verb.is_empty() || verbs.is_empty() {
            verbs.push(act.verb);
        }
    }
    if lines.is_empty() {
        return None;
    }
    let lines = lines.iter().map(|(act, verbs)| describe(act, verbs));
    let lines: Vec<String> = lines.collect::<BTreeSet<_>>().into_iter().collect();
    let mut why = format!(
        "user \"{}\" (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
        user.name,
        go_list(&user.groups),
        lines.join("\n")
    );
    let missing = missing(storage, user, &target.namespace, Some(&target.resource));
    if !missing.is_empty() {
        why += &format!("; resolution errors: [{missing}]");
    }
    Some(why)
}

/// A right in messages: `{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}`.
fn describe(act: &Act<'_>, verbs: &[&str]) -> String {
    let what = match (act.path, act.name) {
        (Some(path), _) => format!("NonResourceURLs:[{path:?}]"),
        (None, "") => format!("APIGroups:[{:?}], Resources:[{:?}]", act.group, act.resource),
        (None, name) => format!(
            "APIGroups:[{:?}], Resources:[{:?}], ResourceNames:[{name:?}]",
            act.group, act.resource
        ),
    };
    format!("{{{what}, Verbs:{}}}", go_list(verbs))
}

/// A list as Go prints it: `["a" "b"]`.
fn go_list<T: std::fmt::Debug>(list: &[T]) -> String {
    format!("{list:?}").replace("\", \"", "\" \"")
}

/// True if only finalizers, owner references or field managers differ.
fn differs_in_ownership_only(new: &Value, old: &Value) -> bool {
    let rest = |object: &Value| {
        let mut object = object.clone();
        for field in ["finalizers", "ownerReferences", "managedFields"] {
            object["metadata"][field].take();
        }
        object
    };
    rest(new) == rest(old)
}

fn is_aggregated(role: &Value) -> bool {
    !list(&role["aggregationRule"], "clusterRoleSelectors").is_empty()
}
