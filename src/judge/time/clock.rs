//! What the stamps of the hub are worth on the runner's clock.

use evidence::{Evidence, Tracked, parse_time};

use super::{Edge, Micros, SECOND};

/// A larger skew is not believed: the `Date` of the hub's answers is wrong, or was set by something in between.
const BELIEVABLE: Micros = 86_400 * SECOND;

/// How far a measured skew may be from the true one: `Date` has whole seconds.
const SKEW_ERROR: Micros = SECOND;

/// How far the clocks of two API servers of one hub may be apart without a stamp that shows it.
pub(crate) const SERVERS_APART: Micros = 2 * SECOND;

/// How far clocks that nobody compared may be apart: 5 min.
pub(crate) const CLOCKS_APART: Micros = 300 * SECOND;

/// The hub's clock, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HubClock {
    /// The most that the hub's clock may be ahead of the runner's; none if it is unknown, or was set.
    most_ahead: Option<Micros>,
}

impl HubClock {
    /// A clock of which nothing is known.
    pub(crate) const UNKNOWN: Self = Self { most_ahead: None };

    /// The clock of the hub that the evidence is of.
    pub(crate) fn of(evidence: &Evidence) -> Self {
        Self {
            most_ahead: known_skew(evidence).map(|skew| skew + SKEW_ERROR),
        }
    }

    /// The earliest moment, by the runner's clock, at which the hub can have written that stamp.
    pub(crate) fn earliest(self, stamp: &str) -> Option<Micros> {
        let stamp = parse_time(stamp)?.as_microsecond();
        Some(stamp.saturating_sub(self.most_ahead?))
    }

    /// The latest moment, by the runner's clock, at which the hub can have written that stamp, if no clock was set.
    pub(crate) fn latest(self, stamp: &str) -> Option<Micros> {
        // The measured skew may be too small instead of too great, and the stamp has whole seconds.
        let error = 2 * SKEW_ERROR + SECOND + SERVERS_APART;
        Some(self.earliest(stamp)?.saturating_add(error))
    }

    /// The clock, unless one of an object's server timestamps, in order, is from after its arrival or older than the one before.
    /// Then a clock was set, or two API servers have different clocks, and no timestamp counts.
    pub(crate) fn unless_contradicted(self, stamps: impl Iterator<Item = (Micros, Micros)>) -> Self {
        let mut newest = Micros::MIN;
        for (stamp, arrival) in stamps {
            if stamp > arrival || stamp < newest {
                return Self { most_ahead: None };
            }
            newest = stamp;
        }
        self
    }
}

/// When the hub made a stamp, by the runner's clock. A clock that is unknown is not further off than clocks may be.
pub(crate) fn stamped(evidence: &Evidence, text: &str) -> Option<Edge> {
    let stamp = parse_time(text)?.as_microsecond();
    let (ahead, error) = known_skew(evidence).map_or((0, CLOCKS_APART), |skew| (skew, SKEW_ERROR));
    let at = stamp.saturating_sub(ahead);
    Some(Edge::between(at.saturating_sub(error), at.saturating_add(error)))
}

/// How far the hub's clock is ahead of the runner's; 0 if unknown.
pub(crate) fn skew(evidence: &Evidence) -> Micros {
    known_skew(evidence).unwrap_or(0)
}

/// How far the hub's clock is ahead of the runner's, if that is known.
pub(crate) fn known_skew(evidence: &Evidence) -> Option<Micros> {
    let told = evidence.header.clock_skew_ms?.saturating_mul(1000);
    (told.saturating_abs() <= BELIEVABLE).then_some(told)
}

/// The newest time in managedFields that the version before lacks. The write that made the version was no
/// earlier.
pub(crate) fn new_stamp<'a, T: Tracked>(before: Option<&T>, after: &'a T) -> Option<&'a str> {
    let old = before.and_then(|before| before.metadata().writers.as_deref());
    let old = old.unwrap_or_default();
    let writers = after.metadata().writers.as_deref().unwrap_or_default();
    let times = writers.iter().filter_map(|writer| writer.time.as_deref());
    // The hub writes all of them in UTC to the second, so text order is time order.
    times
        .filter(|time| !old.iter().any(|writer| writer.time.as_deref() == Some(*time)))
        .max()
}

/// The earliest moment at which a version can have been written by what the hub stamped.
pub(crate) fn stamp_of<T: Tracked>(clock: HubClock, before: Option<&T>, after: &T) -> Option<Micros> {
    let created = || after.metadata().creation_timestamp.as_deref();
    let written = new_stamp(before, after).and_then(|stamp| clock.earliest(stamp));
    match before {
        Some(_) => written,
        None => written.max(created().and_then(|stamp| clock.earliest(stamp))),
    }
}
