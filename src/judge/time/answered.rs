//! Whether an object was as it should be when the time for an answer was over, and what was missed of that time.

use std::collections::BTreeSet;

use evidence::{Evidence, Tracked};
use jiff::{SignedDuration, Timestamp};

use super::{Known, LATE, Micros, Seen, Timeline, Why, gaps::earliest};

impl<'e, T: Tracked> Timeline<'e, T> {
    /// Whether the object was last as it should be by a moment; none stands for its absence, also before its first life.
    ///
    /// Yes: it was so when the runner saw it last, so that it had come to be so in time: at some moment no more than [`LATE`]
    /// before. What came later may answer the next step, so that it takes nothing away. No: it was not so at that moment.
    pub(crate) fn last_by(&self, moment: Micros, holds: impl Fn(Option<&'e T>) -> bool) -> Known {
        let runs = self.runs();
        let last = runs
            .iter()
            .rposition(|run| run.seen_at <= moment)
            .unwrap_or_default();
        let state = |place: usize| match &runs[place].seen {
            Seen::Version(version) => Some(Some(&version.object)),
            Seen::Absence => Some(None),
            // Only a first list shows what may have been there before.
            Seen::Nothing if place == 0 => (runs.get(1)?.from.earliest > Micros::MIN).then_some(None),
            Seen::Nothing => None,
        };
        let is_lost = self.gaps.lose(moment);
        // In a gap, an object that is absent on both sides may come and go.
        let known = state(last).filter(|object| object.is_some() || !is_lost);
        if known.is_some_and(&holds) {
            return Known::Yes;
        }
        let mut whys = BTreeSet::new();
        if known.is_none() {
            whys.insert(Why::Gap);
        }
        for (place, run) in runs.iter().enumerate().skip(last + 1) {
            // A stamp from long before its arrival shows that the watch was later than it may be, or that a clock was set.
            let may_be_older = run.stamp.is_some_and(|stamp| stamp <= moment);
            if run.from.earliest > moment && !may_be_older {
                continue;
            }
            match state(place) {
                None => _ = whys.insert(Why::Gap),
                Some(object) if holds(object) => _ = whys.insert(Why::Late),
                Some(_) => {}
            }
        }
        if whys.is_empty() {
            Known::No
        } else {
            Known::Unknown(whys)
        }
    }
}

impl<'e, T: Tracked> Timeline<'e, T> {
    /// What may have been there at some moment of a closed span; a version is told only after it was written.
    pub(crate) fn seen_around(&self, from: Micros, until: Micros) -> impl Iterator<Item = &Seen<'e, T>> {
        let told = until.saturating_add(LATE);
        self.during(from, told).map(|(seen, _)| seen)
    }
}

/// When a watch has told all that was written by a moment.
pub(crate) fn told_by(moment: Timestamp) -> Timestamp {
    let late = SignedDuration::from_micros(LATE);
    moment.saturating_add(late).unwrap_or(Timestamp::MAX)
}

/// Whether a watch may have lost something between the version of an object that arrived at that time and the one before it:
/// it arrived in a gap, or with the list that ended one. An earlier gap hid nothing, as its list showed the version before.
pub(crate) fn is_after_gap<T: Tracked>(
    evidence: &Evidence,
    object: (&str, &str),
    arrival: Timestamp,
) -> bool {
    missed::<T>(evidence, Some(object), arrival, arrival).is_some()
}

/// From when on nobody watched the objects of a kind in a closed span, if so; or one of them, by namespace and name.
pub(crate) fn missed<T: Tracked>(
    evidence: &Evidence,
    object: Option<(&str, &str)>,
    from: Timestamp,
    until: Timestamp,
) -> Option<Timestamp> {
    let first = match object {
        Some(object) => earliest(evidence, T::WATCHED, object, from.as_microsecond()),
        None => evidence.gaps.times(T::WATCHED).earliest(from.as_microsecond()),
    };
    let begins = first.filter(|start| *start <= until.as_microsecond());
    begins.map(|start| Timestamp::from_microsecond(start).map_or(from, |start| start.max(from)))
}
