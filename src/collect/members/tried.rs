//! Tries consumers' Secrets and credential plugins on their members. Secrets are read in clear, and kept only in memory.

use std::{collections::BTreeMap, sync::Arc};

use evidence::{
    LoginOutcome, LoginWith, ObjectRef, Scope,
    api::{ClusterProfile, names},
    kubeconfig_in_clear,
};
use http::StatusCode;
use jiff::Timestamp;
use parking_lot::Mutex;

use super::{
    ask::Asker,
    clean::Clean,
    error::SecretFlaw,
    issued::{self, Way},
    login::login,
    plan::Dial,
};
use crate::{
    clock::Clock,
    connect::{
        call::{TimedClient, retry},
        failure::Failure,
        hidden::Hidden,
    },
    hub::secrets,
    plugins::{Plugins, Request},
    watch::list::list,
};

/// How often a list of Secrets is tried.
const ATTEMPTS: u32 = 3;

/// A Secret or a plugin to try on its member.
pub(super) struct CredentialAttempt {
    pub with: LoginWith,
    pub profile: Named,
    source: Source,
}

/// Where the credential comes from.
enum Source {
    Kubeconfig(Result<Hidden, SecretFlaw>),
    Plugin(Arc<Request>),
}

/// What was tried, and on whose member.
pub(super) type AttemptId = (String, Named);

/// The profile that a Secret names; it need not tell the namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Named {
    pub namespace: Option<String>,
    pub name: String,
}

/// A Secret or a plugin that was tried.
#[derive(Clone, Debug)]
pub(super) struct Tried {
    pub at: Timestamp,
    pub with: LoginWith,
    pub profile: Named,
    pub outcome: LoginOutcome,
}

/// Reads the labelled Secrets of these places, sorted by namespace and name.
///
/// # Errors
/// When the hub refuses or does not answer. No message holds anything of a Secret.
pub(super) async fn attempts(
    hub: &TimedClient,
    places: &[String],
) -> Result<Vec<CredentialAttempt>, Failure> {
    let found = Arc::new(Mutex::new(Vec::new()));
    for place in places {
        let path = secrets::path(place);
        retry(ATTEMPTS, Failure::may_pass, || {
            let into = Arc::clone(&found);
            let each = move |json: &[u8]| {
                let mut found = into.lock();
                found.extend(attempt(json));
            };
            list(hub, &path, each)
        })
        .await?;
    }
    let mut found: Vec<CredentialAttempt> = std::mem::take(&mut *found.lock());
    found.sort_by_cached_key(|attempt| source(&attempt.with));
    // A list that was tried again has told some of them twice.
    found.dedup_by(|one, other| source(&one.with) == source(&other.with));
    Ok(found)
}

/// Lists the profiles at these paths, and gives the plugins to run for those in scope, sorted by namespace and name.
///
/// # Errors
/// When the hub refuses or does not answer.
pub(super) async fn plugin_attempts(
    hub: &TimedClient,
    paths: &[String],
    scope: &Scope,
    plugins: &Plugins,
) -> Result<Vec<CredentialAttempt>, Failure> {
    let found = Arc::new(Mutex::new(BTreeMap::new()));
    for path in paths {
        retry(ATTEMPTS, Failure::may_pass, || {
            let (into, scope, plugins) = (Arc::clone(&found), scope.clone(), plugins.clone());
            let each = move |json: &[u8]| {
                // What is no profile is told of by those who judge it.
                let profile = serde_json::from_slice::<ClusterProfile>(json).ok();
                let profile = profile.filter(|profile| scope.holds(profile));
                let attempt = profile.and_then(|profile| plugin_attempt(&profile, &plugins));
                let mut found = into.lock();
                found.extend(attempt.map(|attempt| (attempt.profile.clone(), attempt)));
            };
            list(hub, path, each)
        })
        .await?;
    }
    let found = std::mem::take(&mut *found.lock());
    Ok(found.into_values().collect())
}

/// The plugin to run for a profile; none where it has no access provider with one.
pub(super) fn plugin_attempt(profile: &ClusterProfile, plugins: &Plugins) -> Option<CredentialAttempt> {
    let request = plugins.request(profile)?;
    Some(CredentialAttempt {
        with: LoginWith::Plugin(request.provider.clone()),
        profile: Named {
            namespace: Some(profile.metadata.namespace.to_string()),
            name: profile.metadata.name.to_string(),
        },
        source: Source::Plugin(Arc::new(request)),
    })
}

/// Names the source of a credential: `Secret consumer/a`.
fn source(with: &LoginWith) -> String {
    match with {
        LoginWith::Secret(secret) => format!("Secret {}", secret.path()),
        LoginWith::Plugin(provider) => format!("the plugin of access provider {provider}"),
    }
}

fn attempt(json: &[u8]) -> Option<CredentialAttempt> {
    let object = Hidden(serde_json::from_slice(json).ok()?);
    let metadata = &object.0["metadata"];
    let text = |field: &str| metadata[field].as_str().unwrap_or_default().to_owned();
    let label = |key: &str| metadata["labels"][key].as_str().map(str::to_owned);
    Some(CredentialAttempt {
        with: LoginWith::Secret(ObjectRef {
            kind: "Secret".to_owned(),
            namespace: text("namespace"),
            name: text("name"),
            uid: text("uid"),
            resource_version: text("resourceVersion"),
        }),
        profile: Named {
            namespace: label(names::LABEL_SECRET_PROFILE_NAMESPACE),
            name: label(names::LABEL_SECRET_PROFILE)?,
        },
        source: Source::Kubeconfig(match kubeconfig_in_clear(&object.0) {
            Some(read) => read.map(Hidden).map_err(SecretFlaw::NoKubeconfig),
            None => Err(SecretFlaw::NoKey),
        }),
    })
}

impl CredentialAttempt {
    /// Identifies it among others.
    pub fn id(&self) -> AttemptId {
        (source(&self.with), self.profile.clone())
    }

    /// Tries it on its member. Gives the way in, where it is one.
    pub async fn turn(&self, dial: &dyn Dial, clock: Clock) -> (Tried, Option<Way>) {
        let at = clock.now();
        let (outcome, way) = match self.open(dial, clock).await {
            Err(outcome) => (outcome, None),
            Ok(way) => {
                let outcome = login(&way.0).await;
                let opens = matches!(outcome, LoginOutcome::Accepted { .. });
                (outcome, opens.then_some(way))
            }
        };
        let tried = Tried {
            at,
            with: self.with.clone(),
            profile: self.profile.clone(),
            outcome,
        };
        (tried, way)
    }

    async fn open(&self, dial: &dyn Dial, clock: Clock) -> Result<Way, LoginOutcome> {
        let kubeconfig = match &self.source {
            Source::Kubeconfig(kubeconfig) => kubeconfig,
            Source::Plugin(request) => return issued::open(request, dial, clock).await,
        };
        let asker = || {
            let config = kubeconfig.as_ref().map_err(Clone::clone)?.config()?;
            let clean = Clean::of(&config.auth_info);
            let client = dial
                .connect(config)
                .map_err(|error| SecretFlaw::Client(clean.words(&error.to_string())))?;
            Ok(Asker { client, clean })
        };
        asker()
            .map(|asker| (asker, None))
            .map_err(|flaw: SecretFlaw| LoginOutcome::NoCredential {
                reason: flaw.to_string(),
            })
    }
}

impl Tried {
    /// Identifies it among others.
    pub fn id(&self) -> AttemptId {
        (source(&self.with), self.profile.clone())
    }

    /// Whether it is worth another try: what the member refused may have been replaced a moment ago, and a plugin may
    /// have failed once.
    pub fn is_doubtful(&self) -> bool {
        match &self.outcome {
            LoginOutcome::Refused { code, .. } => *code == StatusCode::UNAUTHORIZED.as_u16(),
            LoginOutcome::NoCredential { .. } => matches!(self.with, LoginWith::Plugin(_)),
            LoginOutcome::Accepted { .. } | LoginOutcome::Unanswered { .. } => false,
        }
    }

    /// Whether it came from a Secret.
    pub fn is_of_secret(&self) -> bool {
        matches!(self.with, LoginWith::Secret(_))
    }

    /// By what it was tried, for people: `Secret consumer/a`.
    pub fn way(&self) -> String {
        source(&self.with)
    }

    /// Why it opens nothing, for people.
    pub fn describe(&self) -> String {
        let way = self.way();
        match &self.outcome {
            LoginOutcome::Accepted { .. } => format!("{way} opens it"),
            LoginOutcome::Refused { code, message } => {
                format!("it answers {code} {message} to who comes with {way}")
            }
            LoginOutcome::NoCredential { reason } => format!("{way} opens nothing: {reason}"),
            LoginOutcome::Unanswered { reason } => format!("{reason} (asked by {way})"),
        }
    }
}
