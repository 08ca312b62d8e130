//! When profiles were written, and what rules ask of clocks and gaps that [`crate::time`] does not answer yet.

use evidence::{
    Evidence, Gap, Kind, ProfileHistory, Tracked, Version, api::ClusterProfile, parse_time,
};
use jiff::Timestamp;

pub(super) use crate::time::{CLOCKS_APART, Event as WriteTime, LATE, Micros, SECOND};
use crate::{
    time::{self, known_skew, new_stamp},
    who::writes_status,
};

/// A step between two versions of a profile that changed something.
pub(super) type Write<'a> = time::Write<'a, ClusterProfile>;

impl WriteTime {
    /// A write that was seen at that time, at most a second late.
    pub(super) fn seen(at: Timestamp) -> Self {
        let latest = at.as_microsecond();
        Self::between(latest - SECOND, latest)
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

/// The status writes that the watch saw on a profile, in order, each with its moment.
pub(super) fn status_writes<'a>(evidence: &'a Evidence, history: &'a ProfileHistory) -> Vec<Write<'a>> {
    let differ = |one: &ClusterProfile, other: &ClusterProfile| one.status != other.status;
    time::writes(evidence, history, differ, writes_status)
}

/// All writes that the watch saw on a profile, whatever they changed.
pub(super) fn writes<'a>(evidence: &'a Evidence, history: &'a ProfileHistory) -> Vec<Write<'a>> {
    let differ = |one: &ClusterProfile, other: &ClusterProfile| {
        one.metadata.resource_version != other.metadata.resource_version
    };
    time::writes(evidence, history, differ, |_| true)
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
