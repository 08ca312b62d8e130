//! Tells when an API server is ready.

use http::Request;
use kube::Client;

/// Returns the server's version, once it is ready. The namespace `default` appears a moment after `/readyz` passes, so
/// both are read.
///
/// # Errors
/// When the server does not answer, or is not ready yet.
pub async fn ready(client: &Client) -> kube::Result<String> {
    for path in ["/readyz", "/api/v1/namespaces/default"] {
        let request = Request::get(path)
            .body(Vec::new())
            .map_err(kube::Error::HttpError)?;
        client.request_text(request).await?;
    }
    Ok(client.apiserver_version().await?.git_version)
}
