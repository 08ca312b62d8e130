//! Consumers' Secrets, read in clear to be tried on their members: kept in memory for that, and nowhere else.

use std::sync::{Arc, Mutex, PoisonError};

use http::StatusCode;
use jiff::Timestamp;
use kube::Client;

use super::{ask::Asker, clean::Clean, kubeconfig::Hidden, login::login, plan::Dial};
use crate::{
    api::names,
    clock::Clock,
    collect::{
        call::{Failure, again},
        list::list,
        secrets,
    },
    evidence::{LoginOutcome, ObjectRef, kubeconfig_in_clear},
};

/// How often a list of Secrets is tried.
const ATTEMPTS: u32 = 3;

/// A Secret to be tried.
pub(super) struct Key {
    pub secret: ObjectRef,
    pub profile: Named,
    kubeconfig: Result<Hidden, String>,
}

/// The profile that a Secret names; it need not tell the namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Named {
    pub namespace: Option<String>,
    pub name: String,
}

/// A Secret that was tried.
#[derive(Clone, Debug)]
pub(super) struct Tried {
    pub at: Timestamp,
    pub secret: ObjectRef,
    pub profile: Named,
    pub outcome: LoginOutcome,
}

/// Reads the labelled Secrets of these places, sorted by namespace and name.
///
/// # Errors
/// When the hub refuses or does not answer. No message holds anything of a Secret.
pub(super) async fn keys(hub: &Client, places: &[String]) -> Result<Vec<Key>, Failure> {
    let found = Arc::new(Mutex::new(Vec::new()));
    for place in places {
        let path = secrets::path(place);
        again(ATTEMPTS, Failure::may_pass, || {
            let into = Arc::clone(&found);
            let each = move |json: &[u8]| {
                let mut found = into.lock().unwrap_or_else(PoisonError::into_inner);
                found.extend(key(json));
            };
            list(hub, &path, each)
        })
        .await?;
    }
    let mut found: Vec<Key> = std::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner));
    found.sort_by(|one, other| one.secret.cmp(&other.secret));
    // A list that was tried again has told some of them twice.
    found.dedup_by(|one, other| one.secret.path() == other.secret.path());
    Ok(found)
}

fn key(json: &[u8]) -> Option<Key> {
    let object = Hidden(serde_json::from_slice(json).ok()?);
    let metadata = &object.0["metadata"];
    let text = |field: &str| metadata[field].as_str().unwrap_or_default().to_owned();
    let label = |key: &str| metadata["labels"][key].as_str().map(str::to_owned);
    let none = || Err(format!("the Secret has no data key {}", names::SECRET_CONFIG_KEY));
    Some(Key {
        secret: ObjectRef {
            kind: "Secret".to_owned(),
            namespace: text("namespace"),
            name: text("name"),
            uid: text("uid"),
            resource_version: text("resourceVersion"),
        },
        profile: Named {
            namespace: label(names::LABEL_SECRET_PROFILE_NAMESPACE),
            name: label(names::LABEL_SECRET_PROFILE)?,
        },
        kubeconfig: match kubeconfig_in_clear(&object.0) {
            Some(read) => read
                .map(Hidden)
                .map_err(|flaw| format!("the Secret holds no kubeconfig: {flaw}")),
            None => none(),
        },
    })
}

impl Key {
    /// Tries it on its member; none where nobody is to be called. Gives the way in, where it is one.
    pub async fn turn(&self, dial: &dyn Dial, clock: Clock) -> Option<(Tried, Option<Asker>)> {
        let at = clock.now();
        let tried = |outcome| Tried {
            at,
            secret: self.secret.clone(),
            profile: self.profile.clone(),
            outcome,
        };
        let asker = match self.asker(dial) {
            Ok(Some(asker)) => asker,
            Ok(None) => return None,
            Err(reason) => return Some((tried(LoginOutcome::NoCredential { reason }), None)),
        };
        let outcome = login(&asker).await;
        let opens = matches!(outcome, LoginOutcome::Accepted { .. });
        Some((tried(outcome), opens.then_some(asker)))
    }

    fn asker(&self, dial: &dyn Dial) -> Result<Option<Asker>, String> {
        let config = self.kubeconfig.as_ref().map_err(Clone::clone)?.config()?;
        let clean = Clean::of(&config.auth_info);
        let client = dial.connect(config).map_err(|reason| clean.words(&reason))?;
        Ok(client.map(|client| Asker { client, clean }))
    }
}

impl Tried {
    /// Whether it is worth another try: what the member refused may have been replaced a moment ago.
    pub fn is_doubtful(&self) -> bool {
        matches!(&self.outcome, LoginOutcome::Refused { code, .. } if *code == StatusCode::UNAUTHORIZED.as_u16())
    }

    /// Why it opens nothing, for people.
    pub fn told(&self) -> String {
        let secret = self.secret.path();
        match &self.outcome {
            LoginOutcome::Accepted { .. } => format!("Secret {secret} opens it"),
            LoginOutcome::Refused { code, message } => {
                format!("it answers {code} {message} to who comes with Secret {secret}")
            }
            LoginOutcome::NoCredential { reason } => format!("Secret {secret} opens nothing: {reason}"),
            LoginOutcome::Unanswered { reason } => format!("{reason} (asked by Secret {secret})"),
        }
    }
}
