//! What changes while the consumer cannot learn of it: it is stopped, or does not reach the hub.

use evidence::DriverAction;

use super::{
    super::{
        profile::{Entry, Status},
        session::{A_MOMENT, Session},
    },
    changes::called,
};
use crate::watch::timeline::BRIEF;

/// The hooks that a restart needs.
pub(super) const HOOKS: &[DriverAction] = &[DriverAction::Stop, DriverAction::Start];

/// The consumer is stopped. A profile is deleted, a member moves, a profile is made; then the consumer is started again.
pub(super) async fn restart(session: &Session<'_>) {
    let profiles = Changing::publish(session, ["stopped-gone", "stopped-moving", "stopped-added"]).await;
    if session.hook(DriverAction::Stop).await {
        profiles.change(session).await;
    }
    session.hook(DriverAction::Start).await;
    profiles.work(session).await;
}

/// All connections end: who keeps to what went while it was stopped comes back.
pub(super) async fn restarted(session: &Session<'_>) {
    session.cut(&["stopped-gone", "stopped-moving"]);
}

/// The profiles that change: one that goes, one whose member moves, one that is made.
struct Changing([&'static str; 3]);

impl Changing {
    /// Publishes the first two, and waits until their members are called.
    async fn publish(session: &Session<'_>, names: [&'static str; 3]) -> Self {
        let [gone, moving, _] = names;
        called(session, gone).await;
        called(session, moving).await;
        Self(names)
    }

    async fn change(&self, session: &Session<'_>) {
        let [gone, moving, added] = self.0;
        // What the watch tells later came while the consumer was away.
        session.pause(BRIEF.unsigned_abs() + A_MOMENT).await;
        if let Some(profile) = session.published(gone) {
            session.withdraw(&profile).await;
        }
        if let (Some(profile), Some(now)) = (session.published(moving), session.address(moving).await) {
            let entry = Entry::to(session.provider(), &now).round(&now.member, 1);
            session.update(&profile, &Status::of([entry]).beat(1)).await;
        }
        if let Some(address) = session.address(added).await {
            let status = Status::of([Entry::to(session.provider(), &address)]);
            session.publish(added, &status).await;
        }
        session.pause(A_MOMENT).await;
    }

    /// Gives the consumer work on those that are there, and waits until the new one is called.
    async fn work(&self, session: &Session<'_>) {
        let [_, moving, added] = self.0;
        for what in [moving, added] {
            if let Some(profile) = session.published(what) {
                session.work(&profile).await;
            }
        }
        if session.published(added).is_some() {
            session.called(&session.name(added), session.startup()).await;
        }
    }
}
