//! Profiles that are right, and ask for care: which provider, which server, which authority, which way, which words for the
//! plugin.

use evidence::api::names::EXTENSION_EXEC;
use serde_json::json;

use super::{
    super::{
        members::NewAddress,
        profile::{Entry, Status},
        session::Session,
    },
    UNKNOWN,
};

/// Which provider, which server, which authority.
pub(super) async fn access(session: &Session<'_>) {
    let provider = session.provider();
    if let (Some(other), Some(own)) = (
        session.address("two-providers").await,
        session.address("two-providers").await,
    ) {
        let status = Status::of([Entry::to(UNKNOWN, &other), Entry::to(provider, &own)]);
        session.publish("two-providers", &status).await;
    }
    if let Some(address) = session.address("unknown-provider").await {
        let status = Status::of([Entry::to(UNKNOWN, &address)]);
        session.publish("unknown-provider", &status).await;
    }
    session.publish("no-provider", &Status::of([])).await;
    if let Some(address) = session.address("no-server").await {
        let status = Status::of([Entry::to(provider, &address).with("server", "")]);
        session.publish("no-server", &status).await;
    }
    if let (Some(address), Some(other)) = (
        session.address("other-authority").await,
        session.address("authority").await,
    ) {
        let entry = Entry::to(provider, &address).with("certificate-authority-data", other.ca_data);
        session.publish("other-authority", &Status::of([entry])).await;
    }
    server_names(session).await;
    if let Some(address) = session.address("config").await {
        let config = json!({
            "member": address.member,
            "round": 0,
            "nested": {"list": [1, "two", {"three": true}], "empty": {}},
            "text": "Zürich \u{1f30d}",
            // A double cannot hold it.
            "number": 9_007_199_254_740_993_u64,
        });
        let entry = Entry::to(provider, &address)
            .extended(
                "config.conformance.example",
                json!({"member": "not for the plugin"}),
            )
            .extended(EXTENSION_EXEC, config);
        session.publish("config", &Status::of([entry])).await;
    }
}

/// Two members behind one address, told apart by the server name.
async fn server_names(session: &Session<'_>) {
    let mut beside = None;
    for what in ["server-name-a", "server-name-b"] {
        let new = NewAddress {
            member: session.name(what),
            server_name: Some(format!("{what}.conformance.example")),
            beside: beside.clone(),
        };
        let Some(address) = session.open(new).await else {
            return;
        };
        beside = Some(address.url.clone());
        let status = Status::of([Entry::to(session.provider(), &address)]);
        session.publish(what, &status).await;
    }
}

/// Which list, through which proxy, and whether in the clear.
pub(super) async fn ways(session: &Session<'_>) {
    let provider = session.provider();
    if let (Some(own), Some(old)) = (
        session.address("both-lists").await,
        session.address("both-lists").await,
    ) {
        let old = Entry::to(provider, &old);
        let beside = json!({"credentialProviders": [{"name": old.name, "cluster": old.cluster}]});
        let status = Status::of([Entry::to(provider, &own)]).with(beside);
        session.publish("both-lists", &status).await;
    }
    if let (Some(address), Some(proxy)) = (session.address("proxied").await, session.proxy().await) {
        let status = Status::of([Entry::to(provider, &address).with("proxy-url", proxy)]);
        session.publish("proxied", &status).await;
    }
}
