//! What is staged, scene by scene: each publishes profiles that ask something of a consumer. A control follows.

use std::time::Duration;

use evidence::{
    MemberAddress,
    api::names::{EXTENSION_ARGS, EXTENSION_ENVS, EXTENSION_EXEC},
};
use futures::{FutureExt as _, future::BoxFuture};
use serde_json::{Value, json};

use super::{
    members::NewAddress,
    profile::{Entry, VARIABLE_A, VARIABLE_C},
    session::Session,
};

/// A provider that no consumer has a plugin for.
const UNKNOWN: &str = "unknown.conformance.example";
/// How often a profile is written without a change of its access, and the time between: a manager has a budget.
const BEATS: usize = 11;
const BEAT: Duration = Duration::from_secs(3);
/// How often the arguments of a profile are published anew.
const ROUNDS: usize = 5;
/// How long a consumer has to take up a profile before it is changed.
const A_WHILE: Duration = Duration::from_secs(3);

/// Makes an entry useless.
type Malform = fn(Entry) -> Entry;

/// A scene.
pub(super) struct SceneOf {
    /// Its name.
    pub name: &'static str,
    /// Publishes its profiles.
    pub play: for<'s> fn(&'s Session<'_>) -> BoxFuture<'s, ()>,
    /// How long it lasts at least, by the time that the consumer may take.
    pub least: fn(Duration) -> Duration,
}

/// All scenes, in their order: what may end a consumer comes last.
pub(super) const SCENES: &[SceneOf] = &[
    SceneOf {
        name: "access",
        play: |session| access(session).boxed(),
        least: |settle| settle,
    },
    SceneOf {
        name: "arguments",
        play: |session| arguments(session).boxed(),
        least: |settle| settle,
    },
    SceneOf {
        name: "address",
        play: |session| address(session).boxed(),
        least: |settle| settle,
    },
    SceneOf {
        name: "heartbeats",
        play: |session| heartbeats(session).boxed(),
        least: |settle| settle,
    },
    SceneOf {
        name: "malformed",
        play: |session| malformed(session).boxed(),
        // The consumer has to do with each of them first.
        least: |settle| settle * 2,
    },
];

/// Profiles that are right, and ask for care: which provider, which server, which authority, which words for the plugin.
async fn access(session: &Session<'_>) {
    let provider = session.provider();
    if let (Some(other), Some(own)) = (
        session.address("two-providers").await,
        session.address("two-providers").await,
    ) {
        let entries = [Entry::to(UNKNOWN, &other), Entry::to(provider, &own)];
        session.publish("two-providers", &entries).await;
    }
    if let Some(address) = session.address("unknown-provider").await {
        let entries = [Entry::to(UNKNOWN, &address)];
        session.publish("unknown-provider", &entries).await;
    }
    session.publish("no-provider", &[]).await;
    if let Some(address) = session.address("no-server").await {
        let entries = [Entry::to(provider, &address).with("server", "")];
        session.publish("no-server", &entries).await;
    }
    if let (Some(address), Some(other)) = (
        session.address("other-authority").await,
        session.address("authority").await,
    ) {
        let entry = Entry::to(provider, &address).with("certificate-authority-data", other.ca_data);
        session.publish("other-authority", &[entry]).await;
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
        session.publish("config", &[entry]).await;
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
        let entry = Entry::to(session.provider(), &address);
        session.publish(what, &[entry]).await;
    }
}

/// One profile with arguments and variables, one without, one with others; then the first changes again and again.
async fn arguments(session: &Session<'_>) {
    let claims = &session.plan.claims;
    let extended = |entry: Entry, variable: &str, value: &str| {
        let mut entry = entry;
        if claims.profile_envs {
            entry = entry.extended(EXTENSION_ENVS, json!({variable: value}));
        }
        if claims.profile_args {
            entry = entry.extended(EXTENSION_ARGS, json!([format!("--{value}")]));
        }
        entry
    };
    if !claims.profile_args && !claims.profile_envs {
        return;
    }
    let of_a = |address: &MemberAddress, round| {
        let entry = Entry::to(session.provider(), address).round(&address.member, round);
        extended(entry, VARIABLE_A, "of-a")
    };
    let Some(a) = session.address("arguments-a").await else {
        return;
    };
    let profile = session.publish("arguments-a", &[of_a(&a, 0)]).await;
    session.pause(A_WHILE).await;
    if let Some(address) = session.address("arguments-b").await {
        let entry = Entry::to(session.provider(), &address);
        session.publish("arguments-b", &[entry]).await;
    }
    if let Some(address) = session.address("arguments-c").await {
        let entry = extended(Entry::to(session.provider(), &address), VARIABLE_C, "of-c");
        session.publish("arguments-c", &[entry]).await;
    }
    let Some(profile) = profile else { return };
    for round in 1..=ROUNDS {
        session.pause(A_WHILE).await;
        session.update(&profile, &[of_a(&a, round)], round).await;
    }
}

/// A member moves to another address, where it has another authority.
async fn address(session: &Session<'_>) {
    let what = "moving";
    let Some(before) = session.address(what).await else {
        return;
    };
    let entry = Entry::to(session.provider(), &before);
    let Some(profile) = session.publish(what, &[entry]).await else {
        return;
    };
    session.called(&before.member, session.settle()).await;
    let Some(now) = session.address(what).await else {
        return;
    };
    let entry = Entry::to(session.provider(), &now).round(&now.member, 1);
    session.update(&profile, &[entry], 1).await;
}

/// A profile is written again and again, and its access stays.
async fn heartbeats(session: &Session<'_>) {
    let what = "beating";
    let Some(address) = session.address(what).await else {
        return;
    };
    let entries = [Entry::to(session.provider(), &address)];
    let Some(profile) = session.publish(what, &entries).await else {
        return;
    };
    session.called(&address.member, session.settle()).await;
    for beat in 1..=BEATS {
        session.pause(BEAT).await;
        session.update(&profile, &entries, beat).await;
    }
}

/// Profiles that cannot be used. A hub refuses some of them, and another one stores them.
async fn malformed(session: &Session<'_>) {
    let ways: [(&str, Malform); 5] = [
        ("config-null", |entry| entry.extended(EXTENSION_EXEC, Value::Null)),
        ("config-text", |entry| {
            entry.extended(EXTENSION_EXEC, json!("text"))
        }),
        ("envs-null", |entry| entry.extended(EXTENSION_ENVS, Value::Null)),
        ("authority-cut", |entry| {
            entry.with("certificate-authority-data", "LS0tLS1CRUdJTg==")
        }),
        ("no-url", |entry| entry.with("server", "member without a scheme")),
    ];
    for (what, malform) in ways {
        let what = format!("malformed-{what}");
        if let Some(address) = session.address(&what).await {
            let entry = malform(Entry::to(session.provider(), &address));
            session.publish(&what, &[entry]).await;
        }
    }
}
