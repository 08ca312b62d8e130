//! What is staged, scene by scene: each publishes profiles that ask something of a consumer. A control follows.

use std::time::Duration;

use evidence::api::names::{EXTENSION_ARGS, EXTENSION_ENVS, EXTENSION_EXEC};
use futures::{
    FutureExt as _,
    future::{BoxFuture, join},
};
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
/// How many times a profile with additions is written again.
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
    /// How many times what the consumer may take it lasts, at least.
    pub settles: u32,
}

/// All scenes, in their order: what may end a consumer comes last.
pub(super) const SCENES: &[SceneOf] = &[
    SceneOf {
        name: "access",
        play: |session| access(session).boxed(),
        settles: 1,
    },
    SceneOf {
        name: "arguments",
        play: |session| arguments(session).boxed(),
        settles: 1,
    },
    SceneOf {
        name: "address",
        play: |session| address(session).boxed(),
        settles: 1,
    },
    SceneOf {
        name: "heartbeats",
        play: |session| heartbeats(session).boxed(),
        settles: 1,
    },
    SceneOf {
        name: "malformed",
        play: |session| malformed(session).boxed(),
        // The consumer has to do with each of them first.
        settles: 2,
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

/// What profiles add to a run of the plugin, where the consumer hands that on.
async fn arguments(session: &Session<'_>) {
    let claims = &session.plan.claims;
    let variables = async {
        if claims.profile_envs {
            let adds = |name: &str, value: &str| (EXTENSION_ENVS, json!({name: value}));
            additions(
                session,
                "variables",
                [adds(VARIABLE_A, "of-a"), adds(VARIABLE_C, "of-c")],
            )
            .await;
        }
    };
    let arguments = async {
        // Most hubs refuse a list.
        if claims.profile_args {
            let adds = |value: &str| (EXTENSION_ARGS, json!([value]));
            additions(session, "arguments", [adds("--of-a"), adds("--of-c")]).await;
        }
    };
    join(variables, arguments).await;
}

/// One profile with an addition, one without, one with another; then the first changes again and again.
async fn additions(session: &Session<'_>, what: &str, [of_a, of_c]: [(&str, Value); 2]) {
    let provider = session.provider();
    let a = format!("{what}-a");
    let Some(address) = session.address(&a).await else {
        return;
    };
    let entry = |round| {
        let entry = Entry::to(provider, &address).round(&address.member, round);
        [entry.extended(of_a.0, of_a.1.clone())]
    };
    let Some(profile) = session.publish(&a, &entry(0)).await else {
        return;
    };
    session.pause(A_WHILE).await;
    let others = [("b", None), ("c", Some(of_c))];
    for (name, addition) in others {
        let name = format!("{what}-{name}");
        if let Some(address) = session.address(&name).await {
            let mut entry = Entry::to(provider, &address);
            if let Some((extension, content)) = addition {
                entry = entry.extended(extension, content);
            }
            session.publish(&name, &[entry]).await;
        }
    }
    for round in 1..=ROUNDS {
        session.pause(A_WHILE).await;
        session.update(&profile, &entry(round), round).await;
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
