//! Where a consumer makes something of profiles, as the user writes it.

use std::path::{Path, PathBuf};

use http::Uri;
use schemars::JsonSchema;
use serde::Deserialize;

use super::DriverFileFlaw;
use crate::testbed::OutputPlace;

/// Where an output is, by how it is read.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) enum Output {
    /// Cluster Secrets of Argo CD.
    Argocd(Argocd),
    /// `MultiKueueCluster` objects of Kueue.
    Multikueue {},
    /// A kubeconfig file.
    Kubeconfig(Kubeconfig),
    /// A page of JSON.
    Http(Page),
}

/// Cluster Secrets of Argo CD.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Argocd {
    /// Their namespace.
    namespace: String,
}

/// A kubeconfig file.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Kubeconfig {
    /// The file, relative to the driver file.
    path: PathBuf,
}

/// A page of JSON.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Page {
    /// Its URL.
    url: String,
    /// The part of it that counts (RFC 6901).
    #[serde(default)]
    pointer: String,
}

/// Reads where outputs are.
pub(super) fn places(outputs: Vec<Output>, folder: &Path) -> Result<Vec<OutputPlace>, DriverFileFlaw> {
    let place = |output| {
        Ok(match output {
            Output::Argocd(Argocd { namespace }) => OutputPlace::Argocd { namespace },
            Output::Multikueue {} => OutputPlace::Multikueue,
            Output::Kubeconfig(Kubeconfig { path }) => OutputPlace::Kubeconfig {
                path: folder.join(path),
            },
            Output::Http(Page { url, pointer }) => {
                let page: Option<Uri> = url.parse().ok();
                let is_page = |page: &Uri| matches!(page.scheme_str(), Some("http" | "https"));
                match page.filter(is_page) {
                    Some(url) => OutputPlace::Http { url, pointer },
                    None => return Err(DriverFileFlaw::NoPage(url)),
                }
            }
        })
    };
    outputs.into_iter().map(place).collect()
}
