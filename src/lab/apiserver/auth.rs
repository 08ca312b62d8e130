//! Who asks: bearer tokens name users, and who may act as another says so in headers.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use http::HeaderMap;
use serde_json::{Map, Value, json};

use super::names;
use super::rbac::{self, Act, Decision, Rule};
use super::request::decoded;
use super::server::ApiServer;
use super::status::{Failure, Outcome};
use super::storage::key;

/// The group whose members may do everything.
pub const MASTERS: &str = "system:masters";
/// The group of everybody who has a token.
pub(super) const AUTHENTICATED: &str = "system:authenticated";
/// The group of everybody else.
pub(super) const UNAUTHENTICATED: &str = "system:unauthenticated";
const ANONYMOUS: &str = "system:anonymous";

/// What a [`User`] may do besides what roles say. Each list may hold `*`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessRule {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub verbs: Vec<String>,
    /// API groups; the core group is the empty text.
    pub groups: Vec<String>,
    /// Plurals, with `/status` for the subresource.
    pub resources: Vec<String>,
    /// Namespaces in which the rule holds. Only with `*` does it hold for the whole cluster.
    pub namespaces: Vec<String>,
}

/// Somebody with a bearer token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// The name that audit events and refusals tell.
    pub name: String,
    /// All groups, `system:authenticated` among them.
    pub groups: Vec<String>,
    /// What the user may do besides what roles say.
    pub rules: Vec<AccessRule>,
    pub(super) uid: String,
    /// What else is told of the user.
    pub(super) extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// A user who may do everything.
    pub fn master(name: impl Into<String>) -> Self {
        Self::known(name.into(), &[MASTERS])
    }

    /// A user with these rules, and with what roles allow.
    pub fn with_rules(name: impl Into<String>, rules: Vec<AccessRule>) -> Self {
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
    pub(super) fn account(namespace: &str, name: &str, uid: &str) -> Self {
        let group = format!("system:serviceaccounts:{namespace}");
        Self {
            uid: uid.to_owned(),
            ..Self::known(account_name(namespace, name), &["system:serviceaccounts", &group])
        }
    }

    pub(super) fn is_master(&self) -> bool {
        self.is_in(MASTERS)
    }

    fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own == group)
    }

    /// The rules of the user's own that hold in `namespace`, which is empty for the whole cluster.
    pub(super) fn rules_in(&self, namespace: &str) -> impl Iterator<Item = Rule> {
        let has = |list: &[String], wanted: &str| list.iter().any(|entry| entry == wanted);
        let holds = move |rule: &&AccessRule| {
            has(&rule.namespaces, "*") || !namespace.is_empty() && has(&rule.namespaces, namespace)
        };
        self.rules.iter().filter(holds).map(move |rule| {
            let lists = [&rule.verbs, &rule.groups, &rule.resources, &rule.namespaces];
            // Who may do everything may do so outside of the resources as well.
            let is_everything = lists.iter().all(|list| has(list, "*"));
            Rule {
                verbs: rule.verbs.clone(),
                api_groups: rule.groups.clone(),
                resources: rule.resources.clone(),
                resource_names: Vec::new(),
                non_resource_urls: is_everything.then(|| "*".to_owned()).into_iter().collect(),
            }
        })
    }

    /// What audit events and reviews tell of the user.
    pub(super) fn info(&self) -> Value {
        let mut info = Map::new();
        info.insert("username".into(), self.name.clone().into());
        if !self.uid.is_empty() {
            info.insert("uid".into(), self.uid.clone().into());
        }
        if !self.groups.is_empty() {
            info.insert("groups".into(), self.groups.clone().into());
        }
        if !self.extra.is_empty() {
            info.insert("extra".into(), json!(self.extra));
        }
        info.into()
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
        match wanted.name.is_empty() {
            false => Ok(Some(wanted)),
            true if wanted == Self::default() => Ok(None),
            true => Err(Failure::bad_request(format!(
                "requested {} without impersonating a user name",
                wanted.as_go()
            ))),
        }
    }

    /// As Go shows such a value.
    fn as_go(&self) -> String {
        let list = |list: &[String]| format!("[]string{{{}}}", format!("{list:?}").trim_matches(['[', ']']));
        let groups = match self.groups.as_slice() {
            [] => "[]string(nil)".to_owned(),
            groups => list(groups),
        };
        let extra = self
            .extra
            .iter()
            .map(|(key, values)| format!("{key:?}:{}", list(values)));
        let extra = match extra.collect::<Vec<_>>().as_slice() {
            [] => "(nil)".to_owned(),
            some => format!("{{{}}}", some.join(", ")),
        };
        format!(
            "&user.DefaultInfo{{Name:{:?}, UID:{:?}, Groups:{groups}, Extra:map[string][]string{extra}}}",
            self.name, self.uid
        )
    }
}

/// The name under which a service account asks.
pub(super) fn account_name(namespace: &str, name: &str) -> String {
    format!("system:serviceaccount:{namespace}:{name}")
}

/// The namespace and name of the service account that asks under this name.
fn account_of(name: &str) -> Option<(&str, &str)> {
    let (namespace, name) = name.strip_prefix("system:serviceaccount:")?.split_once(':')?;
    let is_good = names::dns_label(namespace).is_empty() && names::dns_subdomain(name).is_empty();
    is_good.then_some((namespace, name))
}

/// The users of a server, by token.
#[derive(Debug, Default)]
pub(super) struct Users(Mutex<HashMap<String, Arc<User>>>);

/// The bearer token of a user. The lab has no secrets: it is made of the name.
pub(super) fn token(user: &str) -> String {
    format!("lab-{user}")
}

impl Users {
    pub(super) fn add(&self, user: User) {
        self.add_token(&token(&user.name), user);
    }

    /// Makes a user known by this token, besides others.
    pub(super) fn add_token(&self, token: &str, user: impl Into<Arc<User>>) {
        let mut users = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        users.insert(token.to_owned(), user.into());
    }

    fn get(&self, token: &str) -> Option<Arc<User>> {
        let users = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        users.get(token).cloned()
    }
}

impl ApiServer {
    /// Whose token this is. Those of service accounts are good as long as the account is there.
    pub(super) fn user_of(&self, token: &str) -> Option<Arc<User>> {
        let user = self.inner.users.get(token)?;
        let is_there = account_of(&user.name).is_none_or(|(namespace, name)| {
            let id = (String::new(), "serviceaccounts".to_owned());
            let storage = self.storage();
            let account = storage.get(&id, &key(namespace, name));
            account.is_some_and(|account| account.object()["metadata"]["uid"] == user.uid.as_str())
        });
        is_there.then_some(user)
    }

    /// Decides whether `user` may do this. Masters may do everything, whatever roles say.
    pub(super) fn authorize(&self, user: &User, act: &Act<'_>) -> Decision {
        match user.is_master() {
            // Without waiting for the storage.
            true => Decision::WITHOUT_REASON,
            false => rbac::authorize(&self.storage(), user, act),
        }
    }

    /// Who sent a request.
    pub(super) fn authenticate(&self, headers: &HeaderMap) -> Outcome<Arc<User>> {
        let header = headers.get(http::header::AUTHORIZATION);
        let token = header
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.strip_prefix("Bearer "));
        let user = token.and_then(|token| self.user_of(token.trim()));
        user.ok_or_else(Failure::unauthorized)
    }
}

/// The user as whom `asker` wants to act, if that is allowed for what is asked.
pub(super) fn impersonated(
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
    let check = |user: &User, act: Act<'_>| {
        let decision = server.authorize(user, &act);
        let refusal = || rbac::forbidden(user, &act, &decision.reason);
        decision.allowed.then_some(()).ok_or_else(refusal)
    };
    let in_mode = mode.map(|mode| {
        let verb = format!("impersonate-on:{mode}:{}", act.verb);
        check(asker, Act { verb: &verb, ..*act })?;
        let verb = format!("impersonate:{mode}");
        for act in acts(&wanted, &verb, "authentication.k8s.io") {
            if act.resource == "groups" && matches!(act.name, "" | MASTERS) {
                let why = format!("impersonating the {} group is not allowed", act.name);
                return Err(rbac::forbidden(asker, &act, &why));
            }
            check(asker, act)?;
        }
        Ok(())
    });
    if !matches!(in_mode, Some(Ok(()))) {
        let mut acts = acts(&wanted, "impersonate", "").into_iter();
        let older = acts.try_for_each(|act| check(asker, act));
        // The first refusal is the one that is told.
        older.map_err(|refusal| in_mode.and_then(Result::err).unwrap_or(refusal))?;
    }
    Ok(Some(complete(wanted)))
}

/// What one has to be allowed to act as somebody; names and groups are of `group`.
fn acts<'a>(wanted: &'a User, verb: &'a str, group: &'a str) -> Vec<Act<'a>> {
    let act = |resource, name| Act {
        verb,
        group,
        resource,
        name,
        ..Act::default()
    };
    let mut acts = vec![match account_of(&wanted.name) {
        Some((namespace, name)) => Act {
            namespace,
            ..act("serviceaccounts", name)
        },
        None => act("users", wanted.name.as_str()),
    }];
    let always = "authentication.k8s.io";
    if !wanted.uid.is_empty() {
        acts.push(Act {
            group: always,
            ..act("uids", &wanted.uid)
        });
    }
    acts.extend(wanted.groups.iter().map(|name| act("groups", name)));
    for (subresource, values) in &wanted.extra {
        acts.extend(values.iter().map(|value| Act {
            group: always,
            subresource,
            ..act("userextras", value)
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
