//! The lab's API server over a socket, for programs of their own.

use anyhow::Context;
use apiserver::ApiServer;
use lab::hub::Hub;
use serde_json::json;
use tokio::net::TcpListener;

/// Serves the lab on a free port of the loopback address for as long as this process runs, and gives the kubeconfig
/// of the user who runs the suite.
///
/// # Errors
/// When the hub is another one, or there is no free port.
pub async fn serve(hub: &Hub) -> anyhow::Result<String> {
    let server = hub.as_lab().context("the hub is not the lab")?.clone();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let url = format!("http://{}", listener.local_addr()?);
    tokio::spawn(async move { server.serve(listener).await });
    let kubeconfig = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "lab", "cluster": {"server": url}}],
        "users": [{"name": "conformance", "user": {"token": ApiServer::token("conformance")}}],
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "conformance"}}],
        "current-context": "lab",
    });
    Ok(format!("{kubeconfig:#}\n"))
}
