//! What a consumer makes of profiles: objects on the hub, files, a page.

use std::collections::BTreeSet;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the run reads what a consumer makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OutputReader {
    /// Cluster Secrets of Argo CD.
    Argocd,
    /// `MultiKueueCluster` objects of Kueue.
    Multikueue,
    /// A kubeconfig file.
    Kubeconfig,
    /// A page of JSON.
    Http,
}

/// All that the consumer had made at one moment, as far as it speaks of the testbed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutputSnapshot {
    /// When it was read, by the runner's clock.
    #[schemars(with = "crate::json_schema::Time")]
    pub at: Timestamp,
    /// The outputs.
    pub outputs: Vec<Output>,
}

/// One output. Only what it says of staged members is kept, and never a credential.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// How it was read.
    pub reader: OutputReader,
    /// The object, as `Kind namespace/name`; or the file or page, and the place in it.
    pub object: String,
    /// The URLs of staged members that it names.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub servers: BTreeSet<String>,
    /// The staged members that it names: each has the name of its profile.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub members: BTreeSet<String>,
}

impl OutputReader {
    /// The name in driver files and reports.
    pub fn name(self) -> &'static str {
        match self {
            OutputReader::Argocd => "argocd",
            OutputReader::Multikueue => "multikueue",
            OutputReader::Kubeconfig => "kubeconfig",
            OutputReader::Http => "http",
        }
    }
}
