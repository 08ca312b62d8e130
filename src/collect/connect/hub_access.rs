//! Access to a hub for other programs: a kubeconfig with one context, and its credentials to redact.

use std::{
    fmt,
    path::{Path, absolute},
};

use evidence::{LARGEST_CREDENTIAL, read_text};
use kube::{Config, config::Kubeconfig};
use serde_json::{Value, json};

/// Shorter credentials are not redacted: they would hide too much other text.
const SHORTEST: usize = 6;
/// Where a pod finds its service account.
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Fields of a kubeconfig that name files.
const FILES: [&str; 4] = [
    "certificate-authority",
    "client-certificate",
    "client-key",
    "tokenFile",
];

/// The part of a kubeconfig that is about one context: others may be many.
pub fn alone(kubeconfig: &Kubeconfig, context: &str) -> Kubeconfig {
    let contexts = kubeconfig.contexts.iter().filter(|one| one.name == context);
    let contexts: Vec<_> = contexts.take(1).cloned().collect();
    let named = contexts
        .first()
        .and_then(|named| named.context.clone())
        .unwrap_or_default();
    let clusters = kubeconfig.clusters.iter().filter(|one| one.name == named.cluster);
    let users = kubeconfig
        .auth_infos
        .iter()
        .filter(|one| Some(&one.name) == named.user.as_ref());
    Kubeconfig {
        clusters: clusters.take(1).cloned().collect(),
        auth_infos: users.take(1).cloned().collect(),
        contexts,
        ..Kubeconfig::default()
    }
}

/// Access to a hub, for programs that the run starts.
pub struct HubAccess {
    /// The API server's address: by it runs know that they are on the same hub.
    pub server: String,
    /// A kubeconfig whose only context is the hub's. Its paths are absolute.
    pub kubeconfig: String,
}

impl HubAccess {
    /// Takes what belongs to `context` out of a kubeconfig.
    pub fn of_context(kubeconfig: &Kubeconfig, context: &str, config: &Config) -> Self {
        let mut one = alone(kubeconfig, context);
        one.current_context = Some(context.to_owned());
        let mut one = serde_json::to_value(one).unwrap_or_default();
        // The program runs in another folder than we do.
        name_whole_paths(&mut one, Path::new(""));
        Self::new(config, &one)
    }

    /// The service account of the pod that this runs in.
    pub(super) fn of_pod(config: &Config) -> Self {
        let file = |name: &str| format!("{SERVICE_ACCOUNT}/{name}");
        let kubeconfig = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{
                "name": "hub",
                "cluster": {"server": config.cluster_url.to_string(), "certificate-authority": file("ca.crt")},
            }],
            "users": [{"name": "hub", "user": {"tokenFile": file("token")}}],
            "contexts": [{
                "name": "hub",
                "context": {"cluster": "hub", "user": "hub", "namespace": config.default_namespace},
            }],
            "current-context": "hub",
        });
        Self::new(config, &kubeconfig)
    }

    fn new(config: &Config, kubeconfig: &Value) -> Self {
        Self {
            server: config.cluster_url.to_string().trim_end_matches('/').to_owned(),
            kubeconfig: format!("{kubeconfig:#}\n"),
        }
    }
}

impl fmt::Debug for HubAccess {
    /// Without the kubeconfig.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HubAccess")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

/// Has a kubeconfig name its files by their whole paths. They are relative to `folder`.
pub(crate) fn name_whole_paths(kubeconfig: &mut Value, folder: &Path) {
    for (list, inner) in [("clusters", "cluster"), ("users", "user")] {
        let entries = kubeconfig.get_mut(list).and_then(Value::as_array_mut);
        for entry in entries
            .into_iter()
            .flatten()
            .filter_map(|each| each.get_mut(inner))
        {
            // Clients look up a bare name in `PATH`; one with a slash is relative to the kubeconfig, as client-go has it.
            if let Some(command) = entry.pointer_mut("/exec/command")
                && command.as_str().is_some_and(|command| command.contains('/'))
            {
                make_absolute(command, folder);
            }
            for field in FILES {
                if let Some(file) = entry.get_mut(field) {
                    make_absolute(file, folder);
                }
            }
        }
    }
}

fn make_absolute(path: &mut Value, folder: &Path) {
    let named = path.as_str().filter(|named| !named.is_empty());
    if let Some(whole) = named.and_then(|named| absolute(folder.join(named)).ok()) {
        *path = whole.to_string_lossy().into();
    }
}

/// Returns the credentials of a kubeconfig and the tokens in files that it names, so that output can be redacted; none
/// if it cannot be read. Among them is all that a credential plugin is given, be it a secret, a region or an address.
pub(crate) fn credentials_in(kubeconfig: &str) -> Vec<String> {
    credentials_under(kubeconfig, |_| true)
}

/// Returns those of them that are secrets by the name of their key or variable: what else a plugin is given, such as the
/// region of a cloud, others may say, too.
pub(super) fn secrets_in(kubeconfig: &str) -> Vec<String> {
    credentials_under(kubeconfig, names_a_secret)
}

/// Whether a value under that name is a secret, such as `id-token` or `AWS_SECRET_ACCESS_KEY`.
fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('_', "-");
    let is_place = [
        "-file",
        "-path",
        "-url",
        "-uri",
        "-endpoint",
        "-expiry",
        "-type",
        "-audience",
    ];
    let is_secret = [
        "token",
        "secret",
        "password",
        "passwd",
        "access-key",
        "api-key",
        "private-key",
    ];
    is_secret.iter().any(|word| name.contains(word)) && !is_place.iter().any(|end| name.ends_with(end))
}

/// Returns the credentials of a kubeconfig, of what a plugin is given those under such names.
fn credentials_under(kubeconfig: &str, is_one: impl Fn(&str) -> bool) -> Vec<String> {
    let kubeconfig: Value = serde_saphyr::from_str(kubeconfig).unwrap_or_default();
    let mut found = Vec::new();
    for named in kubeconfig["users"].as_array().into_iter().flatten() {
        let user = &named["user"];
        for key in ["token", "password", "client-key-data"] {
            found.extend(user[key].as_str().map(str::to_owned));
        }
        if let Some(path) = user["tokenFile"].as_str() {
            found.extend(read_text(Path::new(path), LARGEST_CREDENTIAL).ok());
        }
        let plugins = user["auth-provider"]["config"].as_object().into_iter().flatten();
        let plugins = plugins.map(|(name, value)| (name.as_str(), value));
        let environment = user["exec"]["env"].as_array().into_iter().flatten();
        let environment =
            environment.map(|variable| (variable["name"].as_str().unwrap_or_default(), &variable["value"]));
        let given = plugins.chain(environment).filter(|(name, _)| is_one(name));
        found.extend(given.filter_map(|(_, value)| value.as_str().map(str::to_owned)));
    }
    found
        .iter()
        .map(|secret| secret.trim().to_owned())
        .filter(|secret| secret.len() >= SHORTEST)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::{fs, path::PathBuf};

    use kube::config::KubeConfigOptions;

    use super::*;

    const TWO: &str = r"
current-context: first
contexts:
- {name: first, context: {cluster: c, user: u}}
- {name: second, context: {cluster: d, user: v, namespace: fleet}}
clusters:
- {name: c, cluster: {server: 'https://one.example', certificate-authority: ca.crt}}
- {name: d, cluster: {server: 'https://two.example:6443/', certificate-authority: ca.crt}}
users:
- {name: u, user: {token: OTHER-CANARY}}
- name: v
  user:
    tokenFile: token
    exec: {apiVersion: v1, command: ./plugin, env: [{name: A, value: CANARY-env}]}
";

    #[tokio::test]
    async fn holds_one_context_and_whole_paths() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str, text: &str| -> PathBuf {
            let path = folder.path().join(name);
            fs::write(&path, text).expect("a file");
            path
        };
        let pem = rcgen::generate_simple_self_signed(["a".to_owned()])
            .expect("a certificate")
            .cert
            .pem();
        file("ca.crt", &pem);
        file("token", "CANARY-file\n");
        let kubeconfig = Kubeconfig::read_from(file("config", TWO)).expect("a kubeconfig");
        let options = KubeConfigOptions {
            context: Some("second".to_owned()),
            ..KubeConfigOptions::default()
        };
        let config = Config::from_custom_kubeconfig(kubeconfig.clone(), &options)
            .await
            .expect("a way");
        let access = HubAccess::of_context(&kubeconfig, "second", &config);
        assert_eq!(access.server, "https://two.example:6443");
        let read: Value = serde_json::from_str(&access.kubeconfig).expect("JSON");
        assert_eq!(read["current-context"], "second");
        assert!(!access.kubeconfig.contains("OTHER-CANARY"));
        for (at, name) in [
            ("/clusters/0/cluster/certificate-authority", "ca.crt"),
            ("/users/0/user/tokenFile", "token"),
            ("/users/0/user/exec/command", "plugin"),
        ] {
            let path = read.pointer(at).and_then(Value::as_str).expect(at);
            assert_eq!(absolute(path).expect("a path"), folder.path().join(name), "{at}");
        }
        let whole = Kubeconfig::from_yaml(&access.kubeconfig).expect("a kubeconfig");
        assert_eq!((whole.clusters.len(), whole.auth_infos.len()), (1, 1));
        assert_eq!(credentials_in(&access.kubeconfig), ["CANARY-file", "CANARY-env"]);
    }

    #[test]
    fn paths_are_relative_to_the_kubeconfig() {
        let mut kubeconfig = json!({
            "clusters": [{"name": "other"}, {"name": "hub", "cluster": {"certificate-authority": "ca.crt"}}],
            "users": [{"name": "me", "user": {
                "tokenFile": "/run/token", "client-key": "me.key", "exec": {"command": "./login", "args": ["a/b"]},
            }}],
        });
        name_whole_paths(&mut kubeconfig, Path::new("/home/me"));
        assert_eq!(
            kubeconfig,
            json!({
                "clusters": [{"name": "other"}, {"name": "hub", "cluster": {"certificate-authority": "/home/me/ca.crt"}}],
                "users": [{"name": "me", "user": {
                    "tokenFile": "/run/token", "client-key": "/home/me/me.key",
                    "exec": {"command": "/home/me/login", "args": ["a/b"]},
                }}],
            })
        );
    }

    #[test]
    fn finds_every_credential_and_nothing_short() {
        let users = r"
users:
- {name: a, user: {token: CANARY-1, username: somebody, password: short}}
- {name: b, user: {client-key-data: CANARY-2, auth-provider: {name: p, config: {refresh: CANARY-3}}}}
";
        assert_eq!(credentials_in(users), ["CANARY-1", "CANARY-2", "CANARY-3"]);
        assert!(credentials_in("users: {").is_empty());
    }

    /// Profiles name regions and addresses, too, and no profile is wrong for naming those of the runner's plugin.
    #[test]
    fn what_a_plugin_is_given_is_a_secret_by_its_name_alone() {
        let users = r"
users:
- name: a
  user:
    exec:
      env:
      - {name: AWS_REGION, value: ap-southeast-2}
      - {name: AWS_PROFILE, value: platform-production}
      - {name: AWS_WEB_IDENTITY_TOKEN_FILE, value: /var/run/secrets/token}
      - {name: AWS_SECRET_ACCESS_KEY, value: CANARY-1}
      - {name: VAULT_TOKEN, value: CANARY-2}
- name: b
  user:
    auth-provider:
      config: {idp-issuer-url: 'https://login.example.com', client-id: kubernetes-login, client-secret: CANARY-3, id-token: CANARY-4}
";
        assert_eq!(credentials_in(users).len(), 9);
        let mut secrets = secrets_in(users);
        secrets.sort_unstable();
        assert_eq!(secrets, ["CANARY-1", "CANARY-2", "CANARY-3", "CANARY-4"]);
    }
}
