//! Authorizes actions by roles and bindings.

use std::sync::Arc;

use serde_json::Value;

use super::{Act, GROUP, Rule};
use crate::{
    access::user::{User, account_name},
    object::{
        meta,
        status::{Failure, Qualified, join_complaints},
        value::{list, text},
    },
    store::{
        resource::id,
        storage::{Kept, Storage, key},
    },
};

/// A decision and its reason. Refusals seldom have one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) allowed: bool,
    pub(crate) reason: String,
}

impl Decision {
    /// The decision for masters.
    pub(crate) const WITHOUT_REASON: Self = Self {
        allowed: true,
        reason: String::new(),
    };
}

/// A binding and the rules of its role, cached until a role or a binding changes.
#[derive(Debug)]
struct Binding {
    /// Empty for ClusterRoleBindings.
    namespace: String,
    subjects: Vec<Subject>,
    /// The role's kind and name.
    role: [String; 2],
    /// `None` if the role does not exist.
    rules: Option<Vec<Rule>>,
}

/// A user or a group in a binding.
#[derive(Debug)]
struct Subject {
    is_group: bool,
    name: String,
    /// `RoleBinding "a/default" of Role "b" to User "c"`, with the name before the namespace.
    told: String,
}

impl Binding {
    /// All bindings, ClusterRoleBindings first.
    fn read_all(storage: &Storage) -> Vec<Self> {
        let tables = ["clusterrolebindings", "rolebindings"].map(|plural| storage.table(&id(GROUP, plural)));
        let bindings = tables.into_iter().flatten().flat_map(|table| table.list(""));
        let read = |binding: &Arc<Kept>| Self::read(storage, binding.open().object());
        bindings.map(|(_, binding)| read(binding)).collect()
    }

    fn read(storage: &Storage, binding: &Value) -> Self {
        let within = |name: &str, namespace: &str| match namespace {
            "" => name.to_owned(),
            namespace => format!("{name}/{namespace}"),
        };
        let namespace = meta::text(binding, "namespace");
        let role = ["kind", "name"].map(|field| text(&binding["roleRef"], field).to_owned());
        let (kind, name) = (
            text(binding, "kind"),
            within(meta::text(binding, "name"), namespace),
        );
        let of = format!("{kind} \"{name}\" of {} \"{}\"", role[0], role[1]);
        let subjects = list(binding, "subjects").iter().filter_map(|subject| {
            let [kind, name, own] = ["kind", "name", "namespace"].map(|field| text(subject, field));
            // A service account without a namespace is one of the binding's namespace.
            let own = if own.is_empty() { namespace } else { own };
            let (user, name) = match kind {
                "ServiceAccount" => (account_name(own, name), within(name, own)),
                "User" | "Group" => (name.to_owned(), name.to_owned()),
                _ => return None,
            };
            Some(Subject {
                is_group: kind == "Group",
                name: user,
                told: format!("{of} to {kind} \"{name}\""),
            })
        });
        Self {
            namespace: namespace.to_owned(),
            subjects: subjects.collect(),
            rules: rules_of(storage, &binding["roleRef"], namespace),
            role,
        }
    }
}

/// The bindings of `user` at the cluster scope and in `namespace`, if any, each with its description.
fn bindings<'a>(
    storage: &'a Storage,
    user: &'a User,
    namespace: &'a str,
) -> impl Iterator<Item = (&'a Binding, &'a str)> {
    let bindings = storage.access.get(|| Binding::read_all(storage)).iter();
    let bindings = bindings.filter(move |binding| ["", namespace].contains(&binding.namespace.as_str()));
    bindings.filter_map(|binding| {
        let mut subjects = binding.subjects.iter();
        let subject = subjects.find(|subject| {
            if subject.is_group {
                user.is_in(&subject.name)
            } else {
                user.name == subject.name
            }
        })?;
        Some((binding, subject.told.as_str()))
    })
}

/// The rules of `user` at the cluster scope and in `namespace`, if any. Rules of bindings come with the binding's
/// description.
pub(crate) fn rules<'a>(
    storage: &'a Storage,
    user: &'a User,
    namespace: &'a str,
) -> impl Iterator<Item = (&'a Rule, Option<&'a str>)> {
    let bound = bindings(storage, user, namespace).flat_map(|(binding, told)| {
        let rules = binding.rules.iter().flatten();
        rules.map(move |rule| (rule, Some(told)))
    });
    user.rules_in(namespace).map(|rule| (rule, None)).chain(bound)
}

/// The message about bound roles that do not exist, empty if all do.
pub(crate) fn missing(storage: &Storage, user: &User, namespace: &str) -> String {
    let bindings = bindings(storage, user, namespace).filter(|(binding, _)| binding.rules.is_none());
    join_complaints(bindings.map(|(binding, _)| {
        let [kind, name] = &binding.role;
        format!("{}.{GROUP} \"{name}\" not found", kind.to_lowercase())
    }))
}

/// The rules of the role that a binding in `namespace` references.
fn rules_of(storage: &Storage, reference: &Value, namespace: &str) -> Option<Vec<Rule>> {
    let (plural, namespace) = match text(reference, "kind") {
        "Role" => ("roles", namespace),
        _ => ("clusterroles", ""),
    };
    let role = storage.get(&id(GROUP, plural), &key(namespace, text(reference, "name")))?;
    Some(Rule::all_of(role.object()))
}

/// Authorizes an action by roles and by the user's own rules.
pub(crate) fn authorize(storage: &Storage, user: &User, act: &Act<'_>) -> Decision {
    if user.is_master() {
        return Decision::WITHOUT_REASON;
    }
    let allowing = rules(storage, user, act.namespace).find(|(rule, _)| rule.allows(act));
    let why = match allowing {
        Some((_, told)) => told.map(|told| format!("allowed by {told}")),
        None => Some(missing(storage, user, act.namespace)).filter(|why| !why.is_empty()),
    };
    Decision {
        allowed: allowing.is_some(),
        reason: why.map(|why| format!("RBAC: {why}")).unwrap_or_default(),
    }
}

/// The error of a refused action.
pub(crate) fn forbidden(user: &User, act: &Act<'_>, reason: &str) -> Box<Failure> {
    let place = match act.namespace {
        "" => "at the cluster scope".to_owned(),
        namespace => format!("in the namespace \"{namespace}\""),
    };
    let what = match act.path {
        Some(path) => format!("path \"{path}\""),
        None => format!(
            "resource \"{}\" in API group \"{}\" {place}",
            act.whole_resource(),
            act.group
        ),
    };
    let mut why = format!("User \"{}\" cannot {} {what}", user.name, act.verb);
    if !reason.is_empty() {
        why = format!("{why}: {reason}");
    }
    Failure::forbidden(Qualified::new(act.group, act.resource), act.name, &why)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::store::builtin;

    /// Cached bindings follow roles and bindings.
    #[test]
    fn rights_follow_roles_and_bindings() {
        let mut storage = Storage::default();
        builtin::resources().for_each(|resource| storage.serve(resource));
        let (roles, bindings) = (id(GROUP, "clusterroles"), id(GROUP, "clusterrolebindings"));
        let role = |verbs: &[&str]| {
            let rules = json!([{"apiGroups": [""], "resources": ["nodes"], "verbs": verbs}]);
            json!({"kind": "ClusterRole", "metadata": {"name": "r"}, "rules": rules})
        };
        let binding = json!({
            "kind": "ClusterRoleBinding", "metadata": {"name": "b"},
            "subjects": [{"kind": "User", "name": "u"}], "roleRef": {"kind": "ClusterRole", "name": "r"},
        });
        let refused = |storage: &Storage| {
            let decision = decide(storage);
            assert!(!decision.allowed, "{}", decision.reason);
            decision.reason
        };
        let why = "RBAC: allowed by ClusterRoleBinding \"b\" of ClusterRole \"r\" to User \"u\"";
        let allowed = Decision {
            allowed: true,
            reason: why.to_owned(),
        };
        assert_eq!(refused(&storage), "");
        storage.put(&bindings, "b", binding);
        assert_eq!(
            refused(&storage),
            "RBAC: clusterrole.rbac.authorization.k8s.io \"r\" not found"
        );
        storage.put(&roles, "r", role(&["get"]));
        assert_eq!(decide(&storage), allowed);
        storage.put(&roles, "r", role(&["list"]));
        assert_eq!(refused(&storage), "");
        storage.put(&roles, "r", role(&["*"]));
        assert_eq!(decide(&storage), allowed);
        storage.remove(&bindings, "b");
        assert_eq!(refused(&storage), "");
    }

    /// Decides whether the user `u` may get Nodes.
    fn decide(storage: &Storage) -> Decision {
        let act = Act {
            verb: "get",
            resource: "nodes",
            ..Act::default()
        };
        authorize(storage, &User::with_rules("u", Vec::new()), &act)
    }
}
