//! Authenticates requests by bearer tokens, and impersonates users.

use std::sync::Arc;

use http::HeaderMap;

use crate::{
    access::{
        rbac,
        rbac::{Act, Decision},
        user::{ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED, User, account_of},
    },
    context::state::State,
    object::{
        meta,
        status::{Failure, Outcome},
    },
    request::info::decoded,
    store::{
        resource::id,
        storage::{Stored, key},
    },
};

impl State {
    /// Lets `token` authenticate `user`.
    pub(crate) fn add_token(&self, token: &str, user: User) {
        self.users.lock().insert(token.to_owned(), user.into());
    }

    /// The user of a token. A service account's token is valid while the account exists.
    pub(crate) fn user_of(&self, token: &str) -> Option<Arc<User>> {
        let user = self.users.lock().get(token).cloned()?;
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

    /// Authorizes an action. Masters may do everything.
    pub(crate) fn authorize(&self, user: &User, act: &Act<'_>) -> Decision {
        if user.is_master() {
            // Does not wait for the storage.
            Decision::WITHOUT_REASON
        } else {
            rbac::authorize(&self.storage(), user, act)
        }
    }

    /// Returns the user who sent a request.
    pub(crate) fn authenticate(&self, headers: &HeaderMap) -> Outcome<Arc<User>> {
        let header = headers.get(http::header::AUTHORIZATION);
        let token = header
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.strip_prefix("Bearer "));
        let user = token.and_then(|token| self.user_of(token.trim()));
        user.ok_or_else(|| Failure::new(401, "Unauthorized", "Unauthorized"))
    }
}

/// The user whom the headers ask to impersonate, with the requested groups.
fn wanted(headers: &HeaderMap) -> Outcome<Option<User>> {
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
    let wanted = User {
        name: first("impersonate-user"),
        uid: first("impersonate-uid"),
        groups: texts("impersonate-group"),
        extra: extra.collect(),
        rules: Vec::new(),
    };
    if wanted.name.is_empty() && wanted != User::default() {
        let wanted = as_go(&wanted);
        let why = format!("requested {wanted} without impersonating a user name");
        return Err(Failure::bad_request(why));
    }
    Ok(Some(wanted).filter(|wanted| !wanted.name.is_empty()))
}

/// As Go prints it.
fn as_go(user: &User) -> String {
    let whole = |kind: &str, parts: Vec<String>| {
        if parts.is_empty() {
            format!("{kind}(nil)")
        } else {
            format!("{kind}{{{}}}", parts.join(", "))
        }
    };
    let quoted = |text: &String| format!("{text:?}");
    let texts = |list: &[String]| whole("[]string", list.iter().map(quoted).collect());
    let extra = user.extra.iter();
    let extra = extra.map(|(key, values)| format!("{key:?}:{}", texts(values)));
    format!(
        "&user.DefaultInfo{{Name:{:?}, UID:{:?}, Groups:{}, Extra:{}}}",
        user.name,
        user.uid,
        texts(&user.groups),
        whole("map[string][]string", extra.collect())
    )
}

/// Returns the impersonated user, if `asker` may impersonate it for this action.
pub(crate) fn impersonated(
    state: &State,
    asker: &User,
    headers: &HeaderMap,
    act: &Act<'_>,
) -> Outcome<Option<User>> {
    let Some(wanted) = wanted(headers)? else {
        return Ok(None);
    };
    // Impersonation is granted for some actions, or, in the older way, for all.
    let only_named = wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
    let mode = match account_of(&wanted.name) {
        Some(_) => only_named.then_some("serviceaccount"),
        None => (!wanted.name.starts_with("system:node:")).then_some("user-info"),
    };
    let check = |act: Act<'_>| match state.authorize(asker, &act) {
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
        // The first refusal is reported.
        older.map_err(|refusal| in_mode.and_then(Result::err).unwrap_or(refusal))?;
    }
    Ok(Some(complete(wanted)))
}

/// The permissions that impersonation needs. Names and groups are resources of `group`.
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

/// Adds the implied groups.
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
