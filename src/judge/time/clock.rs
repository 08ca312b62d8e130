//! The hub's clock, the run's window, and the gaps in its watches and in the audit log.

use std::borrow::Cow;

use evidence::{Evidence, Gap, Kind, ObjectRef, Request, Requested, Requests, Tracked, parse_time};
use jiff::{SignedDuration, Timestamp};

use super::{Edge, LATE, Micros, SECOND, Set};

/// A larger skew is not believed: the `Date` of the hub's answers is wrong, or was set by something in between.
const BELIEVABLE: Micros = 86_400 * SECOND;

/// How far a measured skew may be from the true one: `Date` has whole seconds.
const SKEW_ERROR: Micros = SECOND;

/// How far the clocks of two API servers of one hub may be apart without a stamp that shows it.
pub(crate) const SERVERS_APART: Micros = 2 * SECOND;

/// How far clocks that were not compared may be apart: 5 min.
pub(crate) const CLOCKS_APART: Micros = 300 * SECOND;

/// What is known of the hub's clock.
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
    let skew = evidence.header.clock_skew_ms?.saturating_mul(1000);
    (skew.saturating_abs() <= BELIEVABLE).then_some(skew)
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
    let stamped = new_stamp(before, after).and_then(|stamp| clock.earliest(stamp));
    match before {
        Some(_) => stamped,
        None => stamped.max(created().and_then(|stamp| clock.earliest(stamp))),
    }
}

/// The end of the window; none for a dump.
pub(crate) fn end(evidence: &Evidence) -> Option<Micros> {
    evidence.header.window.map(|window| window.until.as_microsecond())
}

/// The moment as a timestamp; the first or the last one for a moment beyond.
pub(crate) fn timestamp(at: Micros) -> Timestamp {
    let beyond = if at < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_microsecond(at).unwrap_or(beyond)
}

/// Whether the run watched the objects of a kind. A dump and a single list have no history.
pub(crate) fn is_watched<T: Tracked>(evidence: &Evidence) -> bool {
    evidence.header.window.is_some() && matches!(evidence.requested(T::WATCHED), Requested::Yes)
}

/// The gaps in the watch of one object, or of any of several: spans in order and apart from each other. Objects without a gap of
/// their own share those of all.
#[derive(Clone, Default)]
pub(crate) struct WatchGaps<'e>(Cow<'e, [(Micros, Micros)]>);

impl<'e> WatchGaps<'e> {
    /// The gaps in the watch of any of these objects, in the window and after it.
    pub(crate) fn of<'n, T: Tracked>(
        evidence: &'e Evidence,
        mut objects: impl Iterator<Item = (&'n str, &'n str)> + Clone,
    ) -> Self {
        let all = objects.clone();
        let has_own = |(namespace, name)| {
            let mut own_gaps = evidence.gaps.of_object(T::WATCHED, namespace, name);
            own_gaps.next().is_some()
        };
        if evidence.later.gaps.is_empty() && !objects.any(has_own) {
            return Self(Cow::Borrowed(evidence.gaps.times_of_all(T::WATCHED).union()));
        }
        let gaps = all.flat_map(|(namespace, name)| {
            let later = evidence.later.gaps.concerning(T::WATCHED, namespace, name);
            evidence.gaps.concerning(T::WATCHED, namespace, name).chain(later)
        });
        Self(Cow::Owned(Set::of(gaps.map(Gap::span)).spans().to_vec()))
    }

    /// The gap that began before a moment and ends there or later.
    pub(crate) fn before(&self, moment: Micros) -> Option<(Micros, Micros)> {
        let first = self.0.partition_point(|(_, until)| *until < moment);
        let gap = self.0.get(first).copied();
        gap.filter(|(from, _)| *from < moment)
    }

    /// The gaps that end in a closed span.
    pub(crate) fn ending_in(&self, since: Micros, until: Micros) -> &[(Micros, Micros)] {
        let first = self.0.partition_point(|gap| gap.1 < since);
        let last = self.0.partition_point(|gap| gap.1 <= until).max(first);
        &self.0[first..last]
    }
}

/// By when a watch has reported all that was written up to a moment.
pub(crate) fn reported_by(moment: Timestamp) -> Micros {
    moment.as_microsecond().saturating_add(LATE)
}

/// From when on the run did not watch the objects of a kind in a closed span, if so; or one of them, by namespace and name.
pub(crate) fn missed<T: Tracked>(
    evidence: &Evidence,
    object: Option<(&str, &str)>,
    from: Micros,
    until: Micros,
) -> Option<Micros> {
    let first = match object {
        Some((namespace, name)) => {
            let gaps = evidence.gaps.of_object(T::WATCHED, namespace, name);
            let gaps = gaps.map(Gap::span).filter(|(_, until)| *until >= from);
            let of_all = evidence.gaps.times_of_all(T::WATCHED).earliest(from);
            gaps.map(|(from, _)| from).chain(of_all).min()
        }
        None => evidence.gaps.times(T::WATCHED).earliest(from),
    };
    let begins = first.filter(|start| *start <= until)?;
    Some(begins.max(from))
}

/// Why evidence of an object is missing, if the run recorded that.
pub(crate) fn why_missed<'e>(evidence: &'e Evidence, kind: Kind, object: &ObjectRef) -> Option<&'e str> {
    let mut gaps = evidence.gaps.of_object(kind, &object.namespace, &object.name);
    gaps.next().map(|gap| &*gap.reason)
}

/// Whether a log is complete from some time before a request until the same time after it.
pub(crate) fn is_logged_around(
    evidence: &Evidence,
    log: &Requests,
    request: &Request,
    time: SignedDuration,
) -> bool {
    let at = request.at.as_microsecond();
    let time = SECOND * time.as_secs();
    let (from, until) = (at.saturating_sub(time), at.saturating_add(time));
    let [begins, ends] = [log.covers.from, log.covers.until].map(|at| at.as_microsecond());
    begins <= from && until <= ends && !is_log_broken(evidence, from, until)
}

/// Whether a log has a gap in a closed span, in which any client may have written.
pub(crate) fn is_log_broken(evidence: &Evidence, from: Micros, until: Micros) -> bool {
    let first = evidence.gaps.times(Kind::Requests).earliest(from);
    first.is_some_and(|start| start <= until)
}
