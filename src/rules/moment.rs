//! When a write took place, as closely as the evidence tells.
//!
//! A watch may deliver late, and after a reconnect it delivers many versions at once; the hub stamps the writer's
//! entry in `managedFields`, but in whole seconds and not always. So a write is known by the span in which it must
//! have happened, and a rule alarms only where every time in that span breaks it.

use jiff::Timestamp;

use crate::{
    api::{ClusterProfile, Writer},
    evidence::{Evidence, Kind, ProfileHistory, Version, parse_time},
};

/// Microseconds since the epoch, or between two moments: timestamps from a hub may be so far off that arithmetic
/// on them would leave their range.
pub(super) type Micros = i64;

/// One second.
pub(super) const SECOND: Micros = 1_000_000;

/// The span in which a write took place, by the runner's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    /// Not before this.
    pub(super) earliest: Micros,
    /// Not after this.
    pub(super) latest: Micros,
}

/// A step between two versions that changed the status.
#[derive(Clone, Copy, Debug)]
pub(super) struct StatusWrite<'a> {
    /// The version before.
    pub(super) before: &'a Version,
    /// The version that it made.
    pub(super) after: &'a Version,
    /// When.
    pub(super) moment: Moment,
}

impl Moment {
    /// A write that was seen at that time, at most a second after it was made.
    pub(super) fn seen(at: Timestamp) -> Self {
        let latest = at.as_microsecond();
        Self {
            earliest: latest - SECOND,
            latest,
        }
    }
}

/// How far the hub's clock runs ahead of the runner's; 0 where that is not known. No more than a year either way,
/// so that sums of times stay in their range.
pub(super) fn skew(evidence: &Evidence) -> Micros {
    const YEAR: Micros = 366 * 86_400 * SECOND;
    let told = evidence.header.clock_skew_ms.unwrap_or(0);
    told.saturating_mul(1000).clamp(-YEAR, YEAR)
}

/// A time that the hub or a manager wrote, by the runner's clock.
pub(super) fn on_our_clock(evidence: &Evidence, text: &str) -> Option<Micros> {
    parse_time(text).map(|time| time.as_microsecond().saturating_sub(skew(evidence)))
}

/// When the runner stopped looking; none for a dump, which does not tell.
pub(super) fn end(evidence: &Evidence) -> Option<Micros> {
    evidence.header.window.map(|window| window.until.as_microsecond())
}

/// The moment as a timestamp.
pub(super) fn timestamp(at: Micros) -> Timestamp {
    Timestamp::from_microsecond(at).unwrap_or(Timestamp::MAX)
}

/// Whether the watch missed part of the time between two versions of a profile; if so, from when on.
pub(super) fn missed_since(evidence: &Evidence, before: &Version, after: &Version) -> Option<Timestamp> {
    missed_within(evidence, &before.profile, before.at, after.at)
}

/// Whether the watch missed part of a span of a profile's life; if so, from when on.
pub(super) fn missed_within(
    evidence: &Evidence,
    profile: &ClusterProfile,
    from: Timestamp,
    until: Timestamp,
) -> Option<Timestamp> {
    evidence
        .gaps(Kind::Timeline)
        .filter(|gap| {
            gap.object.as_ref().is_none_or(|object| {
                *object.name == *profile.metadata.name && *object.namespace == *profile.metadata.namespace
            })
        })
        .filter(|gap| {
            gap.from.is_none_or(|start| start <= until) && gap.until.is_none_or(|stop| stop >= from)
        })
        .map(|gap| gap.from.unwrap_or(from).max(from))
        .min()
}

/// Whether two versions of a profile differ in their status.
fn status_differs(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    one.status != other.status
}

/// The status writes that the watch saw on a profile, in order, each with its moment.
pub(super) fn status_writes<'a>(evidence: &Evidence, history: &'a ProfileHistory) -> Vec<StatusWrite<'a>> {
    let mut writes: Vec<StatusWrite<'a>> = Vec::new();
    // The last time that the hub stamped: a write that moved no stamp comes after it.
    let mut stamped: Option<Micros> = None;
    for (before, after) in history.steps() {
        if !status_differs(&before.profile, &after.profile) {
            continue;
        }
        let arrival = after.at.as_microsecond();
        let moment = match (new_stamp(&before.profile, &after.profile), stamped) {
            // A stamp from after the arrival shows that the clocks disagree.
            (Some(text), _) => match on_our_clock(evidence, text) {
                Some(stamp) if stamp <= arrival.saturating_add(SECOND) => {
                    stamped = Some(stamp);
                    Moment {
                        earliest: stamp,
                        latest: stamp.saturating_add(SECOND),
                    }
                }
                _ => Moment::seen(after.at),
            },
            // The hub moves no stamp within one second, nor for a write that only removed something.
            (None, Some(stamp)) => Moment {
                earliest: stamp,
                latest: arrival.max(stamp),
            },
            (None, None) => Moment::seen(after.at),
        };
        writes.push(StatusWrite {
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

/// The newest time of those who write the status that the version before did not have.
fn new_stamp<'a>(before: &ClusterProfile, after: &'a ClusterProfile) -> Option<&'a str> {
    let stamps = |profile: &'a ClusterProfile| {
        let writers = profile.metadata.writers.as_deref().unwrap_or_default();
        writers
            .iter()
            .filter(|writer| writes_status(writer))
            .filter_map(|writer| writer.time.as_deref())
    };
    let old = before.metadata.writers.as_deref().unwrap_or_default();
    stamps(after)
        .filter(|time| !old.iter().any(|writer| writer.time.as_deref() == Some(*time)))
        // The hub writes all of them alike, in UTC and to the second: the order of the text is that of the time.
        .max()
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
