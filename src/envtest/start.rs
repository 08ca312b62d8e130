//! What the start of every API server of our own takes: to ask whether it is ready, and to tell why it is not.

use http::Request;
use kube::Client;

/// How many of a log's last lines an error carries.
const TAIL_LINES: usize = 20;

/// The server's version, once it is ready. The namespace `default` comes a moment after `/readyz` passes.
pub async fn ready(client: &Client) -> kube::Result<String> {
    for path in ["/readyz", "/api/v1/namespaces/default"] {
        let request = Request::get(path)
            .body(Vec::new())
            .map_err(kube::Error::HttpError)?;
        client.request_text(request).await?;
    }
    Ok(client.apiserver_version().await?.git_version)
}

/// The last lines of a log.
pub fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}
