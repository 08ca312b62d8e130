//! Consumers' Secrets: their contents without values.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ObjectRef, api::Labels};

/// A Secret with the label `x-k8s.io/cluster-profile`, as last seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Secret {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Uid.
    pub uid: String,
    /// `resourceVersion`.
    pub resource_version: String,
    /// Creation time, RFC 3339. Secrets are listed after profiles, so a Secret may be newer than the list of profiles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creation_timestamp: Option<String>,
    /// Labels.
    pub labels: Labels,
    /// The keys of its data, sorted.
    pub keys: Vec<String>,
    /// The content of the data key `Config`, if it is a kubeconfig.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubeconfig: Option<Kubeconfig>,
    /// Why the data key `Config` is not a kubeconfig. Quotes nothing of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubeconfig_error: Option<String>,
}

/// A Secret without the label `x-k8s.io/cluster-profile` that holds a kubeconfig, in a consumer's namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct UnlabelledSecret {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Uid.
    pub uid: String,
    /// `resourceVersion`.
    pub resource_version: String,
    /// The data key of the kubeconfig.
    pub key: String,
    /// URLs of the API servers in the kubeconfig, without userinfo.
    pub servers: Vec<String>,
}

/// The shape of a kubeconfig, without its secrets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Kubeconfig {
    /// `current-context`; empty when not set.
    pub current_context: String,
    /// `contexts`.
    pub contexts: Vec<KubeconfigContext>,
    /// `clusters`.
    pub clusters: Vec<KubeconfigCluster>,
    /// `users`.
    pub users: Vec<KubeconfigUser>,
}

/// A context of a kubeconfig.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct KubeconfigContext {
    /// Its name.
    pub name: String,
    /// The cluster that it names.
    pub cluster: String,
    /// The user that it names.
    pub user: String,
}

/// A cluster of a kubeconfig.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct KubeconfigCluster {
    /// Its name.
    pub name: String,
    /// URL of the API server, without userinfo.
    pub server: String,
    /// Fields with a file name, for example `certificate-authority`.
    pub files: Vec<String>,
}

/// A user of a kubeconfig.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct KubeconfigUser {
    /// Its name.
    pub name: String,
    /// Its credentials.
    pub credentials: Vec<Credential>,
    /// Fields with a file name, for example `client-key`.
    pub files: Vec<String>,
}

/// A credential, identified by its digest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Credential {
    /// Its kind.
    pub kind: CredentialKind,
    /// Keyed digest of its value, comparable only within one run. Empty without a value, as of an exec plugin.
    pub digest: String,
}

/// The kinds of credential in a kubeconfig.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CredentialKind {
    /// `token`
    Token,
    /// `client-key-data`
    ClientKey,
    /// `username` and `password`
    Password,
    /// `exec`
    Exec,
    /// `auth-provider`: a token that it was issued
    AuthProvider,
}

impl From<&UnlabelledSecret> for ObjectRef {
    fn from(of: &UnlabelledSecret) -> Self {
        Self::new("Secret", &of.namespace, &of.name, &of.uid, &of.resource_version)
    }
}

impl From<&Secret> for ObjectRef {
    fn from(of: &Secret) -> Self {
        Self::new("Secret", &of.namespace, &of.name, &of.uid, &of.resource_version)
    }
}
