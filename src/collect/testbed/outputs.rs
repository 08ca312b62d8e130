//! Reads the outputs of the consumer: objects on the hub, a file, a page. Only the names and URLs of the run's members are kept.

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use evidence::{LARGEST_KUBECONFIG, MemberAddress, Output, OutputReader, OutputSnapshot, read_text};
use http::{Uri, uri::PathAndQuery};
use jiff::Timestamp;
use kube::{Config, config::Kubeconfig};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::Value;

use super::player::Player;
use crate::{
    connect::{Connection, TimedClient, client, get, segment},
    watch::fold_list,
};

/// Selects the cluster Secrets of Argo CD.
const ARGOCD_SELECTOR: &str = "argocd.argoproj.io/secret-type=cluster";
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

/// An output: its object, and the texts in it that may be a name or a URL.
type OutputText = (String, Vec<String>);

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

    /// Checks that outputs can be read.
    ///
    /// # Errors
    /// When they cannot be read; the reason has no text of the outputs.
    pub async fn check(&self, hub: &Connection) -> Result<(), String> {
        self.read(&hub.timed(), &[]).await.map(drop)
    }

    /// Reads the outputs that name these addresses.
    pub(super) async fn read(
        &self,
        hub: &TimedClient,
        addresses: &[MemberAddress],
    ) -> Result<Vec<Output>, String> {
        let texts = match self {
            Self::Argocd { namespace } => read_argocd(hub, namespace).await,
            Self::Multikueue {} => read_multikueue(hub).await,
            Self::Kubeconfig { path } => read_kubeconfig(path),
            Self::Http { url, pointer } => read_page(url, pointer).await,
        };
        let texts = texts
            .map_err(|reason| format!("the outputs of {} cannot be read: {reason}", self.reader().name()))?;
        let outputs = texts.into_iter().map(|text| self.output(text, addresses));
        Ok(outputs
            .filter(|output| !output.servers.is_empty() || !output.members.is_empty())
            .collect())
    }

    fn output(&self, (object, texts): OutputText, addresses: &[MemberAddress]) -> Output {
        // The slash at the end of a URL means nothing.
        let bare = |text: &str| text.strip_suffix('/').unwrap_or(text).to_owned();
        let texts: BTreeSet<String> = texts.iter().map(|text| bare(text)).collect();
        let matching = |text: fn(&MemberAddress) -> &String| {
            let texts_of_run = addresses.iter().map(text);
            texts_of_run
                .filter(|text| texts.contains(&bare(text)))
                .cloned()
                .collect()
        };
        Output {
            reader: self.reader(),
            object,
            servers: matching(|address| &address.url),
            members: matching(|address| &address.member),
        }
    }
}

impl Player<'_> {
    /// When an output names a member, if one does now.
    pub(super) async fn output_names(&mut self, member: &str) -> Option<Timestamp> {
        let snapshot = self.snapshot().await;
        let addresses = self.plan.calls.addresses();
        let is_named = snapshot.outputs.iter().any(|output| {
            let mut urls = addresses.iter().filter(|address| address.member == member);
            output.members.contains(member) || urls.any(|address| output.servers.contains(&address.url))
        });
        is_named.then_some(snapshot.at)
    }

    /// Reads the outputs of the consumer, if any are declared, and records them. A consumer that does not run may serve none.
    pub(super) async fn read_outputs(&mut self) {
        if !self.plan.outputs.is_empty() && self.is_running() && !self.context.is_stopped() {
            let snapshot = self.snapshot().await;
            self.testbed.outputs.push(snapshot);
        }
    }

    /// Reads the outputs of the consumer. Reports once what cannot be read.
    async fn snapshot(&mut self) -> OutputSnapshot {
        let addresses = self.plan.calls.addresses();
        let mut outputs = Vec::new();
        for place in &self.plan.outputs {
            match place.read(&self.context.client, &addresses).await {
                Ok(read) => outputs.extend(read),
                Err(reason) if self.unread.is_none() => {
                    self.warn(&reason);
                    self.unread = Some(reason);
                }
                Err(_) => {}
            }
        }
        OutputSnapshot {
            at: self.context.now(),
            outputs,
        }
    }
}

async fn items(hub: &TimedClient, path: &str) -> Result<Vec<Value>, String> {
    let add = |items: &mut Vec<Value>, json: &[u8]| items.extend(serde_json::from_slice::<Value>(json));
    let result = fold_list(hub, path, add).await;
    result.map_err(|failure| failure.to_string())
}

/// Reads the cluster Secrets of Argo CD in a namespace. Their `config` has the credential: it is not read.
async fn read_argocd(hub: &TimedClient, namespace: &str) -> Result<Vec<OutputText>, String> {
    let (namespace, selector) = (segment(namespace), segment(ARGOCD_SELECTOR));
    let path = format!("/api/v1/namespaces/{namespace}/secrets?labelSelector={selector}");
    let output = |secret: Value| {
        let metadata = |name: &str| secret["metadata"][name].as_str().unwrap_or_default();
        let field = |name: &str| {
            let bytes = BASE64_STANDARD.decode(secret["data"][name].as_str()?).ok()?;
            String::from_utf8(bytes).ok()
        };
        let object = format!("Secret {}/{}", metadata("namespace"), metadata("name"));
        (object, ["name", "server"].into_iter().filter_map(field).collect())
    };
    Ok(items(hub, &path).await?.into_iter().map(output).collect())
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
    let output = |cluster: Value| {
        let sources = [
            "/spec/clusterProfileRef/name",
            "/spec/clusterSource/clusterProfileRef/name",
        ];
        let names = sources
            .iter()
            .filter_map(|path| Some(cluster.pointer(path)?.as_str()?.to_owned()));
        let name = cluster["metadata"]["name"].as_str().unwrap_or_default();
        (format!("MultiKueueCluster {name}"), names.collect())
    };
    let clusters = items(hub, &path).await?.into_iter().filter(is_active);
    Ok(clusters.map(output).collect())
}

/// Reads the clusters of a kubeconfig file, and not its users. A missing file has none.
fn read_kubeconfig(path: &Path) -> Result<Vec<OutputText>, String> {
    let text = match read_text(path, LARGEST_KUBECONFIG) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error.to_string()),
    };
    // The parser's message may quote the text.
    let kubeconfig =
        Kubeconfig::from_yaml(&text).map_err(|_| format!("{} is not a valid kubeconfig", path.display()))?;
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let clusters = kubeconfig.clusters.into_iter().map(|cluster| {
        let object = format!("cluster {} of {file}", cluster.name);
        let server = cluster.cluster.and_then(|cluster| cluster.server);
        (object, server.into_iter().chain([cluster.name]).collect())
    });
    Ok(clusters.collect())
}

async fn read_page(url: &Uri, pointer: &str) -> Result<Vec<OutputText>, String> {
    let path = url.path_and_query().map_or("/", |path| path.as_str());
    let mut base = url.clone().into_parts();
    base.path_and_query = Some(PathAndQuery::from_static("/"));
    let base = Uri::from_parts(base).map_err(|_| "its URL has no host".to_owned())?;
    let client = client(Config::new(base)).map_err(|error| error.to_string())?;
    let client = TimedClient::new(client, PAGE_TIMEOUT, std::sync::Arc::default(), 0);
    let page: Value = get(&client, path).await.map_err(|failure| failure.to_string())?;
    let mut texts = Vec::new();
    if let Some(part) = page.pointer(pointer) {
        collect_texts(part, &mut texts);
    }
    Ok(vec![(format!("page {}", url.path()), texts)])
}

fn collect_texts(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(list) => list.iter().for_each(|item| collect_texts(item, texts)),
        Value::Object(fields) => fields.values().for_each(|item| collect_texts(item, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_names_and_urls_of_members_are_kept() {
        let addresses = [MemberAddress {
            url: "https://192.0.2.1:6443".to_owned(),
            member: "one".to_owned(),
            ..MemberAddress::default()
        }];
        let found = |texts: &[&str]| {
            let texts = texts.iter().map(|text| (*text).to_owned()).collect();
            ("Secret argocd/one".to_owned(), texts)
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
        assert_eq!(found[0].1, ["https://a:6443", "a"]);
        fs::write(&path, "users: hunter2").expect("written");
        let error = read_kubeconfig(&path).expect_err("an error");
        assert!(!error.contains("hunter2"), "{error}");
    }
}
