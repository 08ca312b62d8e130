//! Other programs write to profiles as well.

use std::{collections::BTreeSet, sync::Arc};

use evidence::{Evidence, Gap, ProfileHistory, Request, RequestBody, Version, api::Writer};
use jiff::{SignedDuration, Timestamp};
use judge::rules::Rule;

use super::{SAMPLE, assert_exceptions, judged, named, sampled};
use crate::examples;

/// When another program writes, in seconds after the beginning.
const AT: [i64; 4] = [3, 45, 150, 290];
const TOOL: &str = "delivery-tool";
const ANNOTATION: &str = "delivery.example.com/tracking";

/// Examples in which it matters.
const MATTERS: [(&str, &str); 8] = [
    // A write of the tool that arrives before older ones contradicts the hub's clock.
    (
        "updates/status-writes-within-budget",
        "twelve writes with server timestamps 30 s apart that arrive together",
    ),
    // Something was written, so that there is something to examine.
    ("conditions/transition-time-kept", "no change during the watch"),
    // Whoever writes to the profile of another manager deserves a hint.
    (
        "lifecycle/foreign-profiles-untouched",
        "no client changes the profile",
    ),
    (
        "lifecycle/foreign-profiles-untouched",
        "the run fills the status, and deletes the profile at the end",
    ),
    (
        "lifecycle/foreign-profiles-untouched",
        "the run's own write is seen late",
    ),
    (
        "lifecycle/foreign-profiles-untouched",
        "a new resourceVersion without a change",
    ),
    (
        "lifecycle/foreign-profiles-untouched",
        "the manager's own profiles change in the meantime",
    ),
    (
        "lifecycle/foreign-profiles-untouched",
        "only the judged manager is looked at",
    ),
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
    Request {
        at,
        verb: "patch".into(),
        user: TOOL.into(),
        user_agent: format!("{TOOL}/v1.0").into(),
        namespace: Arc::clone(&metadata.namespace),
        name: Arc::clone(&metadata.name),
        subresource: "".into(),
        code: 200,
        dry_run: false,
        changed: Some(true),
        resource_version: None,
        body: Some(RequestBody {
            parts: vec!["metadata.annotations".to_owned()],
            ..RequestBody::default()
        }),
    }
}

fn hides(gap: &Gap, at: Timestamp) -> bool {
    gap.from.is_none_or(|from| from <= at) && gap.until.is_none_or(|until| at <= until)
}

/// What one rule says of it.
fn said(rule: &Rule, evidence: &Evidence) -> impl PartialEq + use<> {
    let judged = judged(rule, evidence);
    let findings = judged.findings.iter();
    let findings: Vec<_> = findings
        .map(|finding| (finding.object.path(), finding.path.clone(), finding.advisory))
        .collect();
    (judged.verdict, findings)
}

/// What others write is not the manager's.
#[test]
fn an_annotation_by_a_tool_changes_no_verdict() {
    let mut asked = 0;
    let mut changed = BTreeSet::new();
    for (rule, example) in examples() {
        let evidence = example.evidence();
        let Some(window) = evidence.header.window else {
            continue;
        };
        let before = said(rule, evidence);
        for seconds in sampled(example, AT) {
            let at = window.from + SignedDuration::from_secs(seconds);
            if at >= window.until || evidence.gaps.iter().any(|gap| hides(gap, at)) {
                continue;
            }
            if said(rule, &annotated(evidence, at)) != before {
                changed.insert((rule.id, example.name.clone()));
            }
            asked += 1;
        }
    }
    assert_exceptions(&changed, &named(&MATTERS));
    assert!(asked > 3_000 / SAMPLE / 2, "{asked} judgements");
}
