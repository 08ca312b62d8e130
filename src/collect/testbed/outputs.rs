//! Reads the outputs of the consumer: objects on the hub, a file, a page. Only the names and URLs of the run's members are kept.

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use evidence::{LARGEST_KUBECONFIG, MemberAddress, Output, OutputReader, read_text};
use http::Uri;
use kube::{Config, config::Kubeconfig};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::Value;

use crate::connect::{
    Connection,
    call::{TimedClient, get, segment},
    client,
};

/// Selects the cluster Secrets of Argo CD.
const ARGOCD_SELECTOR: &str = "argocd.argoproj.io/secret-type=cluster";
/// The fields of such a Secret that are read: `config` has the credential.
const ARGOCD_FIELDS: [&str; 2] = ["name", "server"];
const KUEUE_GROUP: &str = "kueue.x-k8s.io";
/// How long a page may take to answer.
const PAGE_TIMEOUT: Duration = Duration::from_secs(10);

/// Where an output is, by how it is read.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum OutputPlace {
    /// Cluster Secrets of Argo CD in a namespace.
    Argocd {
        /// The namespace.
        namespace: String,
    },
    /// `MultiKueueCluster` objects.
    Multikueue {},
    /// A kubeconfig file.
    Kubeconfig {
        /// The file, relative to the driver file.
        path: PathBuf,
    },
    /// A page that answers with JSON.
    Http {
        /// Its URL.
        #[serde(deserialize_with = "page_url")]
        #[schemars(with = "String")]
        url: Uri,
        /// The part of its JSON (RFC 6901); empty for all.
        #[serde(default)]
        pointer: String,
    },
}

/// An output: where it is, and the texts of it that may be a name or a URL.
struct OutputText {
    object: String,
    texts: Vec<String>,
}

fn page_url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Uri, D::Error> {
    let url: Option<Uri> = String::deserialize(deserializer)?.parse().ok();
    url.filter(|url| matches!(url.scheme_str(), Some("http" | "https")))
        .ok_or_else(|| D::Error::custom("give a URL that begins with http:// or https://"))
}

impl OutputPlace {
    /// How it is read.
    pub fn reader(&self) -> OutputReader {
        match self {
            Self::Argocd { .. } => OutputReader::Argocd,
            Self::Multikueue {} => OutputReader::Multikueue,
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
            Self::Argocd { namespace } => read_argocd(hub, namespace).await,
            Self::Multikueue {} => read_multikueue(hub).await,
            Self::Kubeconfig { path } => read_kubeconfig(path),
            Self::Http { url, pointer } => read_page(url, pointer).await,
        };
        let found = found
            .map_err(|reason| format!("the outputs of {} cannot be read: {reason}", self.reader().name()))?;
        let outputs = found.into_iter().map(|found| self.output(found, addresses));
        Ok(outputs
            .filter(|output| !output.servers.is_empty() || !output.members.is_empty())
            .collect())
    }

    fn output(&self, OutputText { object, texts }: OutputText, addresses: &[MemberAddress]) -> Output {
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

/// Reads the items of a list.
async fn items(hub: &TimedClient, path: &str) -> Result<Vec<Value>, String> {
    let mut list: Value = get(hub, path).await.map_err(|failure| failure.to_string())?;
    match list["items"].take() {
        Value::Array(items) => Ok(items),
        _ => Ok(Vec::new()),
    }
}

/// Reads the cluster Secrets of Argo CD in a namespace.
async fn read_argocd(hub: &TimedClient, namespace: &str) -> Result<Vec<OutputText>, String> {
    let (namespace, selector) = (segment(namespace), segment(ARGOCD_SELECTOR));
    let path = format!("/api/v1/namespaces/{namespace}/secrets?labelSelector={selector}");
    let outputs = items(hub, &path).await?.into_iter().map(|secret| {
        let metadata = |name: &str| secret["metadata"][name].as_str().unwrap_or_default();
        let field = |name: &&str| {
            let bytes = BASE64_STANDARD.decode(secret["data"][*name].as_str()?).ok()?;
            String::from_utf8(bytes).ok()
        };
        OutputText {
            object: format!("Secret {}/{}", metadata("namespace"), metadata("name")),
            texts: ARGOCD_FIELDS.iter().filter_map(field).collect(),
        }
    });
    Ok(outputs.collect())
}

/// Reads the active `MultiKueueCluster` objects of Kueue, in the version that the API server prefers.
async fn read_multikueue(hub: &TimedClient) -> Result<Vec<OutputText>, String> {
    let group = get::<Value>(hub, &format!("/apis/{KUEUE_GROUP}")).await;
    let group = group.map_err(|failure| failure.to_string())?;
    let version = group["preferredVersion"]["version"].as_str().unwrap_or_default();
    let path = format!("/apis/{KUEUE_GROUP}/{}/multikueueclusters", segment(version));
    let is_active = |cluster: &Value| {
        let mut conditions = cluster["status"]["conditions"].as_array().into_iter().flatten();
        conditions.any(|condition| condition["type"] == "Active" && condition["status"] == "True")
    };
    let clusters = items(hub, &path).await?.into_iter().filter(is_active);
    let outputs = clusters.map(|cluster| {
        let sources = [
            &cluster["spec"]["clusterProfileRef"]["name"],
            &cluster["spec"]["clusterSource"]["clusterProfileRef"]["name"],
        ];
        let name = cluster["metadata"]["name"].as_str().unwrap_or_default();
        OutputText {
            object: format!("MultiKueueCluster {name}"),
            texts: sources
                .iter()
                .filter_map(|name| Some(name.as_str()?.to_owned()))
                .collect(),
        }
    });
    Ok(outputs.collect())
}

/// Reads the clusters of a kubeconfig file, and nothing of its users. A missing file has none.
fn read_kubeconfig(path: &Path) -> Result<Vec<OutputText>, String> {
    let text = match read_text(path, LARGEST_KUBECONFIG) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error.to_string()),
    };
    // Its own message may quote what it could not read.
    let kubeconfig =
        Kubeconfig::from_yaml(&text).map_err(|_| format!("{} is no kubeconfig", path.display()))?;
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let clusters = kubeconfig.clusters.into_iter().map(|named| OutputText {
        object: format!("cluster {} of {file}", named.name),
        texts: named
            .cluster
            .and_then(|cluster| cluster.server)
            .into_iter()
            .chain([named.name])
            .collect(),
    });
    Ok(clusters.collect())
}

/// Reads all texts of a part of a JSON page.
async fn read_page(url: &Uri, pointer: &str) -> Result<Vec<OutputText>, String> {
    let path = url.path_and_query().map_or("/", |path| path.as_str());
    let base = Uri::builder()
        .scheme(url.scheme_str().unwrap_or("http"))
        .authority(url.authority().map_or("", |authority| authority.as_str()))
        .path_and_query("/")
        .build()
        .map_err(|_| "its URL has no host".to_owned())?;
    let client = client(Config::new(base)).map_err(|error| error.to_string())?;
    let client = TimedClient::new(client, PAGE_TIMEOUT, std::sync::Arc::default(), 0);
    let page: Value = get(&client, path).await.map_err(|failure| failure.to_string())?;
    let Some(part) = page.pointer(pointer) else {
        return Ok(Vec::new());
    };
    let mut texts = Vec::new();
    gather(part, &mut texts);
    Ok(vec![OutputText {
        object: format!("page {}", url.path()),
        texts,
    }])
}

/// All texts within a value.
fn gather(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(list) => list.iter().for_each(|each| gather(each, texts)),
        Value::Object(fields) => fields.values().for_each(|each| gather(each, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_what_is_staged_is_kept() {
        let addresses = [MemberAddress {
            url: "https://192.0.2.1:6443".to_owned(),
            member: "one".to_owned(),
            ..MemberAddress::default()
        }];
        let found = |texts: &[&str]| OutputText {
            object: "Secret argocd/one".to_owned(),
            texts: texts.iter().map(|text| (*text).to_owned()).collect(),
        };
        let place = OutputPlace::Multikueue {};
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

    #[test]
    fn clusters_are_read_and_users_are_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("kubeconfig");
        assert!(read_kubeconfig(&path).expect("nothing").is_empty());
        let text = "clusters: [{name: a, cluster: {server: 'https://a:6443'}}]\nusers: [{name: u, user: {token: hunter2}}]";
        fs::write(&path, text).expect("written");
        let found = read_kubeconfig(&path).expect("clusters");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].texts, ["https://a:6443", "a"]);
        fs::write(&path, "users: hunter2").expect("written");
        let error = read_kubeconfig(&path).err().expect("a flaw");
        assert!(!error.contains("hunter2"), "{error}");
    }
}
