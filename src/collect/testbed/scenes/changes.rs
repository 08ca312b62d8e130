//! Where a member's access moves, stays, or ends.

use std::time::Duration;

use evidence::MemberAddress;

use super::{
    super::{
        plugin::PluginPlan,
        profile::{Entry, Status},
        session::{Profile, Session},
    },
    UNKNOWN,
};

/// How often a profile is written without a change of its access, and the time between: a manager has a budget.
const BEATS: usize = 11;
const BEAT: Duration = Duration::from_secs(3);
/// How long a credential is good for that expires soon.
const SOON: Duration = Duration::from_secs(20);

/// Two members move to another address with another authority: the profile of one is updated, that of the other is deleted and
/// created again.
pub(super) async fn address(session: &Session<'_>) {
    let (moving, remade) = (called(session, "moving").await, called(session, "remade").await);
    if let (Some(profile), Some(now)) = (moving, session.address("moving").await) {
        let entry = Entry::to(session.provider(), &now).round(&now.member, 1);
        session.update(&profile, &Status::of([entry]).beat(1)).await;
    }
    if let (Some(profile), Some(now)) = (remade, session.address("remade").await) {
        session.withdraw(&profile).await;
        session.until_gone(&profile).await;
        let status = Status::of([Entry::to(session.provider(), &now)]);
        session.publish("remade", &status).await;
    }
}

/// A profile is written again and again, and its access stays. Members to which access ends in the next scene have the time to be
/// called more than once.
pub(super) async fn heartbeats(session: &Session<'_>) {
    for what in ["revoked", "gone", "sick"] {
        called(session, what).await;
    }
    let Some(address) = session.address("beating").await else {
        return;
    };
    let status = Status::of([Entry::to(session.provider(), &address)]);
    let Some(profile) = session.publish("beating", &status).await else {
        return;
    };
    session.called(&address.member, session.settle()).await;
    for beat in 1..=BEATS {
        session.pause(BEAT).await;
        // It gives nobody work.
        session.say(&profile, &status.clone().beat(beat)).await;
    }
}

/// The known provider is taken back, a profile is deleted, a member is no longer healthy, a credential expires, the oldest of
/// two profiles goes, and a member is healthy again. Then all connections are ended, as a restart of a member would: who has
/// no access any more does not come back.
pub(super) async fn ends(session: &Session<'_>) {
    let expiring = session.name("expiring");
    session.plan.calls.plan(&expiring, PluginPlan::Gives(SOON));
    called(session, "expiring").await;
    let [revoked, gone, sick] = ["revoked", "gone", "sick"].map(|what| session.published(what));
    if let (Some(profile), Some(other)) = (&revoked, session.address("revoked").await) {
        let status = Status::of([Entry::to(UNKNOWN, &other)]).beat(1);
        session.update(profile, &status).await;
    }
    if let Some(profile) = &gone {
        session.withdraw(profile).await;
    }
    health(session, sick, "sick", "False").await;
    health(session, session.published("unhealthy"), "unhealthy", "True").await;
    // Who acts on what another profile stands for comes back.
    if let Some(oldest) = session.published("oldest-goes") {
        session.cut(&["a-younger", "tied-a", "tied-b", "next"]);
        session.pause(session.settle()).await;
        session.withdraw(&oldest).await;
        if let Some(next) = session.published("next") {
            session.work(&next).await;
        }
    }
    session.pause(session.settle().max(SOON)).await;
    session.cut(&[
        "expiring",
        "revoked",
        "gone",
        "sick",
        "namesake",
        "other-namesake",
        "elsewhere",
    ]);
}

/// Says another health of a member.
async fn health(session: &Session<'_>, profile: Option<Profile>, what: &str, healthy: &'static str) {
    if let (Some(profile), Some(address)) = (profile, first_address(session, what)) {
        let status = Status::of([Entry::to(session.provider(), &address)]).beat(1);
        session.update(&profile, &status.healthy(healthy)).await;
    }
}

/// The address at which a member was first.
fn first_address(session: &Session<'_>, what: &str) -> Option<MemberAddress> {
    let member = session.name(what);
    let mut addresses = session.plan.calls.addresses().into_iter();
    addresses.find(|address| address.member == member)
}

/// Publishes a profile, and waits until its member is called.
pub(super) async fn called(session: &Session<'_>, what: &str) -> Option<Profile> {
    let address = session.address(what).await?;
    let status = Status::of([Entry::to(session.provider(), &address)]);
    let profile = session.publish(what, &status).await?;
    session.called(&address.member, session.settle()).await;
    Some(profile)
}
