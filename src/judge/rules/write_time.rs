//! Narrows down when a write took place.
//!
//! A watch may deliver late, and after a reconnect it delivers many versions together. The hub stamps the writer's entry
//! in `managedFields`, but in whole seconds and not always. So a write has a span in which it must have happened, and a
//! rule reports a violation only if every time in that span breaks it.

use evidence::{
    Evidence, Gap, Kind, ObjectRef, ProfileHistory, Tracked, Version,
    api::{ClusterProfile, Writer},
    parse_time,
};
use jiff::Timestamp;

pub(super) use crate::time::{LATE, Micros, SECOND};
use crate::time::{known_skew, new_stamp};

/// Maximum difference between clocks: 5 min.
pub(super) const CLOCKS_APART: Micros = 300 * SECOND;

/// The span in which a write took place, by the runner's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WriteTime {
    /// The earliest possible time.
    pub(super) earliest: Micros,
    /// The latest possible time.
    pub(super) latest: Micros,
    /// The time in the evidence, for reports.
    pub(super) reported: Micros,
}

/// A step between two versions that changed something.
#[derive(Clone, Copy, Debug)]
pub(super) struct Write<'a> {
    /// The version before.
    pub(super) before: &'a Version,
    /// The version that it made.
    pub(super) after: &'a Version,
    /// When it took place.
    pub(super) moment: WriteTime,
}

impl WriteTime {
    /// A write that was seen at that time, at most a second late.
    pub(super) fn seen(at: Timestamp) -> Self {
        let latest = at.as_microsecond();
        Self {
            earliest: latest - SECOND,
            latest,
            reported: latest,
        }
    }

    /// A write whose version arrived, perhaps late. If that was at the end of a gap, it may have been at any time of it.
    fn arrived(evidence: &Evidence, version: &Version) -> Self {
        let arrival = version.at.as_microsecond();
        let gap = gap_around(evidence, &version.object, version.at);
        Self {
            earliest: (arrival - LATE).min(gap.unwrap_or(arrival)),
            latest: arrival,
            reported: arrival,
        }
    }
}

/// How far the hub's clock is ahead of the runner's; 0 if unknown.
pub(super) fn skew(evidence: &Evidence) -> Micros {
    known_skew(evidence).unwrap_or(0)
}

/// A time that the hub or a manager wrote, by the runner's clock.
pub(super) fn on_our_clock(evidence: &Evidence, text: &str) -> Option<Micros> {
    parse_time(text).map(|time| time.as_microsecond().saturating_sub(skew(evidence)))
}

/// When the runner stopped looking; none for a dump.
pub(super) fn end(evidence: &Evidence) -> Option<Micros> {
    evidence.header.window.map(|window| window.until.as_microsecond())
}

/// When the runner stopped looking at a profile's namespace; none for a dump.
pub(super) fn end_of(evidence: &Evidence, profile: &ClusterProfile) -> Option<Micros> {
    let end = evidence.end_of(&profile.metadata.namespace)?;
    Some(end.as_microsecond())
}

/// The moment as a timestamp.
pub(super) fn timestamp(at: Micros) -> Timestamp {
    Timestamp::from_microsecond(at).unwrap_or(Timestamp::MAX)
}

/// From when on the watch missed part of the time between two versions of a profile, if so.
pub(super) fn missed_since(evidence: &Evidence, before: &Version, after: &Version) -> Option<Timestamp> {
    missed_within(evidence, &before.object, before.at, after.at)
}

/// From when on the watch missed part of a span of a profile's life, if so.
pub(super) fn missed_within(
    evidence: &Evidence,
    profile: &ClusterProfile,
    from: Timestamp,
    until: Timestamp,
) -> Option<Timestamp> {
    let metadata = &profile.metadata;
    missed_of(
        evidence.timeline_gaps_of(&metadata.namespace, &metadata.name),
        from,
        until,
    )
}

/// The same for a profile that may be known by name only; without one, for any profile.
pub(super) fn missed_between(
    evidence: &Evidence,
    profile: Option<&ObjectRef>,
    from: Timestamp,
    until: Timestamp,
) -> Option<Timestamp> {
    match profile {
        Some(profile) => missed_of(
            evidence.timeline_gaps_of(&profile.namespace, &profile.name),
            from,
            until,
        ),
        None => missed_of(evidence.gaps(Kind::Timeline), from, until),
    }
}

/// The same for slices, of any namespace.
pub(super) fn missed_slices_between(
    evidence: &Evidence,
    from: Timestamp,
    until: Timestamp,
) -> Option<Timestamp> {
    missed_of(evidence.gaps(Kind::PlacementTimeline), from, until)
}

fn missed_of<'a>(
    gaps: impl Iterator<Item = &'a Gap>,
    from: Timestamp,
    until: Timestamp,
) -> Option<Timestamp> {
    gaps.filter(|gap| {
        gap.from.is_none_or(|start| start <= until) && gap.until.is_none_or(|stop| stop >= from)
    })
    .map(|gap| gap.from.unwrap_or(from).max(from))
    .min()
}

/// When the gap began in which a version of a profile came, if it came in one: it is no older than the gap. The least
/// timestamp if the gap has no beginning.
pub(super) fn gap_around(evidence: &Evidence, profile: &ClusterProfile, at: Timestamp) -> Option<Micros> {
    let metadata = &profile.metadata;
    let gaps = evidence.timeline_gaps_of(&metadata.namespace, &metadata.name);
    let around = gaps
        .filter(|gap| gap.from.is_none_or(|from| from <= at) && gap.until.is_none_or(|until| until >= at));
    let starts = around.map(|gap| gap.from.map_or(Micros::MIN, Timestamp::as_microsecond));
    starts.min()
}

/// Whether two versions of a profile differ in their status.
fn status_differs(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    one.status != other.status
}

/// The status writes that the watch saw on a profile, in order, each with its moment.
pub(super) fn status_writes<'a>(evidence: &Evidence, history: &'a ProfileHistory) -> Vec<Write<'a>> {
    writes_where(evidence, history, status_differs, writes_status)
}

/// All writes that the watch saw on a profile, whatever they changed.
pub(super) fn writes<'a>(evidence: &Evidence, history: &'a ProfileHistory) -> Vec<Write<'a>> {
    let differs = |one: &ClusterProfile, other: &ClusterProfile| {
        one.metadata.resource_version != other.metadata.resource_version
    };
    writes_where(evidence, history, differs, |_| true)
}

/// The writes between successive versions, stamped by the writers that `counts` selects.
fn writes_where<'a>(
    evidence: &Evidence,
    history: &'a ProfileHistory,
    differ: fn(&ClusterProfile, &ClusterProfile) -> bool,
    counts: fn(&Writer) -> bool,
) -> Vec<Write<'a>> {
    let mut writes: Vec<Write<'a>> = Vec::new();
    // The last stamp of the hub: a write that moved no stamp comes after it.
    let mut stamped: Option<Micros> = None;
    for (before, after) in history.steps() {
        if !differ(&before.object, &after.object) {
            continue;
        }
        let arrival = after.at.as_microsecond();
        let moment = match (new_stamp(Some(&before.object), &after.object, counts), stamped) {
            // A stamp that contradicts the arrival shows that a clock was set.
            (Some(text), _) => match on_our_clock(evidence, text) {
                Some(stamp) if agrees(evidence, after, stamp) => {
                    stamped = Some(stamp);
                    WriteTime {
                        earliest: stamp,
                        latest: stamp.saturating_add(SECOND),
                        reported: stamp,
                    }
                }
                _ => WriteTime::arrived(evidence, after),
            },
            // The hub does not move a stamp within one second, nor for a write that only removed something.
            (None, Some(stamp)) => WriteTime {
                earliest: stamp,
                latest: arrival.max(stamp),
                reported: stamp,
            },
            (None, None) => WriteTime::arrived(evidence, after),
        };
        writes.push(Write {
            before,
            after,
            moment,
        });
    }
    // The writes of one object come in order: none is later than the next.
    let mut bound = Micros::MAX;
    for write in writes.iter_mut().rev() {
        bound = bound.min(write.moment.latest);
        write.moment.latest = bound;
        write.moment.earliest = write.moment.earliest.min(bound);
    }
    writes
}

/// Whether a version that was written at that time can have arrived when it did: no later than a watch may be or, if it
/// was interrupted, than the interruption.
fn agrees(evidence: &Evidence, version: &Version, stamp: Micros) -> bool {
    let arrival = version.at.as_microsecond();
    let began = gap_around(evidence, &version.object, version.at).unwrap_or(arrival);
    let earliest = began.saturating_sub(LATE + 2 * SECOND);
    (earliest..=arrival.saturating_add(SECOND)).contains(&stamp)
}

/// The earliest time at which a version can have been written: the hub's stamp or, without one, the maximum delay of
/// a watch before its arrival.
pub(super) fn earliest<T: Tracked>(evidence: &Evidence, before: Option<&T>, after: &Version<T>) -> Micros {
    let arrival = after.at.as_microsecond();
    new_stamp(before, &after.object, |_| true)
        .and_then(|text| on_our_clock(evidence, text))
        .filter(|stamp| *stamp <= arrival.saturating_add(SECOND))
        .unwrap_or_else(|| arrival.saturating_sub(LATE))
}

/// When a version was written, if the watch delivered it late: the hub's stamp, by the runner's clock. Its arrival if the
/// clocks cannot be compared, or if no stamp tells. A connection that is silent for a while delivers all at its end.
pub(super) fn written<T: Tracked>(evidence: &Evidence, before: Option<&T>, after: &Version<T>) -> Micros {
    let arrival = after.at.as_microsecond();
    let Some(skew) = known_skew(evidence) else {
        return arrival;
    };
    let stamp = match before {
        Some(_) => new_stamp(before, &after.object, |_| true),
        None => after.object.metadata().creation_timestamp.as_deref(),
    };
    let stamp = stamp.and_then(parse_time);
    let stamp = stamp.map(|stamp| stamp.as_microsecond().saturating_sub(skew));
    // An older one shows that a clock was set: no connection is silent for so long.
    let is_late = |stamp: &Micros| (0..=CLOCKS_APART).contains(&arrival.saturating_sub(*stamp));
    stamp.filter(is_late).unwrap_or(arrival)
}

/// Whether a writer writes the status, or owns parts of it.
pub(super) fn writes_status(writer: &Writer) -> bool {
    &*writer.subresource == "status" || owns_status(writer)
}

/// Whether a writer owns parts of the status.
pub(super) fn owns_status(writer: &Writer) -> bool {
    writer.owns.iter().any(|part| is_status(part))
}

/// Whether an owned part is of the status.
pub(super) fn is_status(part: &str) -> bool {
    part == "status" || part.starts_with("status.")
}

#[cfg(test)]
mod tests {
    use evidence::api::Edition;
    use serde_json::{Value, json};

    use super::*;
    use crate::rules::example::Example;

    /// The times of the status writes on the only profile, in seconds after the base (2026-01-01).
    fn moments(world: Value) -> Vec<(f64, f64)> {
        let example = json!({"name": "tried", "passes": world});
        let example = Example::parse(&example, Edition::Standard).expect("a world");
        let evidence = example.evidence();
        let base = "2026-01-01T00:00:00Z".parse::<Timestamp>().expect("a time");
        let seconds = |at: Micros| (at - base.as_microsecond()) as f64 / SECOND as f64;
        status_writes(evidence, &evidence.profiles[0])
            .iter()
            .map(|write| (seconds(write.moment.earliest), seconds(write.moment.latest)))
            .collect()
    }

    /// A step that writes a status, stamped by the hub.
    fn stamped(at: &str, version: &str, stamp: &str) -> Value {
        json!({"at": at, "change": {
            "status": {"version": {"kubernetes": version}},
            "metadata": {"writers": [{
                "manager": "m", "operation": "Update", "subresource": "status", "time": stamp,
                "owns": ["status.version"],
            }]},
        }})
    }

    /// The watch was interrupted.
    fn gap(from: &str, until: &str) -> Value {
        json!({"kind": "timeline", "reason": "changes came late", "from": from, "until": until})
    }

    #[test]
    fn what_arrives_late_and_all_at_once_was_written_when_the_hub_says() {
        let late = json!({"observe": "10m", "gaps": [gap("5s", "200s")], "steps": [
            stamped("200s", "v1.1.0", "${10s}"),
            stamped("200s", "v1.2.0", "${40s}"),
            stamped("200s", "v1.3.0", "${70s}"),
        ]});
        assert_eq!(moments(late), [(10.0, 11.0), (40.0, 41.0), (70.0, 71.0)]);
    }

    #[test]
    fn a_write_that_moves_no_stamp_lies_between_the_one_before_and_its_arrival() {
        let removal = json!({"observe": "10m", "steps": [
            stamped("10500ms", "v1.1.0", "${10s}"),
            {"at": "90s", "change": {"status": {"version": null}}},
        ]});
        assert_eq!(moments(removal), [(10.0, 11.0), (10.0, 90.0)]);
        let followed = json!({"observe": "10m", "gaps": [gap("20s", "90s")], "steps": [
            stamped("10500ms", "v1.1.0", "${10s}"),
            {"at": "90s", "change": {"status": {"version": null}}},
            stamped("90s", "v1.2.0", "${30s}"),
        ]});
        assert_eq!(moments(followed), [(10.0, 11.0), (10.0, 31.0), (30.0, 31.0)]);
    }

    #[test]
    fn the_hub_s_clock_is_set_right_and_a_stamp_from_the_future_is_not_believed() {
        let ahead =
            json!({"observe": "10m", "clockSkew": "1h", "steps": [stamped("20s", "v1.1.0", "${3610s}")]});
        assert_eq!(moments(ahead), [(10.0, 11.0)]);
        let unknown = json!({"observe": "10m", "steps": [stamped("20s", "v1.1.0", "${3610s}")]});
        assert_eq!(moments(unknown), [(10.0, 20.0)]);
    }

    #[test]
    fn steps_that_leave_the_status_alone_are_no_status_writes() {
        let labels = json!({"steps": [{"at": "10s", "change": {"metadata": {"labels": {"tier": "gold"}}}}]});
        assert_eq!(moments(labels), []);
    }
}
