//! A member is upgraded.

use evidence::{Change, DriverAction, Scenario};

use super::with_member::{NO_PROFILE, with_member};
use crate::driver::{answers, session::Session};

/// The scenario.
pub(super) async fn upgrade(session: &Session<'_>) {
    with_member(session, Scenario::Upgrade, async |member, found| {
        let mut step = member.begin(session, DriverAction::Upgrade);
        if !found {
            session.skip_step(step, NO_PROFILE);
            return;
        }
        let before = {
            let record = session.record();
            let version = member.profile(&record).and_then(answers::version);
            version.map(str::to_owned)
        };
        let (called, wanted) = member.upgrade(session).await;
        session.did(&mut step, called);
        session
            .look(&mut step, |record| {
                let told = member.profile(record).and_then(answers::version);
                told.is_some_and(|told| answers::is_version(told, &wanted))
            })
            .await;
        step.change = Some(Change {
            path: "status.version.kubernetes".to_owned(),
            before,
            after: Some(wanted),
        });
        member.end(session, step);
    })
    .await;
}
