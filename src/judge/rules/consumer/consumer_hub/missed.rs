//! What changed while the consumer did not reach the hub.

use evidence::{Evidence, HubCut};

use crate::{
    rules::consumer::support::testbed::{Away, Play, follows_what_changed},
    subjects::Findings,
};

/// `consumer-hub/no-missed-event`
///
/// What changed while the consumer did not reach the hub, it finds out when it does again: it calls no server that went meanwhile,
/// once it has settled three times, and calls those that came. Clients wait between two attempts to watch, and each watch does so
/// by itself: that one brings a control says little of the others.
pub(in crate::rules) fn no_missed_event(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = Play::of(evidence, findings) else {
        return;
    };
    if !play.testbed.relayed {
        findings
            .not_asked("the consumer's way to the hub does not lead through the run, which cannot close it");
        return;
    }
    findings.nothing_happened("no profile changed while the consumer did not reach the hub");
    for cut in &play.testbed.hub_cuts {
        match away(&play, cut) {
            Ok(away) => follows_what_changed(&play, &away, findings),
            Err(why) => findings.cannot_tell(why),
        }
    }
}

fn away(play: &Play<'_>, cut: &HubCut) -> Result<Away, &'static str> {
    if cut.connections == 0 {
        return Err("the consumer had no connection to the hub that led through the run");
    }
    let called = play.testbed.scenarios.iter().filter_map(|scene| scene.called_at);
    let back = called.filter(|called| *called >= cut.until).min();
    let back = back.ok_or("the consumer called no control once it could reach the hub again")?;
    Ok(Away {
        begins: cut.from.as_microsecond(),
        from: cut.from.as_microsecond(),
        until: cut.until.as_microsecond(),
        back: back.as_microsecond().saturating_add(2 * play.settle),
        when: "while it did not reach the hub",
        again: "once it could reach the hub again",
    })
}
