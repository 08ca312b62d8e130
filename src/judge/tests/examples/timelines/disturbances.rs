//! The rules' examples with an interrupted or late watch, and with another program that writes to the profiles.

use std::{collections::BTreeSet, sync::Arc};

use evidence::{Evidence, Gap, Kind, ProfileHistory, Request, Version, Window, api::Writer};
use jiff::{SignedDuration, Timestamp};
use judge::{Verdict, rules::Rule};
use serde_json::json;

use super::{
    Named, SAMPLE, assert_exceptions, events, examples_with, finds, judged,
    less::{delayed, interrupted, since},
    named, seconds, verdict,
};

/// How long after a change the watch is disturbed, in milliseconds.
const BEGINS: [i64; 4] = [-8_500, -500, 0, 20_000];
/// How long the watch is interrupted, in seconds.
const LOST: [i64; 5] = [2, 30, 61, 130, 400];

/// Examples with another verdict if the watch is late.
const IN_TIME: [&str; 2] = [
    "lifecycle/join-fills-status: the watch reports the filled status eight seconds after the deadline",
    // A late watch shortens the time in which the cluster is in no slice.
    "placement-updates/no-torn-reschedule: a cluster is dropped, and selected again after 16 s",
];

/// Examples whose remaining evidence keeps the rule.
const KEPT: [&str; 4] = [
    // The profile was created and filled within the gap.
    "conditions/status-follows-joined: the health is missing for three minutes after joining",
    "conditions/status-follows-joined: the health disappears when the version appears",
    // The profile may have changed so lately that the Secret is excused.
    "consumers/kubeconfig-points-at-member: the profile changed its endpoint eight minutes ago",
    // Of changes that arrive together, the order is unknown.
    "placement-updates/no-torn-reschedule: a cluster is removed from its old slice first",
];

/// When the watch may be disturbed: around each change.
fn disturbances(evidence: &Evidence, window: Window) -> BTreeSet<Timestamp> {
    let changes = events(&evidence.profiles).chain(events(&evidence.slices));
    changes
        .flat_map(|at| BEGINS.map(|after| at + SignedDuration::from_millis(after)))
        .filter(|from| (window.from..window.until).contains(from))
        .collect()
}

/// When the watch may be disturbed, and until when.
fn disturbed(evidence: &Evidence, lasts: &[i64]) -> Vec<(Timestamp, Timestamp)> {
    let Some(window) = evidence.header.window else {
        return Vec::new();
    };
    let times = disturbances(evidence, window).into_iter();
    let until = |from: Timestamp, lasts: i64| (from + seconds(lasts)).min(window.until);
    let times = times.flat_map(|from| lasts.iter().map(move |lasts| (from, until(from, *lasts))));
    times.collect()
}

/// The examples in which a rule finds a violation only with a disturbed watch, and the number of judgements. The watch is
/// disturbed around each change, for so many seconds.
fn newly_found(
    show: fn(&Evidence, Timestamp, Timestamp) -> Evidence,
    lasts: &[i64],
    is_in_scope: fn(&Evidence) -> bool,
) -> (Named, usize) {
    let cases = |rule: &Rule, evidence: &Evidence| {
        let is_tried = is_in_scope(evidence) && !finds(rule, evidence);
        if is_tried {
            disturbed(evidence, lasts)
        } else {
            Vec::new()
        }
    };
    examples_with(cases, |rule, evidence, (from, until)| {
        finds(rule, &show(evidence, from, until))
    })
}

/// A fault of the hub may make a verdict inconclusive, never wrong: a part of the evidence shows no violation that all of it
/// does not show.
#[test]
fn a_gap_breaks_no_rule() {
    let (found, asked) = newly_found(interrupted, &LOST, |_| true);
    assert_exceptions(&found, &Named::new());
    assert!(asked > 10_000 / SAMPLE / 2, "{asked} judgements");
}

/// A late watch shows no new violation either. Examples with gaps are left out.
#[test]
fn lateness_breaks_no_rule() {
    let has_no_gap = |evidence: &Evidence| evidence.gaps.is_empty();
    let (found, asked) = newly_found(delayed, &[3, 9, 30, 61, 130, 400], has_no_gap);
    assert_exceptions(&found, &named(&IN_TIME));
    assert!(asked > 10_000 / SAMPLE / 2, "{asked} judgements");
}

/// Whether a gap may hide the whole violation: the rule judges states, and the last one conforms.
fn may_be_mended(rule: &Rule, evidence: &Evidence, window: Window) -> bool {
    let judges_changes = [Kind::Timeline, Kind::PlacementTimeline].iter().any(|kind| {
        let facts = &rule.facts;
        facts.needs.contains(kind) || facts.needs_one_of.contains(kind)
    });
    let at_last = verdict(rule, &since(evidence, window.until));
    !judges_changes && !matches!(at_last, Verdict::Fail | Verdict::Warn)
}

/// A fault of the hub keeps no rule: a part of the evidence does not pass if all of it shows a violation.
#[test]
fn a_gap_keeps_no_rule() {
    let cases = |rule: &Rule, evidence: &Evidence| {
        let window = evidence.header.window.filter(|_| finds(rule, evidence));
        match window {
            Some(window) if !may_be_mended(rule, evidence, window) => disturbed(evidence, &LOST),
            _ => Vec::new(),
        }
    };
    let (kept, asked) = examples_with(cases, |rule, evidence, (from, until)| {
        let shown = [interrupted, delayed].map(|show| show(evidence, from, until));
        shown.iter().any(|shown| verdict(rule, shown) == Verdict::Pass)
    });
    assert_exceptions(&kept, &named(&KEPT));
    assert!(asked > 5_000 / SAMPLE / 2, "{asked} judgements");
}

/// When another program writes, in seconds after the beginning.
const AT: [i64; 4] = [3, 45, 150, 290];
const TOOL: &str = "delivery-tool";
const ANNOTATION: &str = "delivery.example.com/tracking";

/// Examples in which it matters.
const MATTERS: [&str; 7] = [
    // The tool may be the manager: its write would be the eleventh.
    "updates/writes-within-burst: ten writes at once, of labels and status",
    // A write of the tool that arrives before older ones contradicts the hub's clock.
    "updates/status-writes-within-budget: twelve writes with server timestamps 30 s apart that arrive together",
    // Something was written, so that there is something to examine.
    "conditions/transition-time-kept: no change during the watch",
    // A write to the profile of another manager is a warning.
    "lifecycle/foreign-profiles-untouched: no client changes the profile",
    "lifecycle/foreign-profiles-untouched: the run fills the status, and deletes the profile at the end",
    "lifecycle/foreign-profiles-untouched: a new resourceVersion without a change",
    "lifecycle/foreign-profiles-untouched: the manager's own profiles change in the meantime",
];

/// Evidence of a hub on which a tool annotates all profiles that there are then.
fn annotated(evidence: &Evidence, at: Timestamp) -> Evidence {
    let mut tracked = evidence.clone();
    let skew = SignedDuration::from_millis(evidence.header.clock_skew_ms.unwrap_or_default());
    let written = at + skew;
    let mut requests = Vec::new();
    for history in &mut tracked.profiles {
        if annotate(history, at, written) {
            requests.push(request(history, written));
        }
    }
    if let Some(log) = tracked
        .requests
        .as_mut()
        .filter(|log| log.covers.from <= written && written <= log.covers.until)
    {
        log.events.extend(requests);
        log.events.sort_by_key(|event| event.at);
    }
    tracked
}

/// Adds the version that the tool makes, and returns whether there was a profile to annotate.
fn annotate(history: &mut ProfileHistory, at: Timestamp, written: Timestamp) -> bool {
    let place = history
        .versions
        .partition_point(|version| version.received() <= at);
    if place == 0 || history.deleted.is_some_and(|deleted| deleted <= at) {
        return false;
    }
    let mut object = history.versions[place - 1].object.clone();
    object.metadata.resource_version.push('0');
    history.versions.insert(place, Version { at: Some(at), object });
    for version in &mut history.versions[place..] {
        let annotations = &mut version.object.metadata.annotations;
        Arc::make_mut(annotations).insert(ANNOTATION.to_owned(), "1".to_owned());
        let Some(writers) = &mut version.object.metadata.writers else {
            continue;
        };
        let tool = Writer {
            manager: TOOL.into(),
            operation: "Update".into(),
            time: Some(written.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into()),
            owns: [format!("metadata.annotations[{ANNOTATION}]").into_boxed_str()].into(),
            ..Writer::default()
        };
        *writers = writers.iter().cloned().chain([tool]).collect();
    }
    true
}

fn request(history: &ProfileHistory, at: Timestamp) -> Request {
    let metadata = &history.last().metadata;
    let request = json!({
        "at": at, "verb": "patch", "user": TOOL, "userAgent": format!("{TOOL}/v1.0"),
        "namespace": &*metadata.namespace, "name": &*metadata.name, "subresource": "", "code": 200, "dryRun": false,
        "changed": true, "body": {"parts": ["metadata.annotations"]},
    });
    serde_json::from_value(request).expect("a request")
}

fn hides(gap: &Gap, at: Timestamp) -> bool {
    gap.from.is_none_or(|from| from <= at) && gap.until.is_none_or(|until| at <= until)
}

/// The verdict and the findings.
fn found(rule: &Rule, evidence: &Evidence) -> impl PartialEq + use<> {
    let judged = judged(rule, evidence);
    let findings = judged.findings.iter();
    let findings = findings.map(|finding| (finding.object.path(), finding.path.clone(), finding.advisory));
    (judged.verdict, Vec::from_iter(findings))
}

/// Writes of other clients are not the manager's.
#[test]
fn an_annotation_by_a_tool_changes_no_verdict() {
    let cases = |_: &Rule, evidence: &Evidence| {
        let window = evidence.header.window.into_iter();
        let times = window.flat_map(|window| AT.map(|after| (window, window.from + seconds(after))));
        let times = times.filter(|(window, at)| *at < window.until);
        let times = times.map(|(_, at)| at);
        let seen = times.filter(|at| !evidence.gaps.iter().any(|gap| hides(gap, *at)));
        seen.collect()
    };
    let (changed, asked) = examples_with(cases, |rule, evidence, at| {
        found(rule, &annotated(evidence, at)) != found(rule, evidence)
    });
    assert_exceptions(&changed, &named(&MATTERS));
    assert!(asked > 3_000 / SAMPLE / 2, "{asked} judgements");
}
