//! What is allowed to whom: the rules of the roles to which bindings bind somebody.

use std::borrow::Cow;

use serde_json::Value;

use super::{GROUP, Rule};
use crate::lab::apiserver::auth::{User, account_name};
use crate::lab::apiserver::request::RequestInfo;
use crate::lab::apiserver::status::{Failure, Qualified};
use crate::lab::apiserver::storage::{Storage, key};

/// What somebody wants to do.
#[derive(Clone, Copy, Debug, Default)]
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

/// The rules that hold for somebody.
pub(in crate::lab::apiserver) struct Grants<'a> {
    /// Each with its binding and the subject in it; users' own rules have none.
    pub(in crate::lab::apiserver) rules: Vec<(Rule, Option<Source<'a>>)>,
    /// The kinds and names of roles that are bound and not there.
    missing: Vec<(&'a str, &'a str)>,
}

/// The binding and the subject in it that make a rule hold.
pub(in crate::lab::apiserver) type Source<'a> = (&'a Value, &'a Value);

impl<'a> Grants<'a> {
    /// All rules that hold for `user` in `namespace`: those for the whole cluster, and those of the namespace, if it is
    /// not empty.
    pub(in crate::lab::apiserver) fn find(storage: &'a Storage, user: &User, namespace: &str) -> Self {
        let mut grants = Self {
            rules: Vec::new(),
            missing: Vec::new(),
        };
        grants.add(storage, user, "clusterrolebindings", "");
        if !namespace.is_empty() {
            grants.add(storage, user, "rolebindings", namespace);
        }
        let own = user.rules_in(namespace).map(|rule| (rule, None));
        grants.rules.extend(own);
        grants
    }

    fn add(&mut self, storage: &'a Storage, user: &User, plural: &str, namespace: &str) {
        let bindings = storage.table(GROUP, plural).map(|table| table.list(namespace));
        let bindings = bindings.into_iter().flatten();
        for binding in bindings.filter_map(|(_, binding)| binding.parsed()) {
            let mut subjects = binding["subjects"].as_array().into_iter().flatten();
            let Some(subject) = subjects.find(|subject| is_meant(subject, user, namespace)) else {
                continue;
            };
            match role(storage, &binding["roleRef"], namespace) {
                Some(role) => {
                    let rules = Rule::all_of(role).into_iter();
                    self.rules
                        .extend(rules.map(|rule| (rule, Some((binding, subject)))));
                }
                None => {
                    let missing = (
                        text(&binding["roleRef"], "kind"),
                        text(&binding["roleRef"], "name"),
                    );
                    if !self.missing.contains(&missing) {
                        self.missing.push(missing);
                    }
                }
            }
        }
    }

    /// Which roles are not there, empty where all are. `resource` is what they are called, instead of by their kind.
    pub(in crate::lab::apiserver) fn missing(&self, resource: Option<&str>) -> String {
        let told = self.missing.iter().map(|(kind, name)| {
            let kind = resource.map_or_else(|| kind.to_lowercase(), str::to_owned);
            format!("{kind}.{GROUP} \"{name}\" not found")
        });
        let told: Vec<String> = told.collect();
        match told.as_slice() {
            [] => String::new(),
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        }
    }
}

/// The role that a binding in `namespace` refers to.
pub(super) fn role<'a>(storage: &'a Storage, reference: &Value, namespace: &str) -> Option<&'a Value> {
    let (plural, namespace) = match text(reference, "kind") {
        "Role" => ("roles", namespace),
        _ => ("clusterroles", ""),
    };
    let id = (GROUP.to_owned(), plural.to_owned());
    storage
        .kept(&id, &key(namespace, text(reference, "name")))?
        .parsed()
}

pub(super) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}

/// Whether a binding's subject is this user. Accounts are those of the binding's namespace, unless it says another.
fn is_meant(subject: &Value, user: &User, namespace: &str) -> bool {
    let name = text(subject, "name");
    match text(subject, "kind") {
        "User" => user.name == name,
        "Group" => user.groups.iter().any(|group| group == name),
        "ServiceAccount" => {
            let namespace = match text(subject, "namespace") {
                "" => namespace,
                namespace => namespace,
            };
            !namespace.is_empty() && user.name == account_name(namespace, name)
        }
        _ => false,
    }
}

/// `RoleBinding "a/default" of Role "b" to User "c"`. Names stand before namespaces here.
fn told((binding, subject): Source<'_>) -> String {
    let within = |namespace: &str, name: &str| match namespace {
        "" => name.to_owned(),
        namespace => format!("{name}/{namespace}"),
    };
    let (metadata, reference) = (&binding["metadata"], &binding["roleRef"]);
    let namespace = text(metadata, "namespace");
    let subject_namespace = match (text(subject, "kind"), text(subject, "namespace")) {
        ("ServiceAccount", "") => namespace,
        ("ServiceAccount", namespace) => namespace,
        _ => "",
    };
    format!(
        "{} \"{}\" of {} \"{}\" to {} \"{}\"",
        if namespace.is_empty() {
            "ClusterRoleBinding"
        } else {
            "RoleBinding"
        },
        within(namespace, text(metadata, "name")),
        text(reference, "kind"),
        text(reference, "name"),
        text(subject, "kind"),
        within(subject_namespace, text(subject, "name")),
    )
}

/// Decides by roles and by the user's own rules whether `user` may do this.
pub(in crate::lab::apiserver) fn authorize(storage: &Storage, user: &User, act: &Act<'_>) -> Decision {
    if user.is_master() {
        return Decision::WITHOUT_REASON;
    }
    // Rules of the user's own need no looking up, and have no reason.
    if user.rules_in(act.namespace).any(|rule| rule.allows(act)) {
        return Decision::WITHOUT_REASON;
    }
    let grants = Grants::find(storage, user, act.namespace);
    let allowing = grants.rules.iter().find(|(rule, _)| rule.allows(act));
    let why = match allowing {
        Some((_, source)) => source
            .map(|source| format!("allowed by {}", told(source)))
            .unwrap_or_default(),
        None => grants.missing(None),
    };
    Decision {
        allowed: allowing.is_some(),
        reason: if why.is_empty() {
            why
        } else {
            format!("RBAC: {why}")
        },
    }
}

/// The refusal of what `user` may not do.
pub(in crate::lab::apiserver) fn forbidden(user: &User, act: &Act<'_>, reason: &str) -> Box<Failure> {
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
    let subject = Qualified {
        group: act.group,
        resource: act.resource,
    };
    Failure::forbidden(subject, act.name, &why)
}
