//! Plays the scenes beside the watch.

use std::time::Duration;

use evidence::{DriverAction, Log, MemberCall, Mentions, PluginCall, Reason, Testbed};
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::{
    TestbedPlan,
    mentions::read_notices,
    scenes::{END, SCENES, SceneOf, uninstall},
    session::Session,
};
use crate::{driver::RunContext, watch::timeline::BRIEF};

/// What was played, and what the consumer did.
pub(crate) struct Played {
    /// The testbed.
    pub testbed: Testbed,
    /// What reached its members.
    pub member_calls: Log<MemberCall>,
    /// The runs of its credential plugin.
    pub plugin_calls: Log<PluginCall>,
    /// What the consumer said, and what could not be read of that.
    pub mentions: (Mentions, Option<Reason>),
    /// Since when calls are not kept, as there were too many.
    pub full: Option<Timestamp>,
    /// Why outputs could not be read, if so.
    pub unread: Option<String>,
    /// Whether all scenes were played.
    pub whole: bool,
}

/// Plays all scenes, and deletes what was published, also when `stop` is cancelled. Without a first control that is called,
/// nothing can be judged, and the rest is left out.
pub(crate) async fn play(context: RunContext<'_>, plan: &TestbedPlan, stop: CancellationToken) -> Played {
    let session = Session::new(context, plan, stop);
    let from = session.now();
    let is_asked = |scene: &SceneOf| (scene.is_asked)(plan) && session.can(scene.hooks);
    let asked = SCENES.iter().filter(|scene| is_asked(scene)).count();
    let mut number = 0;
    let mut scenes = SCENES.iter();
    for scene in scenes.by_ref() {
        if session.is_stopped() {
            break;
        }
        if !is_asked(scene) {
            continue;
        }
        number += 1;
        // To be stopped and started again asks for a consumer that runs.
        if !scene.hooks.is_empty() && !session.is_alive() {
            continue;
        }
        session
            .context
            .progress
            .step(&in_words(scene.name, (number, asked), session.settle()));
        (scene.play)(&session).await;
        session.control(scene).await;
        if !session.is_alive() && session.settle().is_zero() {
            break;
        }
    }
    // A consumer that became slower has its chance with all that is still there.
    if !session.is_stopped() && session.is_alive() && !session.is_long_enough() {
        session.control(&END).await;
    }
    if !session.is_stopped() && session.is_alive() && session.can(&[DriverAction::Uninstall]) {
        session.context.progress.step("uninstalling the consumer");
        uninstall(&session).await;
    }
    let whole = scenes.next().is_none() && !session.is_stopped();
    let (member_calls, plugin_calls, full) = plan.calls.since(from);
    let testbed = session.testbed();
    let mentions = Box::pin(read_notices(&session)).await;
    // A deletion has no time of its own: that it came after the last scene is known by what the watch tells late.
    session.pause(BRIEF.unsigned_abs()).await;
    session.clear().await;
    Played {
        unread: session.unread(),
        testbed,
        member_calls,
        plugin_calls,
        mentions,
        full,
        whole,
    }
}

/// Tells a person which scene begins, and how long each takes at least, as far as that is known.
fn in_words(name: &str, (number, asked): (usize, usize), settle: Duration) -> String {
    let scene = format!("scene {name} ({number} of {asked}");
    match settle {
        Duration::ZERO => format!("{scene})"),
        settle => format!("{scene}, at least {} s each)", settle.as_secs()),
    }
}
