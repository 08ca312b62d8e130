//! Looks at each member once before a run, by the ways that the user gave.

use std::time::Duration;

use evidence::{Look, ObjectKey, Scope};
use futures::{StreamExt as _, stream};
use tokio::time::{Instant, timeout_at};

use super::{
    look::{look, no_way},
    plan::{MemberWay, Members},
    watch::{AT_ONCE, open},
};
use crate::clock::Clock;

/// What a look at one member has shown.
#[derive(Clone, Debug)]
pub struct Reached {
    /// The profile that describes the member.
    pub profile: ObjectKey,
    /// The way, for people.
    pub way: String,
    /// The look, with what is missing of it.
    pub look: Look,
}

/// Looks at the members in scope, side by side and at most for `limit` in all; in the order of the ways. Reads no Secret
/// and runs no plugin of an access provider; a kubeconfig may run one of its own.
pub async fn reach_members(members: &Members, scope: &Scope, clock: Clock, limit: Duration) -> Vec<Reached> {
    let deadline = Instant::now().checked_add(limit);
    let ways = members.ways.iter();
    let ways = ways.filter(|way| scope.holds_namespace(&way.profile.namespace));
    let looks = ways.map(|way| async move {
        let looking = reach(way, members, clock);
        let look = match deadline {
            Some(deadline) => timeout_at(deadline, looking).await.unwrap_or_else(|_| {
                no_way(clock, &format!("it did not answer within {} s", limit.as_secs()))
            }),
            None => looking.await,
        };
        Reached {
            profile: way.profile.clone(),
            way: way.description.clone(),
            look,
        }
    });
    stream::iter(looks).buffered(AT_ONCE).collect().await
}

async fn reach(way: &MemberWay, members: &Members, clock: Clock) -> Look {
    match open(way, &members.dial).await {
        Ok(asker) => look(&asker, clock).await,
        Err(error) => no_way(clock, &error.to_string()),
    }
}
