//! What changes while the consumer is stopped.

use evidence::DriverAction;

use super::{
    super::{
        profile::{Entry, Status},
        session::{A_MOMENT, Session},
    },
    changes::called,
};
use crate::watch::timeline::BRIEF;

/// The hooks that it needs.
pub(super) const HOOKS: &[DriverAction] = &[DriverAction::Stop, DriverAction::Start];

/// The consumer is stopped. A profile is deleted, a member moves, a profile is made; then the consumer is started again.
pub(super) async fn restart(session: &Session<'_>) {
    let gone = called(session, "stopped-gone").await;
    let moving = called(session, "stopped-moving").await;
    let mut added = None;
    if session.hook(DriverAction::Stop).await {
        // What the watch tells later came while the consumer was stopped.
        session.pause(BRIEF.unsigned_abs() + A_MOMENT).await;
        if let Some(profile) = &gone {
            session.withdraw(profile).await;
        }
        if let (Some(profile), Some(now)) = (&moving, session.address("stopped-moving").await) {
            let entry = Entry::to(session.provider(), &now).round(&now.member, 1);
            session.update(profile, &Status::of([entry]).beat(1)).await;
        }
        added = session.address("stopped-added").await;
        if let Some(address) = &added {
            let status = Status::of([Entry::to(session.provider(), address)]);
            session.publish("stopped-added", &status).await;
        }
        session.pause(A_MOMENT).await;
    }
    session.hook(DriverAction::Start).await;
    for what in ["stopped-moving", "stopped-added"] {
        if let Some(profile) = session.published(what) {
            session.work(&profile).await;
        }
    }
    if let Some(address) = added {
        session.called(&address.member, session.startup()).await;
    }
}

/// All connections end: who keeps to what went while it was stopped comes back.
pub(super) async fn restarted(session: &Session<'_>) {
    session.cut(&["stopped-gone", "stopped-moving"]);
}
