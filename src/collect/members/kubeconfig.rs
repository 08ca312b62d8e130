//! Uses a consumer's kubeconfig to reach its member. It comes from the hub, so nothing that it names is run or read.

use evidence::api::address::Address;
use futures::executor::block_on;
use kube::{
    Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Map, Value, json};

use crate::connect::hidden::Hidden;

type Object = Map<String, Value>;

/// What a cluster and a user may have. All else is left out.
const OF_CLUSTER: [&str; 5] = [
    "server",
    "certificate-authority-data",
    "insecure-skip-tls-verify",
    "tls-server-name",
    "proxy-url",
];
const OF_USER: [&str; 8] = [
    "token",
    "username",
    "password",
    "client-certificate-data",
    "client-key-data",
    "as",
    "as-uid",
    "as-groups",
];
/// Fields that are never followed, and why.
const UNUSED: [(&str, &str, &str); 6] = [
    ("cluster", "certificate-authority", FILE),
    ("user", "tokenFile", FILE),
    ("user", "client-certificate", FILE),
    ("user", "client-key", FILE),
    ("user", "exec", "the kubeconfig runs a plugin, which is not run"),
    (
        "user",
        "auth-provider",
        "the kubeconfig uses an auth-provider, which is not run",
    ),
];
const FILE: &str = "the kubeconfig names a file, which is not read";
/// Any of them is a credential.
const CREDENTIALS: [&str; 3] = ["token", "password", "client-key-data"];

/// Why a kubeconfig gives no credential to try. Quotes nothing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum KubeconfigFlaw {
    #[error("the kubeconfig's context leads to no cluster and user")]
    NoContext,
    #[error("{0}")]
    NotFollowed(&'static str),
    #[error("the kubeconfig holds no credential")]
    NoCredential,
    #[error("the kubeconfig's server is not reached over TLS, and no credential is sent without")]
    NoTls,
    #[error("the kubeconfig's server holds a user's name")]
    UserName,
    #[error("the kubeconfig cannot be used: a field of its cluster or user is malformed")]
    Malformed,
}

impl Hidden {
    /// What the kubeconfig leads to.
    ///
    /// # Errors
    /// Why there is no credential in it to try; quotes nothing of it.
    pub(super) fn config(&self) -> Result<Config, KubeconfigFlaw> {
        let (cluster, user) = self.resolve().ok_or(KubeconfigFlaw::NoContext)?;
        for (of, field, flaw) in UNUSED {
            let part = if of == "user" { user } else { cluster };
            if part
                .get(field)
                .is_some_and(|value| !value.is_null() && value != "")
            {
                return Err(KubeconfigFlaw::NotFollowed(flaw));
            }
        }
        let is_text = |field: &str| {
            user.get(field)
                .and_then(Value::as_str)
                .is_some_and(|text| !text.is_empty())
        };
        if !CREDENTIALS.iter().any(|field| is_text(field)) {
            return Err(KubeconfigFlaw::NoCredential);
        }
        let server = cluster.get("server").and_then(Value::as_str).unwrap_or_default();
        if !Address::split(server).has_scheme("https") {
            return Err(KubeconfigFlaw::NoTls);
        }
        if server.contains('@') {
            return Err(KubeconfigFlaw::UserName);
        }
        config(Hidden(json!({
            "clusters": [{"name": "c", "cluster": only(cluster, &OF_CLUSTER)}],
            "users": [{"name": "u", "user": only(user, &OF_USER)}],
        })))
    }

    /// The cluster and the user of the current context, or of the only one.
    fn resolve(&self) -> Option<(&Object, &Object)> {
        let named = |list: &str, name: &str, item: &str| {
            let entries = self.0[list].as_array()?;
            let entry = entries.iter().find(|entry| entry["name"] == name)?;
            entry[item].as_object()
        };
        let current = match (self.0["current-context"].as_str(), self.0["contexts"].as_array()) {
            (None | Some(""), Some(contexts)) if contexts.len() == 1 => contexts[0]["name"].as_str()?,
            (current, _) => current?,
        };
        let context = named("contexts", current, "context")?;
        let text = |field: &str| context.get(field).and_then(Value::as_str);
        Some((
            named("clusters", text("cluster")?, "cluster")?,
            named("users", text("user")?, "user")?,
        ))
    }
}

/// The configuration of a kubeconfig with the cluster `c` and, where it has one, the user `u`.
///
/// # Errors
/// What is wrong with it; quotes nothing of it.
pub(super) fn config(mut kubeconfig: Hidden) -> Result<Config, KubeconfigFlaw> {
    kubeconfig.0["contexts"] = json!([{"name": "x", "context": {"cluster": "c", "user": "u"}}]);
    kubeconfig.0["current-context"] = json!("x");
    // Connections know schemes in small letters only.
    if let Some(Value::String(server)) = kubeconfig.0.pointer_mut("/clusters/0/cluster/server")
        && let Some((scheme, rest)) = server.split_once("://")
    {
        *server = format!("{}://{rest}", scheme.to_ascii_lowercase());
    }
    // Its own errors may quote what it could not read.
    let typed =
        serde_json::from_value::<Kubeconfig>(kubeconfig.0.clone()).map_err(|_| KubeconfigFlaw::Malformed)?;
    // It never waits for anything.
    block_on(Config::from_custom_kubeconfig(
        typed,
        &KubeConfigOptions::default(),
    ))
    .map_err(|_| KubeconfigFlaw::Malformed)
}

fn only(part: &Object, fields: &[&str]) -> Value {
    let kept = fields
        .iter()
        .filter_map(|field| Some(((*field).to_owned(), part.get(*field)?.clone())));
    Value::Object(kept.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(cluster: Value, user: Value) -> Hidden {
        Hidden(json!({
            "contexts": [{"name": "x", "context": {"cluster": "m", "user": "me"}}],
            "clusters": [{"name": "m", "cluster": cluster}], "users": [{"name": "me", "user": user}],
        }))
    }

    #[test]
    fn only_what_is_in_the_kubeconfig_itself_is_used() {
        let server = json!({"server": "https://m.example:6443"});
        let token = json!({"token": "CANARY"});
        let config = hidden(server.clone(), token.clone()).config().expect("a way");
        assert_eq!(config.cluster_url, "https://m.example:6443/");
        let capitals = json!({"server": "HTTPS://m.example:6443"});
        let config = hidden(capitals, token.clone()).config().expect("a way");
        assert_eq!(config.cluster_url, "https://m.example:6443/");
        assert!(config.auth_info.exec.is_none() && config.auth_info.token.is_some());
        let cases = [
            (server.clone(), json!({"exec": {"command": "CANARY"}}), "a plugin"),
            (
                server.clone(),
                json!({"token": "t", "auth-provider": {"name": "gcp", "config": {"cmd-path": "CANARY"}}}),
                "an auth-provider",
            ),
            (server.clone(), json!({"tokenFile": "/CANARY"}), "a file"),
            (
                server.clone(),
                json!({"client-certificate-data": "YQ==", "client-key": "/CANARY"}),
                "a file",
            ),
            (
                json!({"server": "https://m", "certificate-authority": "/CANARY"}),
                token.clone(),
                "a file",
            ),
            (server.clone(), json!({"token": ["CANARY"]}), "no credential"),
            (
                server.clone(),
                json!({"username": "n", "token": ""}),
                "no credential",
            ),
            (
                json!({"server": "http://m.example"}),
                token.clone(),
                "not reached over TLS",
            ),
            (
                json!({"server": "https://u:CANARY@m.example"}),
                token.clone(),
                "a user's name",
            ),
            (
                json!({"server": "https://m.example", "proxy-url": "CANARY //"}),
                token.clone(),
                "malformed",
            ),
            (
                json!({"server": "https://m.example", "certificate-authority-data": "CANARY!"}),
                token.clone(),
                "malformed",
            ),
            (
                json!({"server": "https://m.example", "insecure-skip-tls-verify": "CANARY"}),
                token,
                "malformed",
            ),
        ];
        for (cluster, user, expected) in cases {
            let flaw = hidden(cluster, user).config().expect_err("no way").to_string();
            assert!(flaw.contains(expected) && !flaw.contains("CANARY"), "{flaw}");
        }
        let nowhere = Hidden(json!({"current-context": "CANARY", "contexts": []})).config();
        assert!(
            nowhere
                .err()
                .is_some_and(|flaw| flaw.to_string().contains("leads to no cluster"))
        );
    }
}
