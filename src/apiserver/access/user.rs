//! Users, their groups and their bearer tokens.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use parking_lot::Mutex;
use ring::rand::{SecureRandom, SystemRandom};
use serde::Serialize;

use super::rbac::{PolicyRule, has};
use crate::object::names;

/// Members of this group may do everything.
pub const MASTERS: &str = "system:masters";
/// The group of all users with a token.
pub(crate) const AUTHENTICATED: &str = "system:authenticated";
/// The group of all other users.
pub(crate) const UNAUTHENTICATED: &str = "system:unauthenticated";
pub(crate) const ANONYMOUS: &str = "system:anonymous";

/// A user, as audit events and reviews show it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct User {
    /// The name in audit events and refusals.
    #[serde(rename = "username")]
    pub name: String,
    /// All groups, including `system:authenticated`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) uid: String,
    /// Extra information about the user.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) extra: BTreeMap<String, Vec<String>>,
    /// Rights besides those of roles.
    #[serde(skip)]
    pub rules: Vec<PolicyRule>,
}

impl User {
    /// A user who may do everything.
    pub fn master(name: impl Into<String>) -> Self {
        Self::known(name.into(), &[MASTERS])
    }

    /// A user with these rules, besides those of roles.
    pub fn with_rules(name: impl Into<String>, rules: Vec<PolicyRule>) -> Self {
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

    /// The user of a service account.
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

    /// The user's own rules that hold in `namespace`, empty for the cluster scope.
    pub(crate) fn rules_in(&self, namespace: &str) -> impl Iterator<Item = &PolicyRule> {
        let holds = move |namespaces: &[String]| {
            has(namespaces, "*") || !namespace.is_empty() && has(namespaces, namespace)
        };
        self.rules.iter().filter(move |rule| holds(&rule.namespaces))
    }
}

/// The user name of a service account.
pub(crate) fn account_name(namespace: &str, name: &str) -> String {
    format!("system:serviceaccount:{namespace}:{name}")
}

/// The namespace and name of the service account with this user name.
pub(crate) fn account_of(name: &str) -> Option<(&str, &str)> {
    let (namespace, name) = name.strip_prefix("system:serviceaccount:")?.split_once(':')?;
    let is_good = names::dns_label(namespace).is_empty() && names::dns_subdomain(name).is_empty();
    is_good.then_some((namespace, name))
}

/// The users of a server, by token.
pub(crate) type UsersByToken = Mutex<HashMap<String, Arc<User>>>;

/// The first characters of every token of [`new_token`], so that a search finds leaks.
pub const TOKEN_PREFIX: &str = "in-process-token-";

/// A new bearer token, different each time. A server accepts it only after [`ApiServer::add_token`].
///
/// [`ApiServer::add_token`]: crate::ApiServer::add_token
pub fn new_token() -> String {
    let mut random = [0; 24];
    SystemRandom::new()
        .fill(&mut random)
        .expect("the random source works");
    format!("{TOKEN_PREFIX}{}", BASE64_URL_SAFE_NO_PAD.encode(random))
}
