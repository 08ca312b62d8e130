//! What a consumer leaves behind.

use evidence::DriverAction;

use super::{super::session::Session, changes::called};
use crate::watch::timeline::BRIEF;

/// The consumer is uninstalled, and a profile deleted that it had acted on. Then whoever holds it holds it for good.
pub(in crate::testbed) async fn uninstall(session: &Session<'_>) {
    let profile = called(session, "uninstalled").await;
    if !session.hook(DriverAction::Uninstall).await {
        return;
    }
    if let Some(profile) = profile {
        session.withdraw(&profile).await;
    }
    // The watch may tell a little late.
    session.pause(session.settle() + BRIEF.unsigned_abs() * 2).await;
}
