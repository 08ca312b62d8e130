//! Authorization by roles and bindings (`rbac.authorization.k8s.io`).
//!
//! Bindings and the rules of their roles are cached until one changes. No controller aggregates ClusterRoles.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::user::{User, account_name};
use crate::{
    object::{
        json::{list, text},
        meta,
        status::{Qualified, StatusFailure, join_complaints},
    },
    request::RequestInfo,
    store::{
        resource::{Resource, id},
        storage::{Storage, StorageEntry, key},
    },
};

/// The group of roles and bindings.
pub(crate) const GROUP: &str = "rbac.authorization.k8s.io";

/// An action, as RBAC sees it.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RbacAction<'a> {
    pub(crate) verb: &'a str,
    pub(crate) group: &'a str,
    pub(crate) resource: &'a str,
    pub(crate) subresource: &'a str,
    /// Empty at the cluster scope.
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    /// The path of a request that is about no resource.
    pub(crate) path: Option<&'a str>,
}

impl<'a> RbacAction<'a> {
    /// The action of a request.
    pub(crate) fn of(info: &'a RequestInfo) -> Self {
        match &info.target {
            Some(target) => Self {
                verb: info.verb,
                group: &target.group,
                resource: &target.resource,
                subresource: &target.subresource,
                namespace: &target.namespace,
                name: &target.name,
                path: None,
            },
            None => Self {
                verb: info.verb,
                path: Some(&info.path),
                ..Self::default()
            },
        }
    }

    /// `widgets`, `widgets/status`
    fn whole_resource(&self) -> Cow<'a, str> {
        match self.subresource {
            "" => self.resource.into(),
            subresource => format!("{}/{subresource}", self.resource).into(),
        }
    }
}

/// A rule of a role or of a [`User`](crate::User). Each list may hold `*`. Unused lists are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PolicyRule {
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
    /// Paths outside of resources: `/healthz`, `/openapi/*`.
    #[serde(rename = "nonResourceURLs", skip_serializing_if = "Vec::is_empty")]
    pub non_resource_urls: Vec<String>,
    /// Namespaces in which a user's own rule holds. `*` includes the cluster scope.
    #[serde(skip)]
    pub namespaces: Vec<String>,
}

/// True if `name` is in the list.
pub(crate) fn has(list: &[String], name: &str) -> bool {
    list.iter().any(|entry| entry == name)
}

fn has_or_all(list: &[String], name: &str) -> bool {
    has(list, name) || has(list, "*")
}

/// True if `resources` has this one (`widgets/status`) or this subresource of all (`*/status`).
fn has_resource(resources: &[String], resource: &str) -> bool {
    let below = resource.split_once('/').map(|(_, below)| format!("*/{below}"));
    has_or_all(resources, resource) || below.is_some_and(|below| has(resources, &below))
}

fn has_url(urls: &[String], path: &str) -> bool {
    let reaches = |url: &String| url.ends_with('*') && path.starts_with(url.trim_end_matches('*'));
    has(urls, path) || urls.iter().any(reaches)
}

impl PolicyRule {
    /// The rules of a role. Unreadable ones allow nothing.
    fn all_of(role: &Value) -> Vec<Self> {
        let rules = list(role, "rules").iter();
        rules.filter_map(|rule| Self::deserialize(rule).ok()).collect()
    }

    fn allows(&self, action: &RbacAction<'_>) -> bool {
        has_or_all(&self.verbs, action.verb)
            && match action.path {
                Some(path) => has_url(&self.non_resource_urls, path),
                None => {
                    has_or_all(&self.api_groups, action.group)
                        && has_resource(&self.resources, &action.whole_resource())
                        && (self.resource_names.is_empty() || has(&self.resource_names, action.name))
                }
            }
    }
}

/// A decision and its reason. Refusals seldom have one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AccessDecision {
    pub(crate) allowed: bool,
    pub(crate) reason: String,
}

impl AccessDecision {
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
    rules: Option<Vec<PolicyRule>>,
}

/// A user or a group in a binding.
#[derive(Debug)]
struct Subject {
    is_group: bool,
    name: String,
    /// `RoleBinding "a/default" of Role "b" to User "c"`, with the name before the namespace.
    display: String,
}

impl Binding {
    /// All bindings, ClusterRoleBindings first.
    fn read_all(storage: &Storage) -> Vec<Self> {
        let tables = ["clusterrolebindings", "rolebindings"].map(|plural| storage.table(&id(GROUP, plural)));
        let bindings = tables.into_iter().flatten().flat_map(|table| table.list(""));
        let read = |binding: &Arc<StorageEntry>| Self::read(storage, binding.open().object());
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
            let [kind, name, ns] = ["kind", "name", "namespace"].map(|field| text(subject, field));
            // A service account without a namespace is one of the binding's namespace.
            let ns = if ns.is_empty() { namespace } else { ns };
            let (user, name) = match kind {
                "ServiceAccount" => (account_name(ns, name), within(name, ns)),
                "User" | "Group" => (name.to_owned(), name.to_owned()),
                _ => return None,
            };
            Some(Subject {
                is_group: kind == "Group",
                name: user,
                display: format!("{of} to {kind} \"{name}\""),
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
        Some((binding, subject.display.as_str()))
    })
}

/// The rules of `user` at the cluster scope and in `namespace`, if any. Rules of bindings come with the binding's
/// description.
pub(crate) fn rules<'a>(
    storage: &'a Storage,
    user: &'a User,
    namespace: &'a str,
) -> impl Iterator<Item = (&'a PolicyRule, Option<&'a str>)> {
    let bound = bindings(storage, user, namespace).flat_map(|(binding, subject)| {
        let rules = binding.rules.iter().flatten();
        rules.map(move |rule| (rule, Some(subject)))
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
fn rules_of(storage: &Storage, reference: &Value, namespace: &str) -> Option<Vec<PolicyRule>> {
    let (plural, namespace) = match text(reference, "kind") {
        "Role" => ("roles", namespace),
        _ => ("clusterroles", ""),
    };
    let role = storage.get(&id(GROUP, plural), &key(namespace, text(reference, "name")))?;
    Some(PolicyRule::all_of(role.object()))
}

/// Authorizes an action by roles and by the user's own rules.
pub(crate) fn authorize(storage: &Storage, user: &User, action: &RbacAction<'_>) -> AccessDecision {
    if user.is_master() {
        return AccessDecision::WITHOUT_REASON;
    }
    let allowing = rules(storage, user, action.namespace).find(|(rule, _)| rule.allows(action));
    let why = match allowing {
        Some((_, binding)) => binding.map(|binding| format!("allowed by {binding}")),
        None => Some(missing(storage, user, action.namespace)).filter(|why| !why.is_empty()),
    };
    AccessDecision {
        allowed: allowing.is_some(),
        reason: why.map(|why| format!("RBAC: {why}")).unwrap_or_default(),
    }
}

/// The error of a refused action.
pub(crate) fn forbidden(user: &User, action: &RbacAction<'_>, reason: &str) -> Box<StatusFailure> {
    let place = match action.namespace {
        "" => "at the cluster scope".to_owned(),
        namespace => format!("in the namespace \"{namespace}\""),
    };
    let what = match action.path {
        Some(path) => format!("path \"{path}\""),
        None => format!(
            "resource \"{}\" in API group \"{}\" {place}",
            action.whole_resource(),
            action.group
        ),
    };
    let mut why = format!("User \"{}\" cannot {} {what}", user.name, action.verb);
    if !reason.is_empty() {
        why = format!("{why}: {reason}");
    }
    StatusFailure::forbidden(Qualified::new(action.group, action.resource), action.name, &why)
}

/// Bound groups and rules, by the name of role and binding.
static ROLES: LazyLock<BTreeMap<String, (Vec<String>, Value)>> =
    LazyLock::new(|| serde_json::from_str(include_str!("bootstrap.json")).expect("a table of roles"));

/// The bootstrap objects with their plurals.
pub(crate) fn bootstrap_objects() -> Vec<(&'static str, Value)> {
    let mut objects = Vec::new();
    for (name, (groups, rules)) in &*ROLES {
        let role = bootstrap_object("ClusterRole", name, json!({"rules": rules}));
        objects.push(("clusterroles", role));
        let subject = |group| json!({"kind": "Group", "apiGroup": GROUP, "name": group});
        let binding = json!({
            "subjects": groups.iter().map(subject).collect::<Value>(),
            "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": name},
        });
        let binding = bootstrap_object("ClusterRoleBinding", name, binding);
        objects.push(("clusterrolebindings", binding));
    }
    objects
}

fn bootstrap_object(kind: &str, name: &str, mut object: Value) -> Value {
    object["kind"] = kind.into();
    object["apiVersion"] = format!("{GROUP}/v1").into();
    object["metadata"] = json!({
        "name": name,
        "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
        "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
    });
    object
}

/// Fills in defaults.
pub(crate) fn set_defaults(object: &mut Map<String, Value>) {
    let subjects = object.get_mut("subjects").and_then(Value::as_array_mut);
    let subjects = subjects.into_iter().flatten();
    for subject in subjects.filter(|subject| matches!(text(subject, "kind"), "User" | "Group")) {
        set_group(subject);
    }
    object.get_mut("roleRef").map(set_group);
}

fn set_group(subject: &mut Value) {
    if text(subject, "apiGroup").is_empty() {
        subject["apiGroup"] = GROUP.into();
    }
}

/// A role without rules shows `rules: null`.
pub(crate) fn set_rules(resource: &Resource, object: &mut Value) {
    if !resource.plural.ends_with("bindings") && list(object, "rules").is_empty() {
        object["rules"] = Value::Null;
    }
}
