//! The runner's clock may be wrong, if the run knows by how much.

use std::collections::BTreeSet;

use evidence::{Evidence, History, Kind};
use jiff::{SignedDuration, Timestamp};
use judge::rules::Rule;

use super::{judged, named, timeline::examples};

/// How far the runner's clock is set back, in seconds.
const SET_BACK: [i64; 4] = [-5_400, -7, 90, 36_000];

/// Examples that turn on the runner's clock.
const BY_THE_RUNNER: [(&str, &str); 6] = [
    // Managers may follow the runner's clock or the hub's, so a time is in the future if it is for both.
    ("conditions/well-formed", "six minutes ahead is the future"),
    (
        "conditions/well-formed",
        "a time that was in the future for three minutes, and then came",
    ),
    ("properties/observed-time-sane", "an hour ahead"),
    // The hub's clock is unknown, so that the runner's counts.
    ("conditions/well-formed", "nor does one whose dates are nonsense"),
    (
        "properties/cluster-endpoints-present",
        "an answer's time that is nonsense tells nothing of the hub's clock",
    ),
    (
        "properties/observed-time-sane",
        "a hub whose answers are dated an hour late does not put the present into the future",
    ),
];

/// Evidence of a runner whose clock was behind by that much, and which noticed: the hub and the managers are as they were.
fn set_back(evidence: &Evidence, by: SignedDuration) -> Evidence {
    let mut behind = evidence.clone();
    let Evidence {
        header,
        profiles,
        slices,
        probes,
        members,
        endpoint_calls,
        logins,
        driver,
        gaps,
        later,
        ..
    } = &mut behind;
    let back = |at: &mut Timestamp| *at -= by;
    header.clock_skew_ms = header.clock_skew_ms.map(|ahead| ahead + by.as_millis() as i64);
    if let Some(window) = &mut header.window {
        back(&mut window.from);
        back(&mut window.until);
    }
    header
        .settled
        .iter_mut()
        .for_each(|settled| back(&mut settled.until));
    each_time(profiles, back);
    each_time(slices, back);
    each_time(&mut later.profiles, back);
    each_time(&mut later.slices, back);
    probes.iter_mut().for_each(|probe| back(&mut probe.at));
    endpoint_calls.iter_mut().for_each(|call| back(&mut call.at));
    logins.iter_mut().for_each(|login| back(&mut login.at));
    for look in members.iter_mut().flat_map(|member| &mut member.looks) {
        back(&mut look.from);
        back(&mut look.until);
    }
    for step in driver.iter_mut().flat_map(|driver| &mut driver.steps) {
        back(&mut step.from);
        back(&mut step.until);
        back(&mut step.looked_until);
    }
    // The log is the hub's, and so are its times.
    for gap in gaps
        .iter_mut()
        .chain(&mut later.gaps)
        .filter(|gap| gap.kind != Kind::Requests)
    {
        gap.from.iter_mut().for_each(back);
        gap.until.iter_mut().for_each(back);
    }
    behind
}

fn each_time<T>(histories: &mut [History<T>], change: impl Fn(&mut Timestamp)) {
    for history in histories {
        history.deleted.iter_mut().for_each(&change);
        let versions = history.versions.iter_mut();
        versions.for_each(|version| change(&mut version.at));
    }
}

/// What one rule says of it.
fn said(rule: &Rule, evidence: &Evidence) -> impl PartialEq + use<> {
    let judged = judged(rule, evidence);
    let findings = judged.findings.into_iter();
    let findings: Vec<_> = findings
        .map(|finding| (finding.object, finding.path, finding.advisory))
        .collect();
    (judged.verdict, judged.examined, judged.doubts.len(), findings)
}

/// The same is found, whatever the runner's clock says.
#[test]
fn a_clock_that_is_known_to_be_wrong_changes_no_verdict() {
    let mut asked = 0;
    let mut changed = BTreeSet::new();
    for (rule, example) in examples() {
        let evidence = example.evidence();
        let header = &evidence.header;
        if header.clock_skew_ms.is_none() || header.window.is_none() {
            continue;
        }
        let before = said(rule, evidence);
        for seconds in SET_BACK {
            if said(rule, &set_back(evidence, SignedDuration::from_secs(seconds))) != before {
                changed.insert((rule.id, example.name.clone()));
            }
            asked += 1;
        }
    }
    assert_eq!(changed, named(&BY_THE_RUNNER));
    assert!(asked > 5_000, "{asked} judgements");
}
