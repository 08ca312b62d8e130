//! What profiles add to a run of the plugin.

use std::time::Duration;

use evidence::api::names::{EXTENSION_ARGS, EXTENSION_ENVS};
use futures::future::join;
use serde_json::{Value, json};

use super::super::{
    profile::{Entry, Status, VARIABLE_A, VARIABLE_C},
    session::Session,
};

/// How many times a profile with additions is written again.
const ROUNDS: usize = 5;
/// How long a consumer has to take up a profile before it is changed.
const A_WHILE: Duration = Duration::from_secs(3);

/// Variables and arguments. A consumer hands them on only if it was told to.
pub(super) async fn arguments(session: &Session<'_>) {
    let claims = &session.plan.claims;
    let envs = |name: &str, value: &str| (EXTENSION_ENVS, json!({name: value}));
    let of_both = [envs(VARIABLE_A, "of-a"), envs(VARIABLE_C, "of-c")];
    let variables = additions(session, "variables", of_both, claims.profile_envs);
    // Most hubs refuse a list.
    let args = |values: &[&str]| (EXTENSION_ARGS, json!(values));
    let of_both = [args(&["--of-a", "--again", "--again"]), args(&["--of-c"])];
    let arguments = additions(session, "arguments", of_both, claims.profile_args);
    join(variables, arguments).await;
}

/// One profile with an addition. If the consumer hands it on, one without and one with another follow, and the first changes
/// again and again.
async fn additions(session: &Session<'_>, what: &str, [of_a, of_c]: [(&str, Value); 2], are_handed_on: bool) {
    let provider = session.provider();
    let a = format!("{what}-a");
    let Some(address) = session.address(&a).await else {
        return;
    };
    let status = |round| {
        let entry = Entry::to(provider, &address).round(&address.member, round);
        Status::of([entry.extended(of_a.0, of_a.1.clone())]).beat(round)
    };
    let Some(profile) = session.publish(&a, &status(0)).await else {
        return;
    };
    if !are_handed_on {
        return;
    }
    session.pause(A_WHILE).await;
    let others = [("b", None), ("c", Some(of_c))];
    for (name, addition) in others {
        let name = format!("{what}-{name}");
        if let Some(address) = session.address(&name).await {
            let mut entry = Entry::to(provider, &address);
            if let Some((extension, content)) = addition {
                entry = entry.extended(extension, content);
            }
            session.publish(&name, &Status::of([entry])).await;
        }
    }
    for round in 1..=ROUNDS {
        session.pause(A_WHILE).await;
        session.update(&profile, &status(round)).await;
    }
}
