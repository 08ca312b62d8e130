//! Authenticates requests by bearer tokens, and impersonates users.

use std::sync::Arc;

use http::HeaderMap;

use crate::{
    access::{
        rbac,
        rbac::{Act, Decision},
        user::{ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, User, account_of},
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
        return Err(Failure::bad_request(
            "requested impersonation without impersonating a user name",
        ));
    }
    Ok(Some(wanted).filter(|wanted| !wanted.name.is_empty()))
}

/// Returns the impersonated user, if `asker` may impersonate it.
pub(crate) fn impersonated(state: &State, asker: &User, headers: &HeaderMap) -> Outcome<Option<User>> {
    let Some(wanted) = wanted(headers)? else {
        return Ok(None);
    };
    for act in acts(&wanted) {
        let decision = state.authorize(asker, &act);
        if !decision.allowed {
            return Err(rbac::forbidden(asker, &act, &decision.reason));
        }
    }
    Ok(Some(complete(wanted)))
}

/// The permissions that impersonation needs.
fn acts(wanted: &User) -> Vec<Act<'_>> {
    const GROUP: &str = "authentication.k8s.io";
    let act = |group, resource, name| Act {
        verb: "impersonate",
        group,
        resource,
        name,
        ..Act::default()
    };
    let mut acts = vec![match account_of(&wanted.name) {
        Some((namespace, name)) => Act {
            namespace,
            ..act("", "serviceaccounts", name)
        },
        None => act("", "users", &wanted.name),
    }];
    if !wanted.uid.is_empty() {
        acts.push(act(GROUP, "uids", &wanted.uid));
    }
    acts.extend(wanted.groups.iter().map(|name| act("", "groups", name)));
    for (subresource, values) in &wanted.extra {
        acts.extend(values.iter().map(|value| Act {
            subresource,
            ..act(GROUP, "userextras", value)
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
