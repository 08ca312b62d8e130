//! Parts of evidence: of a run that observes for a shorter time, is interrupted, has a late watch or a wrong clock, or lacks
//! a kind of evidence.

use evidence::{
    Evidence, Gap, History, Kind, Later, Log, Origin, Requested, Version,
    api::{Metadata, Writer},
};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

/// The longest delay that leaves no gap.
const BRIEF: SignedDuration = SignedDuration::from_secs(10);

/// The evidence of a watch that began later, with a first list.
pub fn since(evidence: &Evidence, began: Timestamp) -> Evidence {
    let mut late = evidence.clone();
    if let Some(window) = &mut late.header.window {
        window.from = began;
    }
    forget(&mut late.profiles, began, |profile| &mut profile.metadata);
    forget(&mut late.slices, began, |slice| &mut slice.metadata.common);
    for log in [&mut late.requests, &mut late.slice_requests] {
        cut_log(log, began, Timestamp::MAX, |request| request.at);
    }
    for member in &mut late.members {
        member.samples.retain(|sample| sample.from >= began);
    }
    if let Some(testbed) = &mut late.testbed {
        testbed.scenarios.retain(|scenario| scenario.from >= began);
        testbed
            .expectations
            .retain(|expectation| expectation.from >= began);
        testbed.hook_calls.retain(|call| call.from >= began);
        testbed.outputs.retain(|snapshot| snapshot.at >= began);
    }
    cut_log(&mut late.member_calls, began, Timestamp::MAX, |call| call.at);
    cut_log(&mut late.plugin_calls, began, Timestamp::MAX, |call| call.at);
    late.gaps
        .retain(|gap| gap.until.is_none_or(|until| until > began));
    for gap in late.gaps.iter_mut() {
        gap.from = gap.from.map(|from| from.max(began));
    }
    late
}

fn forget<T>(histories: &mut Vec<History<T>>, began: Timestamp, metadata: fn(&mut T) -> &mut Metadata) {
    histories.retain(|history| history.deleted.is_none_or(|deleted| deleted > began));
    for history in histories {
        let Some(last) = history
            .versions
            .iter()
            .rposition(|version| version.received() <= began)
        else {
            continue;
        };
        history.versions.drain(..last);
        date_writes(&mut history.versions, metadata);
        history.versions[0].at = Some(began);
        history.origin = Origin::Listed;
    }
}

/// Dates the writes of a first version at its arrival. Examples change an object without a new time in its managedFields,
/// which would prove that the first list shows an old state.
fn date_writes<T>(versions: &mut [Version<T>], metadata: fn(&mut T) -> &mut Metadata) {
    let written = versions[0].received();
    let is_older = |time: &str| time.parse().is_ok_and(|time: Timestamp| time < written);
    for writers in versions
        .iter_mut()
        .filter_map(|version| metadata(&mut version.object).writers.as_mut())
    {
        let mut dated: Vec<Writer> = writers.to_vec();
        for writer in dated
            .iter_mut()
            .filter(|writer| writer.time.as_deref().is_some_and(is_older))
        {
            writer.time = Some(written.to_string().into());
        }
        *writers = dated.into();
    }
}

/// Evidence as it was at some moment of its window. Histories come in the order in which they began.
pub fn as_of(evidence: &Evidence, now: Timestamp) -> Evidence {
    let mut then = evidence.clone();
    then.header.settled = None;
    then.later = Later::default();
    if let Some(window) = &mut then.header.window {
        window.until = now;
    }
    cut(&mut then.profiles, now);
    cut(&mut then.slices, now);
    for log in [&mut then.requests, &mut then.slice_requests] {
        cut_log(log, Timestamp::MIN, now, |request| request.at);
    }
    for member in &mut then.members {
        member.samples.retain(|sample| sample.until <= now);
    }
    if let Some(testbed) = &mut then.testbed {
        testbed.scenarios.retain(|scenario| scenario.from <= now);
        for scenario in &mut testbed.scenarios {
            scenario.until = scenario.until.min(now);
            scenario.called_at = scenario.called_at.filter(|called| *called <= now);
        }
        testbed
            .published
            .retain(|publication| publication.answered <= now);
        testbed.expectations.retain(|expectation| expectation.from <= now);
        for expectation in &mut testbed.expectations {
            expectation.until = expectation.until.min(now);
        }
        testbed.hook_calls.retain(|call| call.until <= now);
        testbed.outputs.retain(|snapshot| snapshot.at <= now);
    }
    cut_log(&mut then.member_calls, Timestamp::MIN, now, |call| call.at);
    cut_log(&mut then.plugin_calls, Timestamp::MIN, now, |call| call.at);
    then.gaps.retain(|gap| gap.from.is_none_or(|from| from <= now));
    for gap in then.gaps.iter_mut() {
        gap.until = gap.until.map(|until| until.min(now));
    }
    then
}

/// Restricts a log to a span.
fn cut_log<T>(log: &mut Option<Log<T>>, from: Timestamp, until: Timestamp, at: impl Fn(&T) -> Timestamp) {
    let Some(Log { covers, events }) = log else { return };
    covers.from = covers.from.max(from).min(covers.until);
    covers.until = covers.until.min(until).max(covers.from);
    events.retain(|event| (from..=until).contains(&at(event)));
}

fn cut<T>(histories: &mut Vec<History<T>>, now: Timestamp) {
    for history in &mut *histories {
        history.versions.retain(|version| version.received() <= now);
        history.deleted = history.deleted.filter(|deleted| *deleted <= now);
    }
    histories.retain(|history| !history.versions.is_empty());
    histories.sort_by_key(|history| history.versions[0].at);
}

/// The evidence of an interrupted watch. After the interruption, a list shows the result of all changes.
pub fn interrupted(evidence: &Evidence, from: Timestamp, until: Timestamp) -> Evidence {
    let mut lossy = evidence.clone();
    lose(&mut lossy.profiles, from, until);
    lose(&mut lossy.slices, from, until);
    add_gaps(&mut lossy, from, until);
    lossy
}

fn add_gaps(evidence: &mut Evidence, from: Timestamp, until: Timestamp) {
    for kind in [Kind::Timeline, Kind::PlacementTimeline] {
        evidence.gaps.push(Gap {
            from: Some(from),
            until: Some(until),
            ..Gap::of(kind, "the watch was interrupted")
        });
    }
    evidence.gaps.sort_by_key(|gap| gap.from);
}

fn lose<T>(histories: &mut Vec<History<T>>, from: Timestamp, until: Timestamp) {
    let is_lost = |at: Timestamp| from < at && at <= until;
    let came_within =
        |history: &History<T>| history.origin != Origin::Listed && is_lost(history.versions[0].received());
    histories.retain(|history| !(came_within(history) && history.deleted.is_some_and(is_lost)));
    for history in histories {
        if came_within(history) {
            history.origin = Origin::Relisted;
        }
        history.deleted = history
            .deleted
            .map(|deleted| if is_lost(deleted) { until } else { deleted });
        let versions = &mut history.versions;
        let Some(last) = versions.iter().rposition(|version| is_lost(version.received())) else {
            continue;
        };
        let first = versions.partition_point(|version| version.received() <= from);
        versions[last].at = Some(until);
        versions.drain(first..last);
    }
}

/// The evidence of a watch that reported all changes of a span at its end. Short delays leave no gap.
pub fn delayed(evidence: &Evidence, from: Timestamp, until: Timestamp) -> Evidence {
    let mut late = evidence.clone();
    delay(&mut late.profiles, from, until);
    delay(&mut late.slices, from, until);
    if until.duration_since(from) > BRIEF {
        add_gaps(&mut late, from, until);
    }
    late
}

fn delay<T>(histories: &mut [History<T>], from: Timestamp, until: Timestamp) {
    let shown = |at: Timestamp| if from < at && at <= until { until } else { at };
    for history in histories {
        for version in &mut history.versions {
            version.at = version.at.map(&shown);
        }
        history.deleted = history.deleted.map(shown);
    }
}

/// The keys with times of the hub and of managers: objects, publications, and the audit log.
const HUB_TIMES: [&str; 7] = [
    "object",
    "state",
    "creationTimestamp",
    "requests",
    "sliceRequests",
    "ownRequests",
    "ownSliceRequests",
];

/// The evidence of a runner whose clock was behind, which the run measured. Times of the hub and of managers stay.
pub fn set_back(evidence: &Evidence, by: SignedDuration) -> Evidence {
    let mut json = serde_json::to_value(evidence).expect("JSON");
    shift(&mut json, by);
    let mut behind: Evidence = serde_json::from_value(json).expect("evidence");
    let skew = &mut behind.header.clock_skew_ms;
    *skew = skew.map(|ahead| ahead + by.as_millis() as i64);
    behind
}

fn shift(json: &mut Value, by: SignedDuration) {
    match json {
        Value::String(text) => {
            if let Ok(time) = text.parse::<Timestamp>() {
                *text = (time - by).to_string();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| shift(item, by)),
        // A gap in the log has the log's times.
        Value::Object(fields)
            if fields
                .get("kind")
                .is_some_and(|kind| kind == Kind::Requests.name()) => {}
        Value::Object(fields) => fields
            .iter_mut()
            .filter(|(key, _)| !HUB_TIMES.contains(&key.as_str()))
            .for_each(|(_, field)| shift(field, by)),
        _ => {}
    }
}

/// The evidence without one kind, which was not available or not requested.
pub fn without(evidence: &Evidence, kind: Kind, was_asked: bool) -> Evidence {
    let mut less = evidence.clone();
    if matches!(kind, Kind::Timeline | Kind::PlacementTimeline) {
        less.header.settled = None;
        less.later = Later::default();
    }
    match kind {
        Kind::Namespaces => less.namespaces.clear(),
        Kind::Timeline => single_snapshot(&mut less.profiles),
        Kind::PlacementTimeline => single_snapshot(&mut less.slices),
        Kind::Secrets => less.secrets.clear(),
        Kind::UnlabelledSecrets => less.unlabelled_secrets.clear(),
        Kind::Members => less.members.clear(),
        Kind::Plugins => {
            less.logins.clear();
            less.endpoint_calls.clear();
        }
        Kind::Requests => (less.requests, less.slice_requests) = (None, None),
        Kind::Probe => less.probes.clear(),
        Kind::Writers => {
            each_version(&mut less.profiles, |profile| profile.metadata.writers = None);
            each_version(&mut less.slices, |slice| slice.metadata.common.writers = None);
        }
        Kind::Testbed => less.testbed = None,
        Kind::Outputs => {
            if let Some(testbed) = &mut less.testbed {
                testbed.outputs.clear();
            }
        }
        Kind::MemberCalls => less.member_calls = None,
        Kind::PluginCalls => less.plugin_calls = None,
        Kind::Mentions => less.mentions = None,
        Kind::Inventory | Kind::PlacementDecisions | Kind::Driver => unreachable!("not left out"),
    }
    if was_asked {
        less.header.requested.insert(kind, Requested::Yes);
        less.gaps.push(Gap::of(kind, "the hub forbids it"));
    } else {
        less.header
            .requested
            .insert(kind, Requested::No("not asked for".into()));
        less.gaps.retain(|gap| gap.kind != kind);
    }
    less
}

/// The last versions of the objects that were not deleted.
fn single_snapshot<T>(histories: &mut Vec<History<T>>) {
    histories.retain(|history| history.deleted.is_none());
    for history in histories {
        history.versions.drain(..history.versions.len() - 1);
        history.origin = Origin::Listed;
    }
}

/// Changes the objects in all versions.
pub fn each_version<T>(histories: &mut [History<T>], change: impl Fn(&mut T)) {
    let versions = histories.iter_mut().flat_map(|history| &mut history.versions);
    versions.for_each(|version| change(&mut version.object));
}
