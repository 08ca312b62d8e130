//! A ClusterProfile as the suite reads it: v1alpha1 and v1alpha2 in one.
//!
//! It is lenient: absent and `null` are the same. It is compact, as a hub may hold 100,000: versions share equal parts
//! ([`ClusterProfile::share_with`]), and `managedFields` is reduced to ownership ([`Writer`](super::Writer)).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Json, Metadata, names,
    shape::{
        is_default, object_or_default, object_or_none, objects_or_default, or_default, share, share_list,
        share_some,
    },
};

/// One member cluster as its manager describes it (KEP-4322).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterProfile {
    /// The API version that it was read in, for example `multicluster.x-k8s.io/v1alpha1`.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub api_version: Arc<str>,
    /// The object metadata that rules use.
    #[serde(deserialize_with = "object_or_default")]
    pub metadata: Metadata,
    /// What the manager set at creation.
    #[serde(deserialize_with = "object_or_default", skip_serializing_if = "is_default")]
    pub spec: Arc<Spec>,
    /// What the manager observed.
    #[serde(deserialize_with = "object_or_default", skip_serializing_if = "is_default")]
    pub status: Status,
}

/// The desired part of a profile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Spec {
    /// A human-readable name, set by the consumer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// The manager of the member.
    #[serde(deserialize_with = "object_or_none", skip_serializing_if = "Option::is_none")]
    pub cluster_manager: Option<ClusterManager>,
}

/// The manager of a profile (KEP-4322 › Spec › Cluster Manager).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ClusterManager {
    /// Its unique name.
    #[serde(deserialize_with = "or_default")]
    pub name: Arc<str>,
}

/// The observed part of a profile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    /// Versions of the member.
    #[serde(deserialize_with = "object_or_default", skip_serializing_if = "is_default")]
    pub version: Version,
    /// Name-value pairs.
    #[serde(deserialize_with = "objects_or_default", skip_serializing_if = "is_default")]
    pub properties: Arc<[Property]>,
    /// Conditions in the format of `metav1.Condition`.
    #[serde(deserialize_with = "objects_or_default", skip_serializing_if = "is_default")]
    pub conditions: Arc<[Condition]>,
    /// Access to the member (Overview › Access to member clusters).
    #[serde(deserialize_with = "objects_or_default", skip_serializing_if = "is_default")]
    pub access_providers: Arc<[AccessProvider]>,
    /// The deprecated name of the same list (v1alpha1 only).
    #[serde(deserialize_with = "objects_or_default", skip_serializing_if = "is_default")]
    pub credential_providers: Arc<[AccessProvider]>,
}

/// Versions of the member cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Version {
    /// The version of Kubernetes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<Arc<str>>,
}

/// One property of the member (KEP-4322 › Properties).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Property {
    /// A well-known or customised name.
    #[serde(deserialize_with = "or_default")]
    pub name: Arc<str>,
    /// The value; lists are JSON in a string, as the CRD stores strings.
    #[serde(deserialize_with = "or_default")]
    pub value: Arc<str>,
    /// When it was observed on the member, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_observed_time: Option<Arc<str>>,
}

/// One condition (`metav1.Condition`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Condition {
    /// Type, for example `Joined`.
    #[serde(rename = "type", deserialize_with = "or_default")]
    pub kind: Arc<str>,
    /// `True`, `False` or `Unknown`.
    #[serde(deserialize_with = "or_default")]
    pub status: Arc<str>,
    /// CamelCase reason of the last transition.
    #[serde(deserialize_with = "or_default")]
    pub reason: Arc<str>,
    /// Human-readable details.
    #[serde(deserialize_with = "or_default")]
    pub message: Arc<str>,
    /// When the status last changed, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Arc<str>>,
    /// The generation that the condition was set upon.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// One access to the member (Overview › Access to member clusters).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AccessProvider {
    /// The type of provider, by which a consumer selects its plugin.
    #[serde(deserialize_with = "or_default")]
    pub name: Arc<str>,
    /// Connection details in the format of a kubeconfig's cluster.
    #[serde(deserialize_with = "object_or_default")]
    pub cluster: Cluster,
}

/// Connection details of a member, in the format of a kubeconfig's cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Cluster {
    /// URL of the API server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<Box<str>>,
    /// Name to check the server's certificate against.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_server_name: Option<Box<str>>,
    /// True if the certificate is not verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insecure_skip_tls_verify: Option<bool>,
    /// Path of a file with certificates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate_authority: Option<Box<str>>,
    /// PEM certificates in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate_authority_data: Option<Box<str>>,
    /// URL of a proxy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_url: Option<Box<str>>,
    /// True if responses are not compressed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disable_compression: Option<bool>,
    /// Named settings of credential plugins.
    #[serde(deserialize_with = "objects_or_default", skip_serializing_if = "is_default")]
    pub extensions: Vec<Extension>,
}

/// One named setting of a credential plugin.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Extension {
    /// Its name, for example `client.authentication.k8s.io/exec`.
    #[serde(deserialize_with = "or_default")]
    pub name: Box<str>,
    /// Its content.
    #[schemars(with = "Value")]
    pub extension: Json,
}

impl ClusterProfile {
    /// The name of the manager in the spec; empty when there is none.
    pub fn manager(&self) -> &str {
        let manager = self.spec.cluster_manager.as_ref();
        manager.map_or("", |manager| &manager.name)
    }

    /// A label's value.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.metadata.labels.get(key).map(String::as_str)
    }

    /// The first property of that name.
    pub fn property(&self, name: &str) -> Option<&Property> {
        let mut properties = self.status.properties.iter();
        properties.find(|property| &*property.name == name)
    }

    /// The first condition of that type.
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        let mut conditions = self.status.conditions.iter();
        conditions.find(|condition| &*condition.kind == kind)
    }

    /// Access providers, then the deprecated list. Both count; the first of a name wins.
    pub fn access(&self) -> impl Iterator<Item = &AccessProvider> {
        let deprecated = self.status.credential_providers.iter();
        self.status.access_providers.iter().chain(deprecated)
    }

    /// Shares every part that equals the one in `previous`, which may be another profile.
    pub fn share_with(&mut self, previous: &ClusterProfile) {
        share(&mut self.api_version, &previous.api_version);
        self.metadata.share_with(&previous.metadata);
        share(&mut self.spec, &previous.spec);
        let own_manager = Arc::get_mut(&mut self.spec).and_then(|spec| spec.cluster_manager.as_mut());
        if let (Some(manager), Some(previous)) = (own_manager, &previous.spec.cluster_manager) {
            share(&mut manager.name, &previous.name);
        }
        self.status.share_with(&previous.status);
    }
}

impl Status {
    fn share_with(&mut self, previous: &Status) {
        share_some(&mut self.version.kubernetes, &previous.version.kubernetes);
        share_list(&mut self.properties, &previous.properties, |new, previous| {
            share(&mut new.name, &previous.name);
            share(&mut new.value, &previous.value);
            share_some(&mut new.last_observed_time, &previous.last_observed_time);
        });
        share_list(&mut self.conditions, &previous.conditions, |new, previous| {
            share(&mut new.kind, &previous.kind);
            share(&mut new.status, &previous.status);
            share(&mut new.reason, &previous.reason);
            share(&mut new.message, &previous.message);
            share_some(&mut new.last_transition_time, &previous.last_transition_time);
        });
        let share_name =
            |new: &mut AccessProvider, previous: &AccessProvider| share(&mut new.name, &previous.name);
        share_list(&mut self.access_providers, &previous.access_providers, share_name);
        share_list(
            &mut self.credential_providers,
            &previous.credential_providers,
            share_name,
        );
    }
}

/// Whether a version is the wanted one, a vendor's build of it (`v1.35.2+k3s1`), or its latest patch.
pub fn is_build_of(release: &str, version: &str) -> bool {
    let bare = |version| str::strip_prefix(version, 'v').unwrap_or(version);
    let rest = bare(version).strip_prefix(bare(release));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-', '+']))
}

/// The paths of the values that `before` has and `after` lacks: version, property, `Joined`, access provider, server.
pub fn lost_values(before: &ClusterProfile, after: &ClusterProfile) -> Vec<String> {
    let mut paths = Vec::new();
    let version = |profile: &ClusterProfile| is_filled(profile.status.version.kubernetes.as_deref());
    if version(before) && !version(after) {
        paths.push("status.version.kubernetes".to_owned());
    }
    for property in before.status.properties.iter() {
        let value = after.property(&property.name).map(|property| &*property.value);
        if !property.value.is_empty() && !is_filled(value) {
            paths.push(format!("status.properties[{}]", property.name));
        }
    }
    for kind in [names::CONDITION_JOINED, names::CONDITION_HEALTHY] {
        if before.condition(kind).is_some() && after.condition(kind).is_none() {
            paths.push(format!("status.conditions[{kind}]"));
        }
    }
    let joined = |profile: &ClusterProfile| {
        let condition = profile.condition(names::CONDITION_JOINED);
        condition.map(|condition| &*condition.status == "True")
    };
    if joined(before) == Some(true) && joined(after) == Some(false) {
        paths.push(format!("status.conditions[{}].status", names::CONDITION_JOINED));
    }
    for provider in before.access() {
        let has_server = |provider: &AccessProvider| is_filled(provider.cluster.server.as_deref());
        let mut successors = after
            .access()
            .filter(|later| later.name == provider.name)
            .peekable();
        let path = format!("status.accessProviders[{}]", provider.name);
        if successors.peek().is_none() {
            paths.push(path);
        } else if has_server(provider) && !successors.any(has_server) {
            paths.push(format!("{path}.cluster.server"));
        }
    }
    paths.dedup();
    paths
}

fn is_filled(text: Option<&str>) -> bool {
    text.is_some_and(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn status(status: Value) -> ClusterProfile {
        serde_json::from_value(json!({"status": status})).expect("a profile")
    }

    #[test]
    fn removed_values_are_lost_and_changed_values_are_not() {
        let before = status(json!({
            "version": {"kubernetes": "v1.34.1"},
            "properties": [{"name": "a", "value": "1"}, {"name": "b", "value": "2"}, {"name": "c", "value": ""}],
            "conditions": [
                {"type": "Joined", "status": "True"}, {"type": "ControlPlaneHealthy", "status": "True"},
                {"type": "Upgrading", "status": "True"}],
            "accessProviders": [{"name": "p", "cluster": {"server": "https://a"}}],
            "credentialProviders": [{"name": "q"}],
        }));
        let changed = status(json!({
            "version": {"kubernetes": "v1.35.0"},
            "properties": [{"name": "b", "value": "3"}, {"name": "a", "value": "9"}],
            "conditions": [{"type": "Joined", "status": "True"}, {"type": "ControlPlaneHealthy", "status": "False"}],
            "accessProviders": [{"name": "q"}, {"name": "p", "cluster": {"server": "https://b"}}],
        }));
        let paths = |before: &ClusterProfile, after: &ClusterProfile| lost_values(before, after).join(" ");
        assert_eq!(paths(&before, &changed), "");
        let nothing = status(json!({}));
        let expected = "status.version.kubernetes status.properties[a] status.properties[b] \
                        status.conditions[Joined] status.conditions[ControlPlaneHealthy] \
                        status.accessProviders[p] status.accessProviders[q]";
        assert_eq!(paths(&before, &nothing), expected);
        let empty = status(json!({
            "version": {"kubernetes": ""},
            "properties": [{"name": "a", "value": ""}, {"name": "b", "value": "2"}],
            "conditions": [{"type": "Joined", "status": "Unknown"}, {"type": "ControlPlaneHealthy", "status": "True"}],
            "accessProviders": [{"name": "p", "cluster": {"server": ""}}, {"name": "q"}],
        }));
        let expected = "status.version.kubernetes status.properties[a] status.conditions[Joined].status \
                        status.accessProviders[p].cluster.server";
        assert_eq!(paths(&before, &empty), expected);
        assert_eq!(paths(&nothing, &before), "");
    }
}
