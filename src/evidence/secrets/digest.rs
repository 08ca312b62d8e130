//! Reads consumers' Secrets without keeping a secret: credentials become keyed digests.
//!
//! Each run draws a new key and never writes it anywhere. So equal digests mean equal credentials within one run, and
//! nothing else. A Secret may be hostile: its size, depth and aliases are bounded, and no message quotes it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use ring::hmac;
use serde::Deserialize;
use serde_json::{Map, Value};
use zeroize::Zeroizing;

use crate::{
    Credential, CredentialKind, Kubeconfig, KubeconfigCluster, KubeconfigContext, KubeconfigUser, ObjectRef,
    Secret, UnlabelledSecret, Unreadable,
    api::{names, shape::Object},
    lenient, parse_time,
};

/// The settings of an auth provider that were issued to one user. All others are the same for every user.
const ISSUED: [&str; 3] = ["access-token", "id-token", "refresh-token"];

/// The largest kubeconfig to read: a Secret cannot exceed 1 MiB.
const LARGEST: usize = 1 << 20;

/// Turns Secrets into evidence without secrets.
pub struct Digester {
    key: hmac::Key,
}

/// What is wrong with a Secret or its kubeconfig. Quotes nothing of either.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SecretError(String);

impl SecretError {
    fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

type Entries<'a> = BTreeMap<&'a str, &'a str>;

/// A kubeconfig with its secrets.
#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct ClearKubeconfig {
    current_context: Option<String>,
    contexts: Option<Vec<Object<NamedEntry>>>,
    clusters: Option<Vec<Object<NamedEntry>>>,
    users: Option<Vec<Object<NamedEntry>>>,
}

/// An entry of one of the lists: it has a context, a cluster, or a user.
#[derive(Deserialize)]
struct NamedEntry {
    name: Option<String>,
    context: Option<Object<ClearContext>>,
    cluster: Option<Object<ClearCluster>>,
    user: Option<Object<ClearUser>>,
}

#[derive(Deserialize)]
struct ClearContext {
    cluster: Option<String>,
    user: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct ClearCluster {
    server: Option<String>,
    certificate_authority: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct ClearUser {
    token: Option<String>,
    #[serde(rename = "tokenFile")]
    token_file: Option<String>,
    client_certificate: Option<String>,
    client_key: Option<String>,
    client_key_data: Option<String>,
    username: Option<String>,
    password: Option<String>,
    exec: Option<Map<String, Value>>,
    auth_provider: Option<Object<AuthProvider>>,
}

#[derive(Deserialize)]
struct AuthProvider {
    config: Option<Map<String, Value>>,
}

impl Digester {
    /// Creates a digester. Draw the key at random for each run, and never write it anywhere.
    pub fn new(key: [u8; 32]) -> Self {
        Self {
            key: hmac::Key::new(hmac::HMAC_SHA256, &*Zeroizing::new(key)),
        }
    }

    /// Reads a Secret from the hub or a dump. [`Secret::kubeconfig_error`] reports a bad `Config`.
    pub fn secret(&self, value: &Value) -> Result<Secret, Box<Unreadable>> {
        let mut object = ObjectRef::of_value(value, "Secret");
        "Secret".clone_into(&mut object.kind);
        let digested = self.digested(value, &object);
        digested.map_err(|SecretError(message)| Box::new(Unreadable { object, message }))
    }

    fn digested(&self, value: &Value, object: &ObjectRef) -> Result<Secret, SecretError> {
        if object.name.is_empty() {
            return Err(SecretError::new("metadata.name is missing"));
        }
        let metadata = &value["metadata"];
        let labels = entries(&metadata["labels"], "metadata.labels")?.into_iter();
        let data = entries(&value["data"], "data")?;
        let string_data = entries(&value["stringData"], "stringData")?;
        let keys: BTreeSet<&str> = data.keys().chain(string_data.keys()).copied().collect();
        let config = decoded(names::SECRET_CONFIG_KEY, &data, &string_data);
        let kubeconfig = config.map(|text| self.kubeconfig(&Zeroizing::new(text?)));
        let (kubeconfig, kubeconfig_error) = match kubeconfig.transpose() {
            Ok(kubeconfig) => (kubeconfig, None),
            Err(SecretError(message)) => (None, Some(message)),
        };
        // Only a valid time: arbitrary text stays out.
        let created = metadata["creationTimestamp"].as_str();
        let created = created.filter(|text| parse_time(text).is_some());
        Ok(Secret {
            namespace: object.namespace.clone(),
            name: object.name.clone(),
            uid: object.uid.clone(),
            resource_version: object.resource_version.clone(),
            creation_timestamp: created.map(str::to_owned),
            labels: labels
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect(),
            keys: keys.into_iter().map(str::to_owned).collect(),
            kubeconfig,
            kubeconfig_error,
        })
    }

    /// Reads a Secret without the label of a consumer's Secret; none unless a value is a kubeconfig with a server.
    pub fn unlabelled(&self, value: &Value) -> Option<UnlabelledSecret> {
        let data = entries(&value["data"], "data").unwrap_or_default();
        let string_data = entries(&value["stringData"], "stringData").unwrap_or_default();
        let keys: BTreeSet<&str> = data.keys().chain(string_data.keys()).copied().collect();
        let (key, servers) = keys.into_iter().find_map(|key| {
            let text = Zeroizing::new(decoded(key, &data, &string_data)?.ok()?);
            // Nearly all values are something else: they are not parsed.
            if !text.contains("clusters") || !text.contains("server") {
                return None;
            }
            let clusters = self.kubeconfig(&text).ok()?.clusters.into_iter();
            let servers = clusters
                .map(|cluster| cluster.server)
                .filter(|server| !server.is_empty());
            let servers: Vec<String> = servers.collect();
            (!servers.is_empty()).then(|| (key.to_owned(), servers))
        })?;
        let object = ObjectRef::of_value(value, "Secret");
        Some(UnlabelledSecret {
            namespace: object.namespace,
            name: object.name,
            uid: object.uid,
            resource_version: object.resource_version,
            key,
            servers,
        })
    }

    fn kubeconfig(&self, text: &str) -> Result<Kubeconfig, SecretError> {
        let value = read_yaml(text)?;
        let clear: ClearKubeconfig = lenient::read_value(&value).map_err(SecretError)?;
        let mut kubeconfig = Kubeconfig {
            current_context: clear.current_context.unwrap_or_default(),
            ..Kubeconfig::default()
        };
        for (index, Object(named)) in clear.contexts.into_iter().flatten().enumerate() {
            let context = required(named.context, "contexts", index, "context")?;
            kubeconfig.contexts.push(KubeconfigContext {
                name: named.name.unwrap_or_default(),
                cluster: context.cluster.unwrap_or_default(),
                user: context.user.unwrap_or_default(),
            });
        }
        for (index, Object(named)) in clear.clusters.into_iter().flatten().enumerate() {
            let cluster = required(named.cluster, "clusters", index, "cluster")?;
            kubeconfig.clusters.push(KubeconfigCluster {
                name: named.name.unwrap_or_default(),
                server: without_userinfo(&cluster.server.unwrap_or_default()),
                files: filled([("certificate-authority", &cluster.certificate_authority)]),
            });
        }
        for (index, Object(named)) in clear.users.into_iter().flatten().enumerate() {
            let user = required(named.user, "users", index, "user")?;
            kubeconfig.users.push(KubeconfigUser {
                name: named.name.unwrap_or_default(),
                credentials: self.credentials(&user),
                files: filled([
                    ("client-certificate", &user.client_certificate),
                    ("client-key", &user.client_key),
                    ("tokenFile", &user.token_file),
                ]),
            });
        }
        Ok(kubeconfig)
    }

    fn credentials(&self, user: &ClearUser) -> Vec<Credential> {
        let mut credentials = Vec::new();
        let mut add = |kind, digest| credentials.push(Credential { kind, digest });
        let text = |text: &'_ Option<String>| text.clone().unwrap_or_default();
        let token = Zeroizing::new(text(&user.token));
        if !token.trim().is_empty() {
            add(CredentialKind::Token, self.digest(&[token.trim().as_bytes()]));
        }
        let key = Zeroizing::new(text(&user.client_key_data));
        if !key.trim().is_empty() {
            // Line breaks in base64 do not matter. A value that is not base64 is digested as it is.
            let decoded = BASE64.decode(unwrapped(&key));
            let bytes = decoded.unwrap_or_else(|_| key.trim().as_bytes().to_vec());
            add(CredentialKind::ClientKey, self.digest(&[&bytes]));
        }
        let (name, password) = (text(&user.username), Zeroizing::new(text(&user.password)));
        if !password.is_empty() {
            let digest = self.digest(&[name.as_bytes(), password.as_bytes()]);
            add(CredentialKind::Password, digest);
        }
        if user.exec.is_some() {
            add(CredentialKind::Exec, String::new());
        }
        if let Some(Object(provider)) = &user.auth_provider {
            let issued = provider.config.iter().flat_map(|config| {
                let values = ISSUED.iter().filter_map(|key| config.get(*key)?.as_str());
                values.filter(|value| !value.is_empty())
            });
            let mut digests: Vec<String> = issued.map(|value| self.digest(&[value.as_bytes()])).collect();
            if digests.is_empty() {
                digests.push(String::new());
            }
            digests
                .into_iter()
                .for_each(|digest| add(CredentialKind::AuthProvider, digest));
        }
        credentials
    }

    /// The first 128 bits of the keyed digest, in hexadecimal: enough to distinguish any two credentials.
    fn digest(&self, parts: &[&[u8]]) -> String {
        let mut digest = hmac::Context::with_key(&self.key);
        for part in parts {
            // The length keeps the boundaries of the parts apart.
            digest.update(&(part.len() as u64).to_be_bytes());
            digest.update(part);
        }
        let tag = digest.sign();
        tag.as_ref()[..16]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

impl fmt::Debug for Digester {
    /// Leaves out the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Digester").finish_non_exhaustive()
    }
}

/// Reads a map of strings. Absent and `null` mean empty; a `null` value is an empty string.
fn entries<'a>(value: &'a Value, at: &str) -> Result<Entries<'a>, SecretError> {
    let entry = |(key, value): (&'a String, &'a Value)| match value {
        Value::String(text) => Ok((key.as_str(), text.as_str())),
        Value::Null => Ok((key.as_str(), "")),
        _ => Err(SecretError(format!("{at} has a value that is not a string"))),
    };
    match value {
        Value::Null => Ok(BTreeMap::new()),
        Value::Object(map) => map.iter().map(entry).collect(),
        _ => Err(SecretError(format!("{at} is not a mapping"))),
    }
}

fn decoded(key: &str, data: &Entries, string_data: &Entries) -> Option<Result<String, SecretError>> {
    // `stringData` wins, as on the API server.
    match string_data.get(key) {
        Some(text) => Some(Ok((*text).to_owned())),
        None => data.get(key).map(|encoded| decode(encoded)),
    }
}

/// Reads the kubeconfig of a Secret, with its secrets; none without a data key `Config`. Drop it as soon as possible.
pub fn kubeconfig_in_clear(secret: &Value) -> Option<Result<Value, SecretError>> {
    let read = |key: &str| entries(&secret[key], key);
    match (read("data"), read("stringData")) {
        (Ok(data), Ok(string_data)) => {
            let config = decoded(names::SECRET_CONFIG_KEY, &data, &string_data);
            config.map(|text| read_yaml(&Zeroizing::new(text?)))
        }
        (Err(error), _) | (_, Err(error)) => Some(Err(error)),
    }
}

fn decode(encoded: &str) -> Result<String, SecretError> {
    // Four characters of base64 hold three bytes.
    if encoded.len() / 4 > LARGEST / 3 {
        return Err(too_large());
    }
    let bytes = BASE64.decode(unwrapped(encoded));
    let bytes = bytes.map_err(|_| SecretError::new("it is not valid base64"))?;
    String::from_utf8(bytes).map_err(|_| SecretError::new("it is not text in UTF-8"))
}

fn too_large() -> SecretError {
    SecretError::new("it is larger than 1 MiB")
}

fn unwrapped(base64: &str) -> String {
    base64.split_ascii_whitespace().collect()
}

/// Reads untrusted YAML or JSON, within bounds and without quoting it.
pub(super) fn read_yaml(text: &str) -> Result<Value, SecretError> {
    if text.len() > LARGEST {
        return Err(too_large());
    }
    if text.trim().is_empty() {
        return Err(SecretError::new("it is empty"));
    }
    if text.trim_start().starts_with('{')
        && let Ok(value) = serde_json::from_str(text)
    {
        return Ok(value);
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: 32,
            max_nodes: 20_000,
            max_events: 60_000,
            max_aliases: 100,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 20_000,
        },
        strict_booleans: true,
        with_snippet: false,
    };
    // The parser's message may quote the input, so the error keeps only the line.
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let line = error
            .location()
            .map(|place| place.line())
            .filter(|line| *line > 0);
        let line = line.map(|line| format!(" (line {line})")).unwrap_or_default();
        SecretError(format!("it is not YAML that can be read{line}"))
    })
}

fn required<T>(part: Option<Object<T>>, list: &str, index: usize, key: &str) -> Result<T, SecretError> {
    let Object(part) = part.ok_or_else(|| SecretError(format!("{list}[{index}].{key} is missing")))?;
    Ok(part)
}

/// The names of the fields that have a value.
fn filled<const N: usize>(fields: [(&str, &Option<String>); N]) -> Vec<String> {
    let filled = fields
        .into_iter()
        .filter(|(_, value)| value.as_ref().is_some_and(|value| !value.is_empty()));
    filled.map(|(name, _)| name.to_owned()).collect()
}

/// Removes userinfo, query and fragment from a URL: they may hold secrets.
fn without_userinfo(url: &str) -> String {
    let (scheme, rest) = match url.find("://") {
        // Without a valid scheme, the text may begin with a password.
        Some(end) if url[..end].bytes().all(|byte| byte.is_ascii_alphanumeric()) => url.split_at(end + 3),
        _ => ("", url),
    };
    // The last `@`: an unescaped password may hold any other character.
    let rest = rest.rsplit('@').next().unwrap_or_default();
    let end = rest.find(['?', '#']).unwrap_or(rest.len());
    format!("{scheme}{}", &rest[..end])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn config(text: &str) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {
                "name": "s", "namespace": "c", "uid": "u", "resourceVersion": "7",
                "creationTimestamp": "2026-11-20T10:00:00Z",
                "labels": {"x-k8s.io/cluster-profile": "a"},
                "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "CANARY-annotation"},
            },
            "data": {"Config": BASE64.encode(text), "other": "Q0FOQVJZ"},
        })
    }

    const WHOLE: &str = r"
apiVersion: v1
kind: Config
current-context: one
contexts:
- {name: one, context: {cluster: c, user: u, namespace: n}}
clusters:
- name: c
  cluster:
    server: https://CANARY-user:CANARY@pass/word@api.example:6443/k8s?token=CANARY#CANARY
    certificate-authority: /CANARY/ca.crt
users:
- name: u
  user:
    token: CANARY-token
    client-key-data: Q0FOQVJZLWtleQ==
    username: CANARY-name
    password: CANARY-password
    tokenFile: /CANARY/token
    exec: {command: plugin, env: [{name: SECRET, value: CANARY-env}]}
    auth-provider: {name: oidc, config: {id-token: CANARY-id}}
";

    #[test]
    fn keeps_the_shape_without_secrets() {
        let digester = Digester::new([7; 32]);
        let secret = digester.secret(&config(WHOLE)).expect("a secret");
        assert_eq!(secret.keys, ["Config", "other"]);
        assert_eq!(secret.creation_timestamp.as_deref(), Some("2026-11-20T10:00:00Z"));
        let mut kubeconfig = json!(secret.kubeconfig);
        let credentials = kubeconfig["users"][0]["credentials"].take();
        let kinds = credentials.as_array().into_iter().flatten();
        let kinds: Vec<_> = kinds.filter_map(|one| one["kind"].as_str()).collect();
        assert_eq!(kinds.join(" "), "token client-key password exec auth-provider");
        let shape = json!({
            "currentContext": "one", "contexts": [{"name": "one", "cluster": "c", "user": "u"}],
            "clusters": [{"name": "c", "server": "https://api.example:6443/k8s", "files": ["certificate-authority"]}],
            "users": [{"name": "u", "credentials": null, "files": ["tokenFile"]}],
        });
        assert_eq!(kubeconfig, shape);
        let printed = format!("{} {secret:?} {digester:?}", json!(secret));
        for canary in ["CANARY", "Q0FOQVJZ", &BASE64.encode(WHOLE)[..40]] {
            assert!(!printed.contains(canary), "{printed}");
        }
    }

    /// The digests of the credentials of the first user in a kubeconfig.
    fn digests(digester: &Digester, text: &str) -> Vec<String> {
        let secret = digester.secret(&config(text)).expect("a secret");
        let kubeconfig = secret.kubeconfig.expect("a kubeconfig");
        let credentials = kubeconfig.users[0].credentials.iter();
        credentials.map(|one| one.digest.clone()).collect()
    }

    #[test]
    fn equal_credentials_are_equal_within_one_run_only() {
        let of = |run: u8, user: &str| {
            let users = format!("users: [{{name: a, user: {{{user}}}}}]");
            digests(&Digester::new([run; 32]), &users)
        };
        let as_json = r#"{"users": [{"name": "b", "user": {"token": "t"}}]}"#;
        assert_eq!(of(7, "token: t"), digests(&Digester::new([7; 32]), as_json));
        assert_ne!(of(7, "token: t"), of(7, "token: u"));
        assert_ne!(of(7, "token: t"), of(8, "token: t"));
        let in_lines = of(7, r#"client-key-data: "QUFB\nQUFB""#);
        assert_eq!(in_lines, of(7, "client-key-data: QUFBQUFB"));
        let ab = of(7, "username: ab, password: c");
        assert_ne!(ab, of(7, "username: a, password: bc"));
        // As one Go struct for all lists writes it.
        let with_null = "users: [{name: a, user: {token: t}, cluster: null, context: null}]";
        assert_eq!(digests(&Digester::new([7; 32]), with_null), of(7, "token: t"));
        // An auth provider holds a credential only once it was issued one.
        let provider = |config: &str| of(7, &format!("auth-provider: {{name: oidc, config: {config}}}"));
        let how = "idp-issuer-url: https://idp.example, client-id: c, client-secret: s, tenant-id: t, \
                   idp-certificate-authority-data: Q0E=";
        for unissued in [&format!("{{{how}}}"), "{id-token: ''}", "null"] {
            assert_eq!(provider(unissued), [""]);
        }
        let [one, two] =
            ["one", "two"].map(|id| provider(&format!("{{{how}, id-token: {id}, refresh-token: more}}")));
        assert_ne!(one[0], two[0]);
        assert_eq!(one[1], two[1]);
        // The same token is one credential, however it is written down.
        assert_eq!(of(7, "token: one")[0], one[0]);
    }

    #[test]
    fn a_digest_is_the_first_half_of_an_hmac_sha256() {
        let run = Digester::new([7; 32]);
        assert_eq!(run.digest(&[b"t"]), "fd6242d654e9b93d91bc76071c2379ab");
        assert_eq!(run.digest(&[b"ab", b"c"]), "6073d5bcf26efd7ddc06c90652db4766");
    }

    #[test]
    fn errors_of_a_kubeconfig_quote_nothing() {
        let mut bomb = "a0: &a0 [CANARY, CANARY, CANARY, CANARY, CANARY, CANARY]\n".to_owned();
        for level in 1..12 {
            let list = [format!("*a{}", level - 1).as_str(); 8].join(", ");
            bomb += &format!("a{level}: &a{level} [{list}]\n");
        }
        let deep = "[".repeat(100_000);
        let long = format!("users: {}", "CANARY ".repeat(200_000));
        let yaml = "it is not YAML that can be read";
        let misfits = r#"
CANARY => invalid type: string, expected an object
users: CANARY => users: invalid type: string, expected a sequence
users: [CANARY] => users[0]: invalid type: string, expected an object
users: [{name: CANARY}] => users[0].user is missing
users: [{name: u, cluster: {token: CANARY}}] => users[0].user is missing
users: [{name: u, user: {token: {CANARY: 1}}}] => users[0].user.token: invalid type: map, expected a string
contexts: [{name: u, context: {cluster: [CANARY]}}] => contexts[0].context.cluster: invalid type: sequence, expected a string"#;
        let misfits = misfits.lines().filter_map(|line| line.split_once(" => "));
        let cases = [
            ("", "it is empty"),
            ("users:\n- CANARY: \"CANARY", yaml),
            ("{\"users\": CANARY", yaml),
            ("users: &CANARY\n- *CANARY", yaml),
            ("current-context: CANARY\ncurrent-context: CANARY", yaml),
            (bomb.as_str(), yaml),
            (deep.as_str(), yaml),
            (long.as_str(), "it is larger than 1 MiB"),
        ];
        for (text, expected) in cases.into_iter().chain(misfits) {
            let secret = Digester::new([7; 32]).secret(&config(text)).expect("a secret");
            assert_eq!(secret.kubeconfig, None, "{expected}");
            let flaw = secret.kubeconfig_error.expect("an error");
            assert!(flaw.starts_with(expected), "{flaw} instead of {expected}");
            assert!(!flaw.contains("CANARY"), "{flaw}");
        }
    }

    #[test]
    fn a_url_keeps_only_scheme_host_and_path() {
        for (url, kept) in [
            ("https://u:p@a:6443/k8s?token=t#f", "https://a:6443/k8s"),
            ("u:p@a:6443", "a:6443"),
            ("u:p://q@a:6443", "a:6443"),
            ("https://[2001:db8::1]:6443", "https://[2001:db8::1]:6443"),
            ("", ""),
        ] {
            assert_eq!(without_userinfo(url), kept);
        }
    }

    #[test]
    fn keeps_only_the_servers_of_an_unlabelled_secret() {
        let digester = Digester::new([7; 32]);
        let mut value = config(WHOLE);
        value["metadata"]["labels"] = json!({"app": "CANARY-label"});
        let secret = digester.unlabelled(&value).expect("a kubeconfig");
        assert_eq!((secret.namespace.as_str(), secret.name.as_str()), ("c", "s"));
        assert_eq!(secret.key, "Config");
        assert_eq!(secret.servers, ["https://api.example:6443/k8s"]);
        let printed = format!("{secret:?}");
        assert!(!printed.contains("CANARY"), "{printed}");
        // Under any key, and nothing else is one.
        let under =
            |key: &str, text: &str| json!({"metadata": {"name": "s"}, "data": {key: BASE64.encode(text)}});
        assert!(digester.unlabelled(&under("value", WHOLE)).is_some());
        for text in [
            "CANARY",
            "clusters: the servers of CANARY",
            "clusters: []\nserver: CANARY",
            r#"{"clusters": [{"name": "c", "cluster": {"server": ""}}]}"#,
            r#"{"execProviderConfig": {"command": "argocd-k8s-auth"}, "server": "clusters"}"#,
        ] {
            assert_eq!(digester.unlabelled(&under("value", text)), None, "{text}");
        }
        let malformed = json!({"metadata": {"name": "s"}, "data": "CANARY", "stringData": [1]});
        assert_eq!(digester.unlabelled(&malformed), None);
    }

    #[test]
    fn reports_what_is_not_a_secret() {
        let digester = Digester::new([7; 32]);
        let mut value = config("{}");
        value["data"]["Config"] = json!("CANARY!");
        let secret = digester.secret(&value).expect("a secret");
        assert_eq!(secret.kubeconfig_error.as_deref(), Some("it is not valid base64"));
        value["data"] = json!("CANARY");
        let unreadable = digester.secret(&value).expect_err("no secret");
        assert_eq!(unreadable.object.path(), "c/s");
        assert_eq!(unreadable.message, "data is not a mapping");
        value["data"] = Value::Null;
        value["stringData"] = json!({"Config": "users: []"});
        let secret = digester.secret(&value).expect("a secret");
        assert_eq!(secret.kubeconfig, Some(Kubeconfig::default()));
    }
}
