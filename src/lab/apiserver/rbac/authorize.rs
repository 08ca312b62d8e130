//! What is allowed to whom: the rules of the roles to which bindings bind somebody.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::{GROUP, Rule};
use crate::lab::apiserver::auth::{User, account_name};
use crate::lab::apiserver::meta;
use crate::lab::apiserver::request::RequestInfo;
use crate::lab::apiserver::status::{Failure, Qualified};
use crate::lab::apiserver::storage::{Storage, Stored, key};
use crate::lab::apiserver::value::{list, text};

/// What somebody wants to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(default)]
pub(in crate::lab::apiserver) struct Act<'a> {
    pub(in crate::lab::apiserver) verb: &'a str,
    pub(in crate::lab::apiserver) group: &'a str,
    pub(in crate::lab::apiserver) resource: &'a str,
    pub(in crate::lab::apiserver) subresource: &'a str,
    /// Empty for the whole cluster.
    pub(in crate::lab::apiserver) namespace: &'a str,
    pub(in crate::lab::apiserver) name: &'a str,
    /// Where it is about no resource at all.
    pub(in crate::lab::apiserver) path: Option<&'a str>,
}

impl<'a> Act<'a> {
    /// What a request wants.
    pub(in crate::lab::apiserver) fn of(info: &'a RequestInfo) -> Self {
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

    /// `clusterprofiles`, `clusterprofiles/status`
    pub(super) fn whole_resource(&self) -> Cow<'a, str> {
        match self.subresource {
            "" => self.resource.into(),
            subresource => format!("{}/{subresource}", self.resource).into(),
        }
    }
}

/// Whether something is allowed, and why; a refusal seldom has a reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::lab::apiserver) struct Decision {
    pub(in crate::lab::apiserver) allowed: bool,
    pub(in crate::lab::apiserver) reason: String,
}

impl Decision {
    /// What masters are allowed, and what users' own rules allow.
    pub(in crate::lab::apiserver) const WITHOUT_REASON: Self = Self {
        allowed: true,
        reason: String::new(),
    };
}

/// All bindings with the rules that they make hold, as they are until a role or a binding changes.
#[derive(Debug)]
pub(in crate::lab::apiserver) struct Policy(Vec<(Arc<Stored>, Option<Vec<Rule>>)>);

impl Policy {
    /// Reads it anew. What is bound and not there has no rules.
    pub(in crate::lab::apiserver) fn read(storage: &Storage) -> Self {
        let plurals = ["clusterrolebindings", "rolebindings"].into_iter();
        let tables = plurals.filter_map(|plural| storage.table(GROUP, plural));
        let bindings = tables.flat_map(|table| table.list(""));
        let bindings = bindings.map(|(_, binding)| {
            let stored = binding.open();
            let object = stored.object();
            let rules = role(storage, &object["roleRef"], meta::text(object, "namespace"));
            (stored, rules)
        });
        Self(bindings.collect())
    }
}

/// The binding and the subject in it that make a rule hold.
pub(in crate::lab::apiserver) type Source<'a> = (&'a Value, &'a Value);

/// The bindings that name `user`, for the whole cluster and in `namespace`, if it is not empty.
fn bindings<'a>(
    storage: &'a Storage,
    user: &'a User,
    namespace: &'a str,
) -> impl Iterator<Item = (Source<'a>, Option<&'a Vec<Rule>>)> {
    storage.policy().0.iter().filter_map(move |(binding, rules)| {
        let binding = binding.object();
        let within = meta::text(binding, "namespace");
        let mut subjects = list(binding, "subjects").iter();
        let subject = subjects.find(|subject| is_meant(subject, user, within))?;
        (within.is_empty() || within == namespace).then_some(((binding, subject), rules.as_ref()))
    })
}

/// All rules that hold for `user` for the whole cluster and in `namespace`, if it is not empty, each with its source;
/// users' own rules have none.
pub(in crate::lab::apiserver) fn rules<'a>(
    storage: &'a Storage,
    user: &'a User,
    namespace: &'a str,
) -> impl Iterator<Item = (&'a Rule, Option<Source<'a>>)> {
    let bound = bindings(storage, user, namespace).flat_map(|(source, rules)| {
        let rules = rules.into_iter().flatten();
        rules.map(move |rule| (rule, Some(source)))
    });
    user.rules_in(namespace).map(|rule| (rule, None)).chain(bound)
}

/// Which roles that are bound to `user` are not there, empty where all are. `resource` is what they are called, instead
/// of by their kind.
pub(in crate::lab::apiserver) fn missing(
    storage: &Storage,
    user: &User,
    namespace: &str,
    resource: Option<&str>,
) -> String {
    let mut told: Vec<String> = Vec::new();
    for ((binding, _), _) in bindings(storage, user, namespace).filter(|(_, rules)| rules.is_none()) {
        let [kind, name] = ["kind", "name"].map(|field| text(&binding["roleRef"], field));
        let kind = resource.map_or_else(|| kind.to_lowercase(), str::to_owned);
        let line = format!("{kind}.{GROUP} \"{name}\" not found");
        if !told.contains(&line) {
            told.push(line);
        }
    }
    match told.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}

/// The rules of the role that a binding in `namespace` refers to.
pub(super) fn role(storage: &Storage, reference: &Value, namespace: &str) -> Option<Vec<Rule>> {
    let (plural, namespace) = match text(reference, "kind") {
        "Role" => ("roles", namespace),
        _ => ("clusterroles", ""),
    };
    let id = (GROUP.to_owned(), plural.to_owned());
    let role = storage.get(&id, &key(namespace, text(reference, "name")))?;
    Some(Rule::all_of(role.object()))
}

/// Whether a binding's subject is this user. Accounts are those of the binding's namespace, unless it says another.
fn is_meant(subject: &Value, user: &User, namespace: &str) -> bool {
    let name = text(subject, "name");
    match text(subject, "kind") {
        "User" => user.name == name,
        "Group" => user.is_in(name),
        "ServiceAccount" => {
            let namespace = account_namespace(subject, namespace);
            !namespace.is_empty() && user.name == account_name(namespace, name)
        }
        _ => false,
    }
}

/// The namespace of the service account that is the subject of a binding in `namespace`.
fn account_namespace<'a>(subject: &'a Value, namespace: &'a str) -> &'a str {
    match text(subject, "namespace") {
        "" => namespace,
        namespace => namespace,
    }
}

/// `RoleBinding "a/default" of Role "b" to User "c"`. Names stand before namespaces here.
fn told((binding, subject): Source<'_>) -> String {
    let within = |name: &str, namespace: &str| match namespace {
        "" => name.to_owned(),
        namespace => format!("{name}/{namespace}"),
    };
    let namespace = meta::text(binding, "namespace");
    let (kind, name) = (
        text(binding, "kind"),
        within(meta::text(binding, "name"), namespace),
    );
    let [role_kind, role] = ["kind", "name"].map(|field| text(&binding["roleRef"], field));
    let [subject_kind, subject_name] = ["kind", "name"].map(|field| text(subject, field));
    let subject = match subject_kind {
        "ServiceAccount" => within(subject_name, account_namespace(subject, namespace)),
        _ => subject_name.to_owned(),
    };
    format!("{kind} \"{name}\" of {role_kind} \"{role}\" to {subject_kind} \"{subject}\"")
}

/// Decides by roles and by the user's own rules whether `user` may do this.
pub(in crate::lab::apiserver) fn authorize(storage: &Storage, user: &User, act: &Act<'_>) -> Decision {
    if user.is_master() {
        return Decision::WITHOUT_REASON;
    }
    let allowing = rules(storage, user, act.namespace).find(|(rule, _)| rule.allows(act));
    let why = match allowing {
        Some((_, source)) => source.map(|source| format!("allowed by {}", told(source))),
        None => Some(missing(storage, user, act.namespace, None)).filter(|why| !why.is_empty()),
    };
    Decision {
        allowed: allowing.is_some(),
        reason: why.map(|why| format!("RBAC: {why}")).unwrap_or_default(),
    }
}

/// The refusal of what `user` may not do.
pub(in crate::lab::apiserver) fn forbidden(user: &User, act: &Act<'_>, reason: &str) -> Box<Failure> {
    let (group, resource) = (act.group, act.resource);
    let place = match act.namespace {
        "" => "at the cluster scope".to_owned(),
        namespace => format!("in the namespace \"{namespace}\""),
    };
    let what = match act.path {
        Some(path) => format!("path \"{path}\""),
        None => format!(
            "resource \"{}\" in API group \"{group}\" {place}",
            act.whole_resource()
        ),
    };
    let mut why = format!("User \"{}\" cannot {} {what}", user.name, act.verb);
    if !reason.is_empty() {
        why = format!("{why}: {reason}");
    }
    Failure::forbidden(Qualified { group, resource }, act.name, &why)
}
