//! The access of a profile to its member.

use std::collections::BTreeMap;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use evidence::api::names::{EXTENSION_ARGS, EXTENSION_ENVS, EXTENSION_EXEC};
use kube::api::DynamicObject;
use serde_json::Value;

use super::world::{Misbehaviour, World};

/// The access to a member.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Access {
    pub provider: String,
    pub server: String,
    pub ca_data: String,
    pub server_name: Option<String>,
    pub proxy: Option<String>,
    /// The plugin's config.
    pub config: Option<Value>,
    pub args: Vec<String>,
    pub envs: BTreeMap<String, String>,
}

/// Why a profile cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unusable {
    /// It has no known provider, or no server.
    NoAccess,
    /// A part is malformed.
    Malformed,
}

/// The access of a profile, for a consumer that has a plugin for the provider `known`.
pub(super) fn access(profile: &DynamicObject, known: &str, world: &World) -> Result<Access, Unusable> {
    let entries = profile.data["status"]["accessProviders"].as_array();
    let entries = entries.map_or(&[][..], Vec::as_slice);
    let is_known = |entry: &&Value| entry["name"] == known;
    let old = profile.data["status"]["credentialProviders"].as_array();
    let old = old.filter(|_| world.has(Misbehaviour::PrefersDeprecatedList));
    let old = old.and_then(|old| old.iter().find(is_known));
    let own = old.or(entries.iter().find(is_known));
    let entry = match own {
        Some(_) if world.has(Misbehaviour::UsesFirstProvider) => entries.first(),
        None if world.has(Misbehaviour::GuessesProvider) => entries.first(),
        own => own,
    };
    let entry = entry.ok_or(Unusable::NoAccess)?;
    let cluster = &entry["cluster"];
    let text = |name: &str| cluster[name].as_str().unwrap_or_default().to_owned();
    let server = text("server");
    if server.is_empty() {
        return Err(Unusable::NoAccess);
    }
    let ca_data = text("certificate-authority-data");
    let pem = BASE64_STANDARD.decode(&ca_data).ok();
    let is_certificate = pem.is_some_and(|pem| pem.ends_with(b"-----END CERTIFICATE-----\n"));
    if !server.starts_with("https://") || !is_certificate {
        return Err(Unusable::Malformed);
    }
    Ok(Access {
        provider: known.to_owned(),
        server,
        ca_data,
        server_name: cluster["tls-server-name"].as_str().map(str::to_owned),
        proxy: cluster["proxy-url"].as_str().map(str::to_owned),
        config: object(cluster, EXTENSION_EXEC)?.cloned(),
        args: arguments(cluster)?,
        envs: variables(cluster)?,
    })
}

/// The content of the extension with this name.
fn extension<'v>(cluster: &'v Value, name: &str) -> Option<&'v Value> {
    let extensions = cluster["extensions"].as_array()?;
    let found = extensions.iter().find(|extension| extension["name"] == name)?;
    Some(&found["extension"])
}

fn object<'v>(cluster: &'v Value, name: &str) -> Result<Option<&'v Value>, Unusable> {
    match extension(cluster, name) {
        Some(content) if !content.is_object() => Err(Unusable::Malformed),
        content => Ok(content),
    }
}

fn arguments(cluster: &Value) -> Result<Vec<String>, Unusable> {
    let Some(content) = extension(cluster, EXTENSION_ARGS) else {
        return Ok(Vec::new());
    };
    let list = content.as_array().ok_or(Unusable::Malformed)?;
    Ok(list
        .iter()
        .filter_map(|argument| argument.as_str().map(str::to_owned))
        .collect())
}

fn variables(cluster: &Value) -> Result<BTreeMap<String, String>, Unusable> {
    let fields = object(cluster, EXTENSION_ENVS)?.and_then(Value::as_object);
    Ok(fields
        .into_iter()
        .flatten()
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
        .collect())
}
