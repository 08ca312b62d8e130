//! Installs the suite's CRDs on a hub of its own, and waits until they are served.

use std::time::Duration;

use collect::connect::cause;
use http::{Method, Request, header};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use serde_json::Value;
use tokio::time::sleep;

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// How often it is asked whether they are served, and after how many times that is given up.
const POLL: Duration = Duration::from_millis(50);
const POLLS: u32 = 600;

/// Creates what is missing of the CRDs. Gives the reason in words where that fails.
pub(super) async fn install(client: &Client, definitions: &[CustomResourceDefinition]) -> Result<(), String> {
    for definition in definitions {
        let name = definition.metadata.name.clone().unwrap_or_default();
        match create(client, definition).await {
            Ok(()) => {}
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(error) => return Err(format!("CRD {name}: {}", cause(&error))),
        }
    }
    for definition in definitions {
        served(client, definition).await?;
    }
    Ok(())
}

async fn create(client: &Client, definition: &CustomResourceDefinition) -> kube::Result<()> {
    let body = serde_json::to_vec(definition).map_err(kube::Error::SerdeError)?;
    let request = Request::builder()
        .method(Method::POST)
        .uri(CRDS)
        .header(header::CONTENT_TYPE, "application/json")
        .body(body)
        .map_err(kube::Error::HttpError)?;
    client.request::<Value>(request).await.map(|_| ())
}

/// Waits until every version that the definition serves answers a list: discovery may tell of it earlier.
async fn served(client: &Client, definition: &CustomResourceDefinition) -> Result<(), String> {
    let spec = &definition.spec;
    for version in spec.versions.iter().filter(|version| version.served) {
        let path = format!(
            "/apis/{}/{}/{}?limit=1",
            spec.group, version.name, spec.names.plural
        );
        let mut polls = 0;
        loop {
            let request = Request::get(&path)
                .body(Vec::new())
                .map_err(|error| error.to_string())?;
            match client.request::<Value>(request).await {
                Ok(_) => break,
                Err(error) if polls == POLLS => {
                    return Err(format!("{} is not served: {}", spec.names.plural, cause(&error)));
                }
                Err(_) => sleep(POLL).await,
            }
            polls += 1;
        }
    }
    Ok(())
}
