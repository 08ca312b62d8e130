//! Several profiles of one member, for a consumer whose actions on them would conflict (KEP-4322, uniqueness).

use std::time::Duration;

use evidence::api::names::LABEL_MEMBER_ID;
use futures::future::{join, join_all};
use jiff::SignedDuration;

use super::super::{
    profile::{Entry, Place, Status},
    session::{Profile, Session},
};

/// The time between profiles of which one is older. Times of creation have whole seconds.
const APART: Duration = Duration::from_secs(3);
/// Long before the next whole second.
const EARLY: SignedDuration = SignedDuration::from_millis(300);

/// Pairs with one identity: one older, both of the same second, one in another inventory; and pairs without.
pub(super) async fn duplicates(session: &Session<'_>) {
    if !session.plan.claims.actions_conflict {
        return;
    }
    let selected = session.place();
    // As the run's own, they are found in what the consumer says.
    let of = |id: &str| selected.clone().labelled(LABEL_MEMBER_ID, &session.name(id));
    let without_value = selected.clone().labelled(LABEL_MEMBER_ID, "");
    // None says where its member is before its rival is there: otherwise, a consumer would have acted on it.
    let (stays, goes) = (of("of-oldest-that-stays"), of("of-oldest-that-goes"));
    let older = join(
        create(session, &stays, &["oldest-stays"]),
        create(session, &goes, &["oldest-goes"]),
    )
    .await;
    session.pause(APART).await;
    // By its name, the first of the two.
    let younger = join(
        create(session, &stays, &["a-younger"]),
        create(session, &goes, &["next"]),
    )
    .await;
    for created in [older.0, older.1, younger.0, younger.1] {
        complete(session, created).await;
    }
    until_early(session).await;
    together(session, &of("tied"), &["tied-a", "tied-b"]).await;
    together(session, &without_value, &["empty-a", "empty-b"]).await;
    together(session, &selected, &["without-a", "without-b"]).await;
    if let Some(unselected) = &session.plan.unselected {
        let elsewhere = of("of-two-inventories").in_namespace(unselected);
        together(session, &elsewhere, &["inventory-elsewhere"]).await;
        together(session, &of("of-two-inventories"), &["inventory-own"]).await;
    }
}

/// Creates these profiles as nearly at the same time as can be, and then says what their members are.
async fn together(session: &Session<'_>, place: &Place, names: &[&'static str]) {
    complete(session, create(session, place, names).await).await;
}

/// Creates these profiles as nearly at the same time as can be.
async fn create(
    session: &Session<'_>,
    place: &Place,
    names: &[&'static str],
) -> Vec<(&'static str, Option<Profile>)> {
    let created = names
        .iter()
        .map(async |what| (*what, session.create(place, what).await));
    join_all(created).await
}

/// Says what their members are.
async fn complete(session: &Session<'_>, created: Vec<(&'static str, Option<Profile>)>) {
    for (what, profile) in created {
        if let (Some(profile), Some(address)) = (profile, session.address(what).await) {
            let status = Status::of([Entry::to(session.provider(), &address)]);
            session.complete(profile, &status).await;
        }
    }
}

/// Waits until a second has just begun.
async fn until_early(session: &Session<'_>) {
    let fraction = SignedDuration::from_nanos(session.now().subsec_nanosecond().into());
    if fraction > EARLY {
        let left = SignedDuration::from_secs(1).saturating_sub(fraction);
        session.pause(Duration::try_from(left).unwrap_or_default()).await;
    }
}
