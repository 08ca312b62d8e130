//! Reads what the consumer makes: a table of small readers. Of what they find, only the names and URLs of staged members are kept.

mod argocd;
mod http;
mod kubeconfig;
mod multikueue;

use std::{collections::BTreeSet, path::PathBuf};

use evidence::{MemberAddress, Output, OutputReader};

use crate::connect::{Connection, call::TimedClient};

/// Where an output is, by how it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputPlace {
    /// Cluster Secrets of Argo CD in a namespace.
    Argocd {
        /// The namespace.
        namespace: String,
    },
    /// `MultiKueueCluster` objects.
    Multikueue,
    /// A kubeconfig file.
    Kubeconfig {
        /// The file: absolute.
        path: PathBuf,
    },
    /// A page that answers with JSON.
    Http {
        /// Its URL.
        url: ::http::Uri,
        /// The part of its JSON (RFC 6901); empty for all.
        pointer: String,
    },
}

/// Something that a reader found: where, and all texts of it that may be a name or a URL.
struct Found {
    object: String,
    texts: Vec<String>,
}

impl OutputPlace {
    /// How it is read.
    pub fn reader(&self) -> OutputReader {
        match self {
            Self::Argocd { .. } => OutputReader::Argocd,
            Self::Multikueue => OutputReader::Multikueue,
            Self::Kubeconfig { .. } => OutputReader::Kubeconfig,
            Self::Http { .. } => OutputReader::Http,
        }
    }

    /// Checks that outputs can be read. None of what they hold is looked at.
    ///
    /// # Errors
    /// When they cannot be read; the reason has no text of theirs.
    pub async fn check(&self, hub: &Connection) -> Result<(), String> {
        self.read(&hub.timed(), &[]).await.map(drop)
    }

    /// Reads the outputs that speak of these addresses.
    ///
    /// # Errors
    /// When they cannot be read; the reason has no text of theirs.
    pub(super) async fn read(
        &self,
        hub: &TimedClient,
        addresses: &[MemberAddress],
    ) -> Result<Vec<Output>, String> {
        let found = match self {
            Self::Argocd { namespace } => argocd::read(hub, namespace).await,
            Self::Multikueue => multikueue::read(hub).await,
            Self::Kubeconfig { path } => kubeconfig::read(path),
            Self::Http { url, pointer } => http::read(url, pointer).await,
        };
        let found =
            found.map_err(|why| format!("the outputs of {} cannot be read: {why}", self.reader().name()))?;
        let outputs = found.into_iter().map(|found| self.output(found, addresses));
        Ok(outputs
            .filter(|output| !output.servers.is_empty() || !output.members.is_empty())
            .collect())
    }

    fn output(&self, Found { object, texts }: Found, addresses: &[MemberAddress]) -> Output {
        let has = |wanted: &str| texts.iter().any(|text| bare(text) == bare(wanted));
        let servers = addresses
            .iter()
            .map(|address| &address.url)
            .filter(|url| has(url));
        let members = addresses
            .iter()
            .map(|address| &address.member)
            .filter(|name| has(name));
        Output {
            reader: self.reader(),
            object,
            servers: servers.cloned().collect(),
            members: members.cloned().collect::<BTreeSet<_>>(),
        }
    }
}

/// A URL without the slash at its end, which means nothing.
fn bare(text: &str) -> &str {
    text.strip_suffix('/').unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_staged_is_kept() {
        let addresses = [MemberAddress {
            url: "https://192.0.2.1:6443".to_owned(),
            member: "one".to_owned(),
            ..MemberAddress::default()
        }];
        let found = |texts: &[&str]| Found {
            object: "Secret argocd/one".to_owned(),
            texts: texts.iter().map(|text| (*text).to_owned()).collect(),
        };
        let place = OutputPlace::Multikueue;
        let output = place.output(found(&["https://192.0.2.1:6443/", "one", "hunter2"]), &addresses);
        assert_eq!(
            output.servers,
            BTreeSet::from(["https://192.0.2.1:6443".to_owned()])
        );
        assert_eq!(output.members, BTreeSet::from(["one".to_owned()]));
        assert!(!format!("{output:?}").contains("hunter2"));
        let other = place.output(found(&["https://192.0.2.1:64430", "one-more"]), &addresses);
        assert!(other.servers.is_empty() && other.members.is_empty());
    }
}
