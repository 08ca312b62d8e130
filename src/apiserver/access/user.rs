//! Users, as audit events, reviews and refusals tell of them.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use parking_lot::Mutex;
use serde::Serialize;

use super::rbac::{Rule, has};
use crate::object::names;

/// The group whose members may do everything.
pub const MASTERS: &str = "system:masters";
/// The group of everybody who has a token.
pub(crate) const AUTHENTICATED: &str = "system:authenticated";
/// The group of everybody else.
pub(crate) const UNAUTHENTICATED: &str = "system:unauthenticated";
pub(crate) const ANONYMOUS: &str = "system:anonymous";

/// Somebody with a bearer token, as audit events and reviews tell it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct User {
    /// The name that audit events and refusals tell.
    #[serde(rename = "username")]
    pub name: String,
    /// All groups, `system:authenticated` among them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) uid: String,
    /// What else is told of the user.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) extra: BTreeMap<String, Vec<String>>,
    /// What the user may do besides what roles say.
    #[serde(skip)]
    pub rules: Vec<Rule>,
}

impl User {
    /// A user who may do everything.
    pub fn master(name: impl Into<String>) -> Self {
        Self::known(name.into(), &[MASTERS])
    }

    /// A user with these rules, and with what roles allow.
    pub fn with_rules(name: impl Into<String>, rules: Vec<Rule>) -> Self {
        Self {
            rules,
            ..Self::known(name.into(), &[])
        }
    }

    fn known(name: String, groups: &[&str]) -> Self {
        let groups = groups.iter().copied().chain([AUTHENTICATED]);
        Self {
            uid: name.clone(),
            name,
            groups: groups.map(str::to_owned).collect(),
            ..Self::default()
        }
    }

    /// The user that a service account is.
    pub(crate) fn account(namespace: &str, name: &str, uid: &str) -> Self {
        let group = format!("system:serviceaccounts:{namespace}");
        Self {
            uid: uid.to_owned(),
            ..Self::known(account_name(namespace, name), &["system:serviceaccounts", &group])
        }
    }

    pub(crate) fn is_master(&self) -> bool {
        self.is_in(MASTERS)
    }

    pub(crate) fn is_in(&self, group: &str) -> bool {
        has(&self.groups, group)
    }

    /// The rules of the user's own that hold in `namespace`, which is empty for the whole cluster.
    pub(crate) fn rules_in(&self, namespace: &str) -> impl Iterator<Item = &Rule> {
        let holds = move |namespaces: &[String]| {
            has(namespaces, "*") || !namespace.is_empty() && has(namespaces, namespace)
        };
        self.rules.iter().filter(move |rule| holds(&rule.namespaces))
    }
}

/// The name under which a service account asks.
pub(crate) fn account_name(namespace: &str, name: &str) -> String {
    format!("system:serviceaccount:{namespace}:{name}")
}

/// The namespace and name of the service account that asks under this name.
pub(crate) fn account_of(name: &str) -> Option<(&str, &str)> {
    let (namespace, name) = name.strip_prefix("system:serviceaccount:")?.split_once(':')?;
    let is_good = names::dns_label(namespace).is_empty() && names::dns_subdomain(name).is_empty();
    is_good.then_some((namespace, name))
}

/// The users of a server, by token.
pub(crate) type Users = Mutex<HashMap<String, Arc<User>>>;
