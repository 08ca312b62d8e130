//! Gives consumers a Secret for each member, with the token of a service account in that member.

use k8s_openapi::api::{authentication::v1::TokenRequest, core::v1::ServiceAccount};
use kube::{
    Client,
    api::{Api, PostParams},
};
use serde_json::json;

use super::publish::profile_name;
use crate::{
    client::{Hub, RequestError},
    manager::{
        access::Access,
        members::{CONSUMERS, FLEET},
        world::Secret,
    },
};

/// The namespace in a member where consumers' service accounts are.
const ACCOUNTS: &str = "default";
/// The lifetime of a token, in seconds: longer than any run of the manager.
const LASTS: i64 = 24 * 60 * 60;

/// Gives each consumer its missing Secret for a member. Returns whether all have one: a member that does not answer is
/// asked again later.
pub(super) async fn give(
    hub: &Hub,
    name: &str,
    ca_data: &str,
    member: &Client,
) -> Result<bool, RequestError> {
    for consumer in CONSUMERS {
        if hub
            .find(&secret(name, ca_data, consumer, "").target())
            .await?
            .is_some()
        {
            continue;
        }
        let Ok(Some(token)) = token(member, consumer).await else {
            return Ok(false);
        };
        secret(name, ca_data, consumer, &token).create(hub).await?;
    }
    Ok(true)
}

/// Deletes the Secrets for a member.
pub(super) async fn take(hub: &Hub, name: &str) -> Result<(), RequestError> {
    for consumer in CONSUMERS {
        hub.delete(&secret(name, "", consumer, "").target()).await?;
    }
    Ok(())
}

fn secret(name: &str, ca_data: &str, consumer: &str, token: &str) -> Secret {
    Secret::opening(
        name,
        (FLEET, &profile_name(name)),
        &Access::to(name, ca_data),
        consumer,
        token,
    )
}

/// A token of the consumer's service account, which has no rights until the member grants some.
async fn token(member: &Client, consumer: &str) -> Result<Option<String>, kube::Error> {
    let accounts: Api<ServiceAccount> = Api::namespaced(member.clone(), ACCOUNTS);
    let mut account = ServiceAccount::default();
    account.metadata.name = Some(consumer.to_owned());
    match accounts.create(&PostParams::default(), &account).await {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.is_already_exists() => {}
        Err(error) => return Err(error),
    }
    let request: TokenRequest = serde_json::from_value(json!({
        "spec": {"audiences": [], "expirationSeconds": LASTS},
    }))
    .expect("a fixed request is well-formed");
    let given = accounts
        .create_token_request(consumer, &PostParams::default(), &request)
        .await?;
    Ok(given.status.and_then(|status| status.token))
}
