//! Installs CRDs on a hub, and waits until it serves them.

use std::time::Duration;

use collect::connect::cause;
use http::Request;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Client,
    api::{Api, PostParams},
};
use serde_json::Value;
use tokio::time::sleep;

/// The time between two checks that they are served, and how many checks there are.
const POLL: Duration = Duration::from_millis(50);
const POLLS: u32 = 600;

/// Creates the CRDs that are missing, and waits until all are served. The error says why not; it shows nothing of a
/// credential.
pub(super) async fn install(client: &Client, definitions: &[CustomResourceDefinition]) -> Result<(), String> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    for definition in definitions {
        match api.create(&PostParams::default(), definition).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.is_already_exists() => {}
            Err(error) => {
                let name = definition.metadata.name.as_deref().unwrap_or_default();
                return Err(format!("CRD {name}: {}", cause(&error)));
            }
        }
    }
    for definition in definitions {
        let plural = &definition.spec.names.plural;
        let served = served(client, definition).await;
        served.map_err(|error| format!("{plural} is not served: {}", cause(&error)))?;
    }
    Ok(())
}

/// Waits until the hub answers a list in every version that the definition serves: discovery may show a version earlier.
async fn served(client: &Client, definition: &CustomResourceDefinition) -> kube::Result<()> {
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
                .map_err(kube::Error::HttpError)?;
            match client.request::<Value>(request).await {
                Ok(_) => break,
                Err(error) if polls == POLLS => return Err(error),
                Err(_) => sleep(POLL).await,
            }
            polls += 1;
        }
    }
    Ok(())
}
