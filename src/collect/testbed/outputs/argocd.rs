//! Cluster Secrets of Argo CD.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::Value;

use super::Found;
use crate::connect::call::{TimedClient, get, segment};

/// The label of a cluster Secret, and its value.
const LABEL: &str = "argocd.argoproj.io/secret-type";
const VALUE: &str = "cluster";
/// What of a Secret is looked at: `config` has the credential.
const FIELDS: [&str; 2] = ["name", "server"];

/// Reads all cluster Secrets of a namespace.
pub(super) async fn read(hub: &TimedClient, namespace: &str) -> Result<Vec<Found>, String> {
    let path = format!(
        "/api/v1/namespaces/{}/secrets?labelSelector={}",
        segment(namespace),
        segment(&format!("{LABEL}={VALUE}"))
    );
    let list: Value = get(hub, &path).await.map_err(|failure| failure.to_string())?;
    let secrets = list["items"].as_array().into_iter().flatten();
    Ok(secrets.map(found).collect())
}

fn found(secret: &Value) -> Found {
    let metadata = |name: &str| secret["metadata"][name].as_str().unwrap_or_default();
    Found {
        object: format!("Secret {}/{}", metadata("namespace"), metadata("name")),
        texts: FIELDS.iter().filter_map(|name| field(secret, name)).collect(),
    }
}

/// A field of a Secret that holds text.
fn field(secret: &Value, name: &str) -> Option<String> {
    let bytes = BASE64_STANDARD.decode(secret["data"][name].as_str()?).ok()?;
    String::from_utf8(bytes).ok()
}
