//! Opens members by the user's ways, by consumers' Secrets and by credential plugins, and tries the latter two. Secrets are
//! read in clear, and kept only in memory. What comes from the hub names nothing that is run or read.

use std::sync::Arc;

use evidence::{
    Login, LoginCredential, LoginOutcome, ObjectKey, ObjectRef,
    api::{ClusterProfile, address::Address, names},
    kubeconfig_in_clear,
};
use http::StatusCode;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use super::{
    Dial, MemberAccess,
    sample::{Asker, Clean, unreadable},
};
use crate::{
    clock::Clock,
    connect::{ClientError, Hidden, RequestFailure, TimedClient, alone, client_config, exec, retry},
    plugins::{PluginRequest, Plugins},
    watch::fold_list,
};

const ATTEMPTS: u32 = 3;
const WHO_AM_I: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const MAY_I: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
/// The user of requests whose credential the API server does not know.
const ANONYMOUS: &str = "system:anonymous";
/// The user's name if the member does not report it.
const UNKNOWN: &str = "(unknown)";
const MALFORMED: &str = "the kubeconfig cannot be used: a field of its cluster or user is malformed";
const NO_CONTEXT: &str = "the kubeconfig's context leads to no cluster and user";
const FILE: &str = "the kubeconfig names a file, which is not read";

/// Where access to a member comes from. It can be opened repeatedly.
#[derive(Clone)]
pub(super) enum AccessSource {
    Client(Client),
    Config(Box<Config>),
    Secret {
        secret: ObjectRef,
        /// Where its kubeconfig leads, or why that cannot be used.
        config: Result<Box<Config>, String>,
    },
    Plugin(Arc<PluginRequest>),
}

/// Lists what is at these paths on the hub, and returns the ways that `read` finds in it, sorted by their descriptions.
/// No failure holds anything of a Secret.
pub(super) async fn list_ways(
    hub: &TimedClient,
    paths: &[String],
    read: impl Fn(&[u8]) -> Option<MemberAccess>,
) -> Result<Vec<MemberAccess>, RequestFailure> {
    let mut accesses = Vec::new();
    for path in paths {
        let add = |accesses: &mut Vec<_>, json: &[u8]| accesses.extend(read(json));
        accesses.extend(retry(ATTEMPTS, RequestFailure::may_pass, || fold_list(hub, path, add)).await?);
    }
    accesses.sort_by_cached_key(MemberAccess::id);
    Ok(accesses)
}

/// The source of a credential, for people: `Secret consumer/a`.
fn source_of(credential: &LoginCredential) -> String {
    match credential {
        LoginCredential::Secret(secret) => format!("Secret {}", secret.path()),
        LoginCredential::Plugin(provider) => format!("the plugin of access provider {provider}"),
    }
}

/// Identifies a credential that was tried, as [`MemberAccess::id`] does.
pub(super) fn id(login: &Login) -> (String, ObjectKey) {
    (source_of(&login.credential), ObjectKey::from(&login.profile))
}

impl MemberAccess {
    /// The plugin to run for a profile; none if it has no access provider with one.
    pub(super) fn by_plugin(profile: &ClusterProfile, plugins: &Plugins) -> Option<Self> {
        let request = plugins.request(profile)?;
        Some(Self {
            profile: ObjectKey::of(profile),
            description: source_of(&LoginCredential::Plugin(request.provider.clone())),
            source: AccessSource::Plugin(Arc::new(request)),
        })
    }

    /// What a labelled Secret holds. The profile is without a namespace if the Secret does not name it.
    pub(super) fn by_secret(json: &[u8]) -> Option<Self> {
        let object = Hidden(serde_json::from_slice(json).ok()?);
        let label = |key: &str| object.0["metadata"]["labels"][key].as_str().map(str::to_owned);
        let profile = ObjectKey {
            namespace: label(names::LABEL_SECRET_PROFILE_NAMESPACE).unwrap_or_default(),
            name: label(names::LABEL_SECRET_PROFILE)?,
        };
        let secret = ObjectRef::of_value(&object.0, "Secret");
        let config = match kubeconfig_in_clear(&object.0) {
            Some(Ok(kubeconfig)) => config_of_secret(&Hidden(kubeconfig)).map(Box::new),
            Some(Err(error)) => Err(format!("the Secret holds no kubeconfig: {error}")),
            None => Err(format!("the Secret has no data key {}", names::SECRET_CONFIG_KEY)),
        };
        Some(Self {
            profile,
            description: source_of(&LoginCredential::Secret(secret.clone())),
            source: AccessSource::Secret { secret, config },
        })
    }

    pub(super) fn id(&self) -> (String, ObjectKey) {
        (self.description.clone(), self.profile.clone())
    }

    /// The credential that is tried; none if the user has given the way.
    pub(super) fn credential(&self) -> Option<LoginCredential> {
        match &self.source {
            AccessSource::Client(_) | AccessSource::Config(_) => None,
            AccessSource::Secret { secret, .. } => Some(LoginCredential::Secret(secret.clone())),
            AccessSource::Plugin(request) => Some(LoginCredential::Plugin(request.provider.clone())),
        }
    }

    /// Tries its credential on the member. Returns the open member, if the member accepts it. The login names the profile
    /// as the credential does, without its uid.
    pub(super) async fn try_out(
        &self,
        credential: LoginCredential,
        dial: &Arc<dyn Dial>,
        clock: Clock,
    ) -> (Login, Option<Asker>) {
        let at = clock.now();
        let (outcome, member) = match self.open(dial, clock).await {
            Err(outcome) => (outcome, None),
            Ok(member) => (log_in(&member).await, Some(member)),
        };
        let is_accepted = matches!(outcome, LoginOutcome::Accepted { .. });
        let login = Login {
            at,
            profile: unknown_profile(&self.profile),
            credential,
            outcome,
        };
        (login, member.filter(|_| is_accepted))
    }

    /// Prepares to ask the member, which may run a plugin.
    pub(super) async fn open(&self, dial: &Arc<dyn Dial>, clock: Clock) -> Result<Asker, LoginOutcome> {
        let member = match &self.source {
            AccessSource::Client(client) => Ok(Asker::new(client.clone(), Clean::default())),
            AccessSource::Config(config) => open_kubeconfig(config, dial).await,
            AccessSource::Secret { config, .. } => {
                config.clone().and_then(|config| connect(*config, &**dial))
            }
            AccessSource::Plugin(request) => return open_by_plugin(request, &**dial, clock).await,
        };
        member.map_err(|reason| LoginOutcome::NoCredential { reason })
    }
}

/// Connects, without credentials in the error.
fn connect(config: Config, dial: &dyn Dial) -> Result<Asker, String> {
    let clean = Clean::of(&config.auth_info);
    asker(dial.connect(config), clean)
}

fn asker(connected: Result<Client, ClientError>, clean: Clean) -> Result<Asker, String> {
    let client = connected.map_err(|error| clean.words(&error.to_string()))?;
    Ok(Asker::new(client, clean))
}

async fn open_kubeconfig(config: &Config, dial: &Arc<dyn Dial>) -> Result<Asker, String> {
    let (clean, dial) = (Clean::of(&config.auth_info), Arc::clone(dial));
    let mut config = config.clone();
    let connecting = async {
        let login = exec::log_in(&mut config, exec::PATIENCE).await?;
        let connected = spawn_blocking(move || dial.connect(config)).await;
        let no_client = |_| Err(ClientError::Refused("its client could not be made".to_owned()));
        Ok(exec::with_login(connected.unwrap_or_else(no_client)?, login))
    };
    asker(connecting.await, clean)
}

/// Runs the plugin, and takes its credential to the profile's server.
async fn open_by_plugin(
    request: &PluginRequest,
    dial: &dyn Dial,
    clock: Clock,
) -> Result<Asker, LoginOutcome> {
    let unanswered = |reason: String| LoginOutcome::Unanswered {
        reason: reason.into(),
    };
    let no_credential = |reason: String| LoginOutcome::NoCredential { reason };
    // If nothing could be sent, no credential is asked for.
    check_trust(request).map_err(unanswered)?;
    let issued = request.run(clock).await?;
    let config = config_of(&request.cluster, Some(&issued.user.0))
        .map_err(|_| no_credential("the plugin's credential cannot be used".to_owned()))?;
    let asker = connect(config, dial)
        .map_err(|reason| no_credential(format!("the plugin's credential is of no use: {reason}")))?;
    Ok(Asker {
        expires: issued.expires,
        ..asker
    })
}

/// Checks that an access provider leads to a server that proves its identity: no other gets a credential.
fn check_trust(request: &PluginRequest) -> Result<(), String> {
    let provider = &request.provider;
    let server = request.cluster["server"].as_str().unwrap_or_default();
    check_server(server, &format!("the server of access provider {provider}"))?;
    if request.cluster["insecure-skip-tls-verify"] == true {
        return Err(format!(
            "access provider {provider} leaves the server's certificate unchecked, and no credential is sent to such a \
             server"
        ));
    }
    config_of(&request.cluster, None).map(drop).map_err(|_| {
        format!("access provider {provider} cannot be used: a field of its cluster is malformed")
    })
}

/// Checks that a server is reached over TLS, and that its address holds no credential.
fn check_server(server: &str, what: &str) -> Result<(), String> {
    if !Address::split(server).has_scheme("https") {
        return Err(format!(
            "{what} is not reached over TLS, and no credential is sent without"
        ));
    }
    if server.contains('@') {
        return Err(format!("{what} holds a user's name"));
    }
    Ok(())
}

/// The configuration of a Secret's kubeconfig: its current context, or its only one.
/// The error quotes nothing of it.
fn config_of_secret(kubeconfig: &Hidden) -> Result<Config, String> {
    let kubeconfig: Kubeconfig = serde_json::from_value(kubeconfig.0.clone()).map_err(|_| MALFORMED)?;
    let current = match (&kubeconfig.current_context, &kubeconfig.contexts[..]) {
        (Some(current), _) if !current.is_empty() => current,
        (_, [only]) => &only.name,
        _ => return Err(NO_CONTEXT.to_owned()),
    };
    let mut one = Kubeconfig {
        current_context: Some(current.clone()),
        ..alone(&kubeconfig, current)
    };
    let cluster = one.clusters.first_mut().and_then(|entry| entry.cluster.as_mut());
    let user = one.auth_infos.first().and_then(|entry| entry.auth_info.as_ref());
    let (Some(cluster), Some(user)) = (cluster, user) else {
        return Err(NO_CONTEXT.to_owned());
    };
    let files = [
        &cluster.certificate_authority,
        &user.token_file,
        &user.client_certificate,
        &user.client_key,
    ];
    if files.into_iter().flatten().any(|path| !path.is_empty()) {
        return Err(FILE.to_owned());
    }
    if user.exec.is_some() {
        return Err("the kubeconfig runs a plugin, which is not run".to_owned());
    }
    if user.auth_provider.is_some() {
        return Err("the kubeconfig uses an auth-provider, which is not run".to_owned());
    }
    let credentials = Hidden(serde_json::to_value(user).unwrap_or_default());
    let is_credential = |field: &str| credentials.0[field].as_str().is_some_and(|text| !text.is_empty());
    if !["token", "password", "client-key-data"]
        .into_iter()
        .any(is_credential)
    {
        return Err("the kubeconfig holds no credential".to_owned());
    }
    let server = cluster.server.clone().unwrap_or_default();
    check_server(&server, "the kubeconfig's server")?;
    cluster.server = Some(with_small_scheme(&server));
    Ok(load(one)?)
}

/// The configuration of a cluster and, if given, a user in the format of a kubeconfig.
/// The error quotes nothing of it.
pub(super) fn config_of(cluster: &Value, user: Option<&Value>) -> Result<Config, &'static str> {
    let user = user.cloned().unwrap_or_else(|| json!({}));
    let mut kubeconfig = Hidden(json!({
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }));
    if let Some(Value::String(server)) = kubeconfig.0.pointer_mut("/clusters/0/cluster/server") {
        *server = with_small_scheme(server);
    }
    load(serde_json::from_value(kubeconfig.0.clone()).map_err(|_| MALFORMED)?)
}

/// Clients know schemes in small letters only.
fn with_small_scheme(server: &str) -> String {
    match server.split_once("://") {
        Some((scheme, rest)) => format!("{}://{rest}", scheme.to_ascii_lowercase()),
        None => server.to_owned(),
    }
}

fn load(kubeconfig: Kubeconfig) -> Result<Config, &'static str> {
    // Errors may quote what it could not read.
    client_config(kubeconfig, &KubeConfigOptions::default()).map_err(|_| MALFORMED)
}

/// Asks the member whether it knows the credential's user, and what that user may do.
async fn log_in(asker: &Asker) -> LoginOutcome {
    let question = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    match asker.review(WHO_AM_I, &question).await {
        Ok(answer) => {
            let user = answer["status"]["userInfo"]["username"].as_str();
            let user = asker.clean.words(user.unwrap_or(UNKNOWN));
            if user == ANONYMOUS {
                return refused(&format!("Unauthorized: it takes the bearer for {ANONYMOUS}"));
            }
            LoginOutcome::Accepted {
                user,
                everything: everything(asker).await.ok(),
            }
        }
        // Older members do not have this API, and some do not let every user call it. They report the rights of users that
        // they know.
        Err(failure) if matches!(failure.code(), 403 | 404) => {
            let accepted = |everything| LoginOutcome::Accepted {
                user: UNKNOWN.to_owned(),
                everything: Some(everything),
            };
            let everything = everything(asker).await.map(accepted);
            everything.unwrap_or_else(|failure| no_login(asker, &failure))
        }
        Err(failure) => no_login(asker, &failure),
    }
}

async fn everything(asker: &Asker) -> Result<bool, RequestFailure> {
    let question: Value = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "*", "group": "*", "version": "*", "resource": "*"}},
    });
    let answer = asker.review(MAY_I, &question).await?;
    answer["status"]["allowed"].as_bool().ok_or_else(unreadable)
}

fn no_login(asker: &Asker, failure: &RequestFailure) -> LoginOutcome {
    if failure.code() == 401 {
        return refused("Unauthorized");
    }
    LoginOutcome::Unanswered {
        reason: asker.describe(failure, "create on selfsubjectreviews"),
    }
}

fn refused(message: &str) -> LoginOutcome {
    LoginOutcome::Refused {
        code: 401,
        message: message.to_owned(),
    }
}

/// A profile of which only the name is known.
pub(super) fn unknown_profile(key: &ObjectKey) -> ObjectRef {
    ObjectRef {
        kind: names::KIND.to_owned(),
        namespace: key.namespace.clone(),
        name: key.name.clone(),
        ..ObjectRef::default()
    }
}

/// Whether a credential is worth another try: what the member refused may have been replaced a moment ago, and a plugin
/// may have failed once.
pub(super) fn may_succeed_later(login: &Login) -> bool {
    match &login.outcome {
        LoginOutcome::Refused { code, .. } => *code == StatusCode::UNAUTHORIZED.as_u16(),
        LoginOutcome::NoCredential { .. } => matches!(login.credential, LoginCredential::Plugin(_)),
        LoginOutcome::Accepted { .. } | LoginOutcome::Unanswered { .. } => false,
    }
}

/// Why a credential opens nothing, for people.
pub(super) fn describe(login: &Login) -> String {
    let source = source_of(&login.credential);
    match &login.outcome {
        LoginOutcome::Accepted { .. } => format!("{source} opens it"),
        LoginOutcome::Refused { code, message } => format!("it answers {code} {message} to {source}"),
        LoginOutcome::NoCredential { reason } => format!("{source} opens nothing: {reason}"),
        LoginOutcome::Unanswered { reason } => format!("{reason} (asked by {source})"),
    }
}

#[cfg(test)]
mod tests;
