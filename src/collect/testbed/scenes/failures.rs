//! What cannot be used: a plugin that fails, and profiles that are malformed.

use evidence::api::names::{EXTENSION_ENVS, EXTENSION_EXEC};
use serde_json::{Value, json};

use super::super::{
    plugin::PluginPlan,
    profile::{Entry, Status},
    session::Session,
};

/// Makes an entry useless.
type Malform = fn(Entry) -> Entry;

/// Profiles for whose members the plugin gives nothing.
pub(super) async fn failing(session: &Session<'_>) {
    let plans = [
        ("failing", PluginPlan::Fails),
        ("failing-garbage", PluginPlan::PrintsGarbage),
        ("failing-hangs", PluginPlan::Hangs(session.hang())),
    ];
    for (what, plan) in plans {
        if let Some(address) = session.address(what).await {
            session.plan.calls.plan(&address.member, plan);
            let status = Status::of([Entry::to(session.provider(), &address)]);
            session.publish(what, &status).await;
        }
    }
}

/// Profiles that cannot be used. A hub refuses some of them, and another one stores them.
pub(super) async fn malformed(session: &Session<'_>) {
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
            session.publish(&what, &Status::of([entry])).await;
        }
    }
}
