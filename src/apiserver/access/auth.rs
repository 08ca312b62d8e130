//! Who asks: bearer tokens name users, and who may act as another says so in headers.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex},
};

use http::HeaderMap;
use serde::Serialize;

use super::rbac::{self, Act, Decision, Rule, has};
use crate::{
    http::request::decoded,
    object::{
        meta, names,
        status::{Failure, Outcome},
    },
    server::{ApiServer, lock},
    store::storage::{Stored, id, key},
};

/// The group whose members may do everything.
pub const MASTERS: &str = "system:masters";
/// The group of everybody who has a token.
pub(crate) const AUTHENTICATED: &str = "system:authenticated";
/// The group of everybody else.
pub(crate) const UNAUTHENTICATED: &str = "system:unauthenticated";
const ANONYMOUS: &str = "system:anonymous";

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

    /// Whom the headers ask to act as, if they do; groups are those that are asked for.
    fn wanted(headers: &HeaderMap) -> Outcome<Option<Self>> {
        let texts = |name: &str| -> Vec<String> {
            let values = headers.get_all(name).iter();
            values
                .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
                .collect()
        };
        let first = |name: &str| texts(name).into_iter().next().unwrap_or_default();
        let extra = headers.keys().filter_map(|name| {
            let key = name.as_str().strip_prefix("impersonate-extra-")?;
            Some((decoded(key), texts(name.as_str())))
        });
        let wanted = Self {
            name: first("impersonate-user"),
            uid: first("impersonate-uid"),
            groups: texts("impersonate-group"),
            extra: extra.collect(),
            rules: Vec::new(),
        };
        if wanted.name.is_empty() && wanted != Self::default() {
            let wanted = wanted.as_go();
            let why = format!("requested {wanted} without impersonating a user name");
            return Err(Failure::bad_request(why));
        }
        Ok(Some(wanted).filter(|wanted| !wanted.name.is_empty()))
    }

    /// As Go shows such a value.
    fn as_go(&self) -> String {
        let whole = |kind: &str, parts: Vec<String>| match parts.is_empty() {
            true => format!("{kind}(nil)"),
            false => format!("{kind}{{{}}}", parts.join(", ")),
        };
        let quoted = |text: &String| format!("{text:?}");
        let texts = |list: &[String]| whole("[]string", list.iter().map(quoted).collect());
        let extra = self.extra.iter();
        let extra = extra.map(|(key, values)| format!("{key:?}:{}", texts(values)));
        format!(
            "&user.DefaultInfo{{Name:{:?}, UID:{:?}, Groups:{}, Extra:{}}}",
            self.name,
            self.uid,
            texts(&self.groups),
            whole("map[string][]string", extra.collect())
        )
    }
}

/// The name under which a service account asks.
pub(crate) fn account_name(namespace: &str, name: &str) -> String {
    format!("system:serviceaccount:{namespace}:{name}")
}

/// The namespace and name of the service account that asks under this name.
fn account_of(name: &str) -> Option<(&str, &str)> {
    let (namespace, name) = name.strip_prefix("system:serviceaccount:")?.split_once(':')?;
    let is_good = names::dns_label(namespace).is_empty() && names::dns_subdomain(name).is_empty();
    is_good.then_some((namespace, name))
}

/// The users of a server, by token.
pub(crate) type Users = Mutex<HashMap<String, Arc<User>>>;

impl ApiServer {
    /// Makes `user` known by this bearer token as well.
    pub fn add_token(&self, token: &str, user: User) {
        lock(&self.inner.users).insert(token.to_owned(), user.into());
    }

    /// Whose token this is. Those of service accounts are good as long as the account is there.
    pub(crate) fn user_of(&self, token: &str) -> Option<Arc<User>> {
        let user = lock(&self.inner.users).get(token).cloned()?;
        let is_there = account_of(&user.name).is_none_or(|(namespace, name)| {
            let account = self.service_account(namespace, name);
            account.is_some_and(|account| meta::text(account.object(), "uid") == user.uid)
        });
        is_there.then_some(user)
    }

    pub(crate) fn service_account(&self, namespace: &str, name: &str) -> Option<Arc<Stored>> {
        self.storage()
            .get(&id("", "serviceaccounts"), &key(namespace, name))
    }

    /// Decides whether `user` may do this. Masters may do everything, whatever roles say.
    pub(crate) fn authorize(&self, user: &User, act: &Act<'_>) -> Decision {
        match user.is_master() {
            // Without waiting for the storage.
            true => Decision::WITHOUT_REASON,
            false => rbac::authorize(&self.storage(), user, act),
        }
    }

    /// Who sent a request.
    pub(crate) fn authenticate(&self, headers: &HeaderMap) -> Outcome<Arc<User>> {
        let header = headers.get(http::header::AUTHORIZATION);
        let token = header
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.strip_prefix("Bearer "));
        let user = token.and_then(|token| self.user_of(token.trim()));
        user.ok_or_else(|| Failure::new(401, "Unauthorized", "Unauthorized"))
    }
}

/// The user as whom `asker` wants to act, if that is allowed for what is asked.
pub(crate) fn impersonated(
    server: &ApiServer,
    asker: &User,
    headers: &HeaderMap,
    act: &Act<'_>,
) -> Outcome<Option<User>> {
    let Some(wanted) = User::wanted(headers)? else {
        return Ok(None);
    };
    // One may be allowed to act as others in certain requests only, or, in the older way, in all.
    let only_named = wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
    let mode = match account_of(&wanted.name) {
        Some(_) => only_named.then_some("serviceaccount"),
        None => (!wanted.name.starts_with("system:node:")).then_some("user-info"),
    };
    let check = |act: Act<'_>| match server.authorize(asker, &act) {
        Decision { allowed: true, .. } => Ok(()),
        Decision { reason, .. } => Err(rbac::forbidden(asker, &act, &reason)),
    };
    let in_mode = mode.map(|mode| {
        let verb = format!("impersonate-on:{mode}:{}", act.verb);
        check(Act { verb: &verb, ..*act })?;
        let verb = format!("impersonate:{mode}");
        for act in acts(&wanted, &verb, "authentication.k8s.io") {
            if act.resource == "groups" && matches!(act.name, "" | MASTERS) {
                let why = format!("impersonating the {} group is not allowed", act.name);
                return Err(rbac::forbidden(asker, &act, &why));
            }
            check(act)?;
        }
        Ok(())
    });
    if !matches!(in_mode, Some(Ok(()))) {
        let older = acts(&wanted, "impersonate", "").into_iter().try_for_each(check);
        // The first refusal is the one that is told.
        older.map_err(|refusal| in_mode.and_then(Result::err).unwrap_or(refusal))?;
    }
    Ok(Some(complete(wanted)))
}

/// What one has to be allowed to act as somebody; names and groups are of `group`.
fn acts<'a>(wanted: &'a User, verb: &'a str, group: &'a str) -> Vec<Act<'a>> {
    let act = |group, resource, name| Act {
        verb,
        group,
        resource,
        name,
        ..Act::default()
    };
    let always = "authentication.k8s.io";
    let mut acts = vec![match account_of(&wanted.name) {
        Some((namespace, name)) => Act {
            namespace,
            ..act(group, "serviceaccounts", name)
        },
        None => act(group, "users", &wanted.name),
    }];
    if !wanted.uid.is_empty() {
        acts.push(act(always, "uids", &wanted.uid));
    }
    acts.extend(wanted.groups.iter().map(|name| act(group, "groups", name)));
    for (subresource, values) in &wanted.extra {
        acts.extend(values.iter().map(|value| Act {
            subresource,
            ..act(always, "userextras", value)
        }));
    }
    acts
}

/// The user with the groups that go without saying.
fn complete(mut user: User) -> User {
    if let (Some((namespace, name)), true) = (account_of(&user.name), user.groups.is_empty()) {
        user.groups = User::account(namespace, name, "").groups;
    }
    let group = match user.name.as_str() {
        ANONYMOUS => UNAUTHENTICATED,
        _ if user.is_in(UNAUTHENTICATED) => return user,
        _ => AUTHENTICATED,
    };
    if !user.is_in(group) {
        user.groups.push(group.to_owned());
    }
    user
}
