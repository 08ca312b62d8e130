//! The access providers that the manager publishes.

use evidence::api::names::{EXTENSION_ENVS, EXTENSION_EXEC};
use serde_json::{Value, json};

use super::{
    address::server,
    certificates::ca_data,
    members::{Member, SET_NAMESPACE},
};

/// An access provider.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Access {
    /// The name of the provider.
    pub name: String,
    pub server: String,
    /// Certificates in base64; empty for none.
    pub ca_data: String,
    pub proxy: Option<String>,
    /// Settings of the credential plugin, without its further arguments: no published definition accepts them as a list.
    pub extensions: Vec<(String, Value)>,
    /// The member's name.
    pub cluster: String,
}

impl Access {
    /// The provider for `member`, the `number`th of the fleet.
    pub(super) fn of(member: &Member<'_>, number: usize) -> Self {
        Self {
            proxy: (member.namespace == SET_NAMESPACE)
                .then(|| "http://proxy.clusters.example:3128".to_owned()),
            ..Self::to(member.name, ca_data(number))
        }
    }

    /// The provider for the member of that name, whose authority has this certificate.
    pub(super) fn to(member: &str, ca_data: &str) -> Self {
        Self {
            name: "secretreader".to_owned(),
            server: server(member),
            ca_data: ca_data.to_owned(),
            proxy: None,
            extensions: vec![
                (EXTENSION_EXEC.to_owned(), json!({"clusterName": member})),
                (
                    EXTENSION_ENVS.to_owned(),
                    json!({"CLIENT_ID": format!("reader-of-{member}")}),
                ),
            ],
            cluster: member.to_owned(),
        }
    }

    /// The extension of that name, if it exists.
    pub(super) fn extension(&mut self, name: &str) -> Option<&mut Value> {
        let mut extensions = self.extensions.iter_mut();
        let found = extensions.find(|(own, _)| own == name)?;
        Some(&mut found.1)
    }

    /// The entry in a profile's status.
    pub(super) fn to_json(&self) -> Value {
        let extensions: Vec<Value> = self
            .extensions
            .iter()
            .map(|(name, extension)| json!({"name": name, "extension": extension}))
            .collect();
        let mut cluster = json!({
            "server": self.server,
            "extensions": extensions,
        });
        if !self.ca_data.is_empty() {
            cluster["certificate-authority-data"] = json!(self.ca_data);
        }
        if let Some(proxy) = &self.proxy {
            cluster["proxy-url"] = json!(proxy);
        }
        json!({"name": self.name, "cluster": cluster})
    }
}
