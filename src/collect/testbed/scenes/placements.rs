//! Which profiles decisions name (KEP-5313), for a consumer that reads PlacementDecisions.
//!
//! The first slice of its decision names what the other scenes testbed. Here it has further ones.

use std::time::Duration;

use evidence::{ObjectRef, api::ClusterProfileReference};

use super::super::{
    decisions::{SliceAt, reference},
    profile::{Entry, Place, Status},
    session::Session,
};

/// Between two writes that together move a member.
const A_MOMENT: Duration = Duration::from_secs(1);
/// For how long a decision stays away after its members ended all connections.
const A_WHILE: Duration = Duration::from_secs(5);

/// A decision of several slices, of which one is empty; another decision whose name begins alike; and one of the same key in a
/// namespace that the consumer does not read.
pub(super) async fn slices(session: &Session<'_>) {
    member(session, "waits").await;
    let first = [
        member(session, "of-first-slice").await,
        member(session, "removed").await,
        member(session, "moved").await,
    ];
    session.put_and_work(&session.slice(1), &all(first)).await;
    session.put(&session.slice(2), &[]).await;
    let last = [member(session, "of-last-slice").await];
    session.put_and_work(&session.slice(3), &all(last)).await;
    let similar = SliceAt {
        key: format!("{}-2", session.decision_key()),
        ..session.slice(0)
    };
    let others = [member(session, "of-other-decision").await];
    session.put(&similar, &all(others)).await;
    if let Some(unselected) = &session.plan.unselected {
        let elsewhere = SliceAt {
            namespace: unselected.clone(),
            ..session.slice(0)
        };
        let others = [member(session, "of-decision-elsewhere").await];
        session.put(&elsewhere, &all(others)).await;
    }
}

/// A reference without a namespace, where another namespace has a profile of that name; and one to a profile that is missing.
pub(super) async fn references(session: &Session<'_>) {
    let own = member(session, "without-namespace").await;
    let namespaces = session.plan.claims.namespaces.iter().skip(1);
    let elsewhere = namespaces.chain(&session.plan.unselected).next();
    if let (Some(elsewhere), Some(_)) = (elsewhere, &own) {
        let place = session.place().in_namespace(elsewhere);
        publish(session, &place, "without-namespace", "namesake-of-named").await;
    }
    let members = [
        own.map(|own| ClusterProfileReference {
            namespace: "".into(),
            ..own
        }),
        Some(missing(session)),
        member(session, "beside-missing").await,
        member(session, "leaves").await,
    ];
    // The slice was empty.
    session.put_and_work(&session.slice(2), &all(members)).await;
}

/// The missing profile comes, and one that is named goes. A member is added, one is removed, and one moves to another slice in
/// two writes. Then the one that was removed ends all connections: who has no cause any more does not come back.
pub(super) async fn follows(session: &Session<'_>) {
    publish(session, &session.place(), "comes", "comes").await;
    if let Some(leaves) = session.published("leaves") {
        session.withdraw(&leaves).await;
    }
    let named = |what: &str| session.published(what).map(|profile| reference(&profile.object));
    let (moved, added) = (named("moved"), named("waits"));
    let first = [named("of-first-slice"), added];
    session.put_and_work(&session.slice(1), &all(first)).await;
    session.pause(A_MOMENT).await;
    let last = [named("of-last-slice"), moved];
    session.put_and_work(&session.slice(3), &all(last)).await;
    if let Some(comes) = session.published("comes") {
        session.work(&comes).await;
    }
    session.pause(session.settle()).await;
    session.cut(&["removed"]);
}

/// The whole decision is deleted, and its members end all connections. Later it comes back with its first slice alone.
pub(super) async fn withdrawn(session: &Session<'_>) {
    session.withdraw_decision().await;
    session.pause(session.settle()).await;
    session.cut(&[
        "of-first-slice",
        "waits",
        "moved",
        "of-last-slice",
        "without-namespace",
        "comes",
        "beside-missing",
    ]);
    session.pause(A_WHILE).await;
    session.select_again().await;
}

/// Refers to the profile that is missing at first.
fn missing(session: &Session<'_>) -> ClusterProfileReference {
    reference(&ObjectRef {
        namespace: session.place().namespace,
        name: session.name("comes"),
        ..ObjectRef::default()
    })
}

/// Publishes a profile that no decision names yet, and refers to it.
async fn member(session: &Session<'_>, what: &str) -> Option<ClusterProfileReference> {
    publish(session, &session.place(), what, what).await
}

/// The same at a place, of a member of that name.
async fn publish(
    session: &Session<'_>,
    place: &Place,
    what: &str,
    member: &str,
) -> Option<ClusterProfileReference> {
    let address = session.address(member).await?;
    let status = Status::of([Entry::to(session.provider(), &address)]);
    let profile = session.publish_unnamed(place, what, &status).await?;
    Some(reference(&profile.object))
}

/// Those that could be published.
fn all<const N: usize>(members: [Option<ClusterProfileReference>; N]) -> Vec<ClusterProfileReference> {
    members.into_iter().flatten().collect()
}
