//! The credentials that the manager hands to consumers.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::{Value, json};

use super::access::Access;

/// A kubeconfig with one cluster, one user and one context: one consumer's way into one member.
pub(super) fn kubeconfig(access: &Access, consumer: &str) -> Value {
    let member = &access.cluster;
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{
            "name": member,
            "cluster": {"server": access.server, "certificate-authority-data": access.ca_data},
        }],
        "users": [{"name": consumer, "user": {"token": token()}}],
        "contexts": [{"name": format!("{consumer}@{member}"), "context": {"cluster": member, "user": consumer}}],
        "current-context": format!("{consumer}@{member}"),
    })
}

/// A bearer token that opens nothing, different each time. The prefix lets a leak be found by searching for it.
pub(super) fn token() -> String {
    let mut random = [0; 24];
    SystemRandom::new()
        .fill(&mut random)
        .expect("the random source works");
    format!("lab-token-{}", BASE64_URL_SAFE_NO_PAD.encode(random))
}
