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

/// The settings of an auth provider that were issued to one user. All other settings are equal for every user.
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
        let secret = self.read_secret(value, &object);
        secret.map_err(|SecretError(message)| Box::new(Unreadable { object, message }))
    }

    fn read_secret(&self, value: &Value, object: &ObjectRef) -> Result<Secret, SecretError> {
        if object.name.is_empty() {
            return Err(SecretError::new("metadata.name is missing"));
        }
        let metadata = &value["metadata"];
        let labels = entries(&metadata["labels"], "metadata.labels")?.into_iter();
        let data = entries(&value["data"], "data")?;
        let string_data = entries(&value["stringData"], "stringData")?;
        let keys: BTreeSet<&str> = data.keys().chain(string_data.keys()).copied().collect();
        let config = decode_entry(names::SECRET_CONFIG_KEY, &data, &string_data);
        let kubeconfig = config.map(|text| self.kubeconfig(&Zeroizing::new(text?)));
        let (kubeconfig, kubeconfig_error) = match kubeconfig.transpose() {
            Ok(kubeconfig) => (kubeconfig, None),
            Err(SecretError(message)) => (None, Some(message)),
        };
        // Only a valid time: arbitrary text stays out.
        let creation = metadata["creationTimestamp"].as_str();
        let creation = creation.filter(|text| parse_time(text).is_some());
        Ok(Secret {
            namespace: object.namespace.clone(),
            name: object.name.clone(),
            uid: object.uid.clone(),
            resource_version: object.resource_version.clone(),
            creation_timestamp: creation.map(str::to_owned),
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
            let text = Zeroizing::new(decode_entry(key, &data, &string_data)?.ok()?);
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
        for (index, Object(entry)) in clear.contexts.into_iter().flatten().enumerate() {
            let context = require(entry.context, "contexts", index, "context")?;
            kubeconfig.contexts.push(KubeconfigContext {
                name: entry.name.unwrap_or_default(),
                cluster: context.cluster.unwrap_or_default(),
                user: context.user.unwrap_or_default(),
            });
        }
        for (index, Object(entry)) in clear.clusters.into_iter().flatten().enumerate() {
            let cluster = require(entry.cluster, "clusters", index, "cluster")?;
            kubeconfig.clusters.push(KubeconfigCluster {
                name: entry.name.unwrap_or_default(),
                server: without_userinfo(&cluster.server.unwrap_or_default()),
                files: fields_with_value([("certificate-authority", &cluster.certificate_authority)]),
            });
        }
        for (index, Object(entry)) in clear.users.into_iter().flatten().enumerate() {
            let user = require(entry.user, "users", index, "user")?;
            kubeconfig.users.push(KubeconfigUser {
                name: entry.name.unwrap_or_default(),
                credentials: self.credentials(&user),
                files: fields_with_value([
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
            let bytes = BASE64.decode(without_whitespace(&key));
            let bytes = bytes.unwrap_or_else(|_| key.trim().as_bytes().to_vec());
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
            let tokens = provider.config.iter().flat_map(|config| {
                let values = ISSUED.iter().filter_map(|key| config.get(*key)?.as_str());
                values.filter(|value| !value.is_empty())
            });
            let mut digests: Vec<String> = tokens.map(|value| self.digest(&[value.as_bytes()])).collect();
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

fn decode_entry(key: &str, data: &Entries, string_data: &Entries) -> Option<Result<String, SecretError>> {
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
            let config = decode_entry(names::SECRET_CONFIG_KEY, &data, &string_data);
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
    let bytes = BASE64.decode(without_whitespace(encoded));
    let bytes = bytes.map_err(|_| SecretError::new("it is not valid base64"))?;
    String::from_utf8(bytes).map_err(|_| SecretError::new("it is not text in UTF-8"))
}

fn too_large() -> SecretError {
    SecretError::new("it is larger than 1 MiB")
}

fn without_whitespace(base64: &str) -> String {
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

fn require<T>(part: Option<Object<T>>, list: &str, index: usize, key: &str) -> Result<T, SecretError> {
    let Object(part) = part.ok_or_else(|| SecretError(format!("{list}[{index}].{key} is missing")))?;
    Ok(part)
}

/// The names of the fields that have a value.
fn fields_with_value<const N: usize>(fields: [(&str, &Option<String>); N]) -> Vec<String> {
    let fields = fields
        .into_iter()
        .filter(|(_, value)| value.as_ref().is_some_and(|value| !value.is_empty()));
    fields.map(|(name, _)| name.to_owned()).collect()
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
mod tests;
