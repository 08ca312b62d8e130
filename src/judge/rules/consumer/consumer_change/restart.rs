//! What changed while the consumer was stopped.

use evidence::{CallEvent, DriverAction, Evidence};

use crate::{
    rules::consumer::support::{
        testbed::{Away, Pause, Play, follows_what_changed},
        time::Micros,
    },
    subjects::Findings,
    text::redacted,
};

/// `consumer-change/restart-no-orphans`
///
/// What changed while the consumer was stopped, it finds out when it starts again: it calls no server that went meanwhile, once it
/// has settled, and calls those that came. So it does what a consumer does that starts anew. What it makes of profiles tells the same,
/// where the run reads that.
pub(in crate::rules) fn restart_no_orphans(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = Play::of(evidence, findings) else {
        return;
    };
    let needed = [DriverAction::Stop, DriverAction::Start];
    if !needed.iter().all(|action| play.testbed.hooks.contains(action)) {
        findings.not_asked("the run has no hooks to stop the consumer and to start it again");
        return;
    }
    findings.nothing_happened("no profile changed while the consumer was stopped");
    for pause in play.pauses() {
        match back(&play, &pause) {
            Ok(back) => follows_what_changed(&play, &away(&pause, back), findings),
            Err(why) => findings.cannot_tell(why),
        }
    }
}

/// When the consumer called a control again, if it was surely stopped before.
fn back(play: &Play<'_>, pause: &Pause<'_>) -> Result<Micros, String> {
    if let Some((action, failure)) = pause.failure() {
        return Err(format!("the hook `{action}` failed: {}", redacted(failure)));
    }
    let is_in = |at: jiff::Timestamp| {
        let at = at.as_microsecond();
        pause.stopped() < at && at < pause.started()
    };
    // Bytes of a connection that ended may be on their way.
    let mut calls = play
        .member_calls()
        .filter(|call| !matches!(call.what, CallEvent::Failed { .. }));
    if calls.any(|call| is_in(call.at)) || play.plugin_calls().any(|call| is_in(call.at)) {
        return Err("the consumer called members while it was stopped: its hook returns too early".into());
    }
    let called = play.testbed.scenarios.iter().filter_map(|scene| scene.called_at);
    let called = called.map(jiff::Timestamp::as_microsecond);
    let back = called.filter(|called| *called >= pause.ends()).min();
    back.ok_or_else(|| "the consumer called no control once it was started again".into())
}

fn away(pause: &Pause<'_>, back: Micros) -> Away {
    Away {
        begins: pause.begins(),
        from: pause.stopped(),
        until: pause.started(),
        back,
        when: "while it was stopped",
        again: "once it was started again",
    }
}
