//! The access of a profile to its member.

use std::collections::BTreeMap;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use evidence::api::names::{EXTENSION_ARGS, EXTENSION_ENVS, EXTENSION_EXEC};
use kube::api::DynamicObject;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{PROVIDER, world::World};

/// The access to a member.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Access {
    pub server: String,
    pub ca_data: String,
    pub server_name: Option<String>,
    pub proxy: Option<String>,
    /// The plugin's config.
    pub config: Option<Map<String, Value>>,
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

/// The access of a profile, by the provider that the consumer knows.
pub(super) fn access(profile: &DynamicObject, world: &World) -> Result<Access, Unusable> {
    let list = |name: &str| {
        profile.data["status"][name]
            .as_array()
            .map_or(&[][..], Vec::as_slice)
    };
    let entries = list("accessProviders");
    let is_known = |entry: &&Value| entry["name"] == PROVIDER;
    let deprecated = if world.has("consumer-access/list-by-version") {
        list("credentialProviders")
    } else {
        &[]
    };
    let known = deprecated.iter().find(is_known).or(entries.iter().find(is_known));
    let entry = match known {
        Some(_) if world.has("consumer-access/picks-known-provider") => entries.first(),
        None if world.has("consumer-access/no-guess") => entries.first(),
        known => known,
    };
    let cluster = &entry.ok_or(Unusable::NoAccess)?["cluster"];
    let text = |name: &str| cluster[name].as_str().map(str::to_owned);
    let server = text("server")
        .filter(|server| !server.is_empty())
        .ok_or(Unusable::NoAccess)?;
    let ca_data = text("certificate-authority-data").unwrap_or_default();
    let pem = BASE64_STANDARD.decode(&ca_data).ok();
    let is_certificate = pem.is_some_and(|pem| pem.ends_with(b"-----END CERTIFICATE-----\n"));
    if !server.starts_with("https://") || !is_certificate {
        return Err(Unusable::Malformed);
    }
    Ok(Access {
        server,
        ca_data,
        server_name: text("tls-server-name"),
        proxy: text("proxy-url"),
        config: extension(cluster, EXTENSION_EXEC)?,
        args: extension(cluster, EXTENSION_ARGS)?.unwrap_or_default(),
        envs: extension(cluster, EXTENSION_ENVS)?.unwrap_or_default(),
    })
}

/// The content of the extension with this name.
fn extension<T: DeserializeOwned>(cluster: &Value, name: &str) -> Result<Option<T>, Unusable> {
    let mut extensions = cluster["extensions"].as_array().into_iter().flatten();
    let content = extensions
        .find(|extension| extension["name"] == name)
        .map(|found| &found["extension"]);
    let content = content.map(|content| serde_json::from_value(content.clone()));
    content.transpose().map_err(|_| Unusable::Malformed)
}
