//! What the evidence shows of objects over time, and how long something was so.
//!
//! A watch reports a change at most [`LATE`](crate::time::LATE) after the API server made it, unless the watch was
//! interrupted. A list shows the hub at one moment. So each change has an [`Edge`], and each gap is unobserved time.
//! [`Timeline`] keeps both, [`Intervals`] answers how long a violation lasted, and [`Certainty`] says whether that is
//! known.
//!
//! A timeline of a group assumes in addition that no object of the group came and went within one gap.

use evidence::{Evidence, History, Reason, Tracked, Version};
use jiff::Timestamp;

mod build;
mod intervals;
#[cfg(test)]
pub(crate) mod laws;

use self::build::Build;
pub(crate) use self::intervals::Intervals;
use crate::time::{Edge, Micros, Set};

/// Whether something is so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Certainty {
    /// It is so, whatever the evidence misses.
    Yes,
    /// It is not so, whatever the evidence misses.
    No,
    /// The evidence decides neither, for this reason.
    Unknown(Reason),
}

/// All versions of the objects that had one namespace and name, or of all objects of a group, in the order of the hub.
pub(crate) struct Timeline<'e, T> {
    /// In order. Each lasts until the next one begins.
    moments: Vec<Moment<'e, T>>,
    changes: Vec<ObservedChange<'e, T>>,
    /// The time before the first list, in gaps, and between changes of unknown order.
    unobserved: Set,
    /// When the run stopped watching these objects.
    end: Micros,
    /// The end of the window, if the run watched longer to see what becomes of open violations.
    window_end: Option<Micros>,
    is_watched: bool,
    /// If it ends with the run's first write: when the last moment before that ended.
    cut: Option<Edge>,
}

/// The time between two changes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Moment<'e, T> {
    /// When it began.
    pub(crate) since: Edge,
    /// When the run saw it begin.
    pub(crate) seen_at: Micros,
    /// The objects; none while unobserved.
    objects: Option<Vec<&'e Version<T>>>,
}

/// A creation, an update, or a deletion.
#[derive(Clone, Debug)]
pub(crate) struct ObservedChange<'e, T> {
    /// The object.
    pub(crate) history: &'e History<T>,
    /// None for a creation.
    pub(crate) before: Option<&'e Version<T>>,
    /// None for a deletion.
    pub(crate) after: Option<&'e Version<T>>,
    /// When the API server made it.
    pub(crate) at: Edge,
    /// When the run saw it.
    pub(crate) seen_at: Micros,
    /// Whether the watch was interrupted meanwhile, so that several writes may look like one.
    pub(crate) is_over_gap: bool,
    /// The place of the moment that it began.
    pub(crate) place: usize,
}

impl<T> Moment<'_, T> {
    /// Whether the run knows which objects existed.
    pub(crate) fn is_observed(&self) -> bool {
        self.objects.is_some()
    }
}

impl<'e, T: Tracked> Timeline<'e, T> {
    /// The timeline of one namespace and name, by at least one object that had it.
    ///
    /// # Panics
    /// Without any object: see [`Timeline::of_key`].
    pub(crate) fn of_name(evidence: &'e Evidence, histories: &[&'e History<T>]) -> Self {
        let metadata = histories[0].first().metadata();
        Self::of_key(evidence, (&metadata.namespace, &metadata.name), histories)
    }

    /// The timeline of one namespace and name, by the objects that had it, if any.
    pub(crate) fn of_key(
        evidence: &'e Evidence,
        name: (&'e str, &'e str),
        histories: &[&'e History<T>],
    ) -> Self {
        Build::new(evidence, &[name], histories, |_, _| false).build(false)
    }

    /// The timeline of a group of objects, without the updates between versions that a rule sees as the same. What came
    /// after the window is found by the names of these objects.
    pub(crate) fn of_group(
        evidence: &'e Evidence,
        histories: &[&'e History<T>],
        is_same: fn(&T, &T) -> bool,
    ) -> Self {
        let names = histories.iter().map(|history| {
            let metadata = history.first().metadata();
            (&*metadata.namespace, &*metadata.name)
        });
        let names: Vec<(&str, &str)> = names.collect();
        Build::new(evidence, &names, histories, is_same).build(true)
    }

    /// The timeline up to the run's first write to the object. What is open then is not open, but over.
    pub(crate) fn until(mut self, first_touch: Micros) -> Self {
        if first_touch >= self.end {
            return self;
        }
        let moments = &self.moments;
        let count = moments.partition_point(|moment| moment.seen_at < first_touch);
        // A change from before the first write may have been reported after it.
        let next = moments.get(count).map_or(first_touch, |next| next.since.earliest);
        self.cut = Some(Edge::between(next, first_touch));
        self.moments.truncate(count);
        self.changes.retain(|change| change.place < count);
        self.unobserved = self.unobserved.until(first_touch);
        self.end = first_touch;
        self.window_end = self.window_end.filter(|window_end| *window_end < first_touch);
        self
    }

    /// The moments, in order. The first one is unobserved, unless the evidence is a dump or a single list.
    pub(crate) fn moments(&self) -> &[Moment<'e, T>] {
        &self.moments
    }

    /// How many moments may have begun by the end of the window.
    pub(crate) fn count_begun(&self) -> usize {
        let window_end = self.window_end.unwrap_or(Micros::MAX);
        self.moments
            .partition_point(|moment| moment.since.earliest <= window_end)
    }

    /// The objects of a moment; none while unobserved.
    pub(crate) fn objects(&self, place: usize) -> Option<&[&'e Version<T>]> {
        self.moments[place].objects.as_deref()
    }

    /// The version of a moment, in the timeline of a name.
    pub(crate) fn version(&self, place: usize) -> Option<&'e Version<T>> {
        self.objects(place)?.first().copied()
    }

    /// The object of a moment, in the timeline of a name.
    pub(crate) fn object(&self, place: usize) -> Option<&'e T> {
        self.version(place).map(|version| &version.object)
    }

    /// Whether the objects were watched. If not, the evidence is a dump or a single list.
    pub(crate) fn is_watched(&self) -> bool {
        self.is_watched
    }

    /// When the run stopped watching these objects; never for a dump.
    pub(crate) fn end(&self) -> Micros {
        self.end
    }

    /// How messages say that the run stopped watching.
    pub(crate) fn end_in_words(&self) -> &'static str {
        match self.window_end {
            Some(_) => ", when the run ended",
            None => ", when the window ended",
        }
    }

    /// The changes up to the end of the window. An object that appears after a gap was created unobserved.
    pub(crate) fn changes(&self) -> impl Iterator<Item = ObservedChange<'e, T>> {
        let window_end = self.window_end.unwrap_or(Micros::MAX);
        let changes = self.changes.iter().cloned();
        changes.filter(move |change| change.seen_at <= window_end)
    }

    /// All changes, also those after the window.
    pub(crate) fn all_changes(&self) -> impl Iterator<Item = ObservedChange<'e, T>> {
        self.changes.iter().cloned()
    }

    /// The change to a version of an object with which a moment began.
    pub(crate) fn change_to(&self, place: usize, version: &Version<T>) -> Option<ObservedChange<'e, T>> {
        let first = self.changes.partition_point(|change| change.place < place);
        let matches =
            |change: &&ObservedChange<T>| change.after.is_some_and(|after| std::ptr::eq(after, version));
        self.changes[first..].iter().find(matches).cloned()
    }

    /// Since when the object of a moment has had its value. Equal values on both sides of a gap may be the same one.
    pub(crate) fn value_since<V: PartialEq>(&self, place: usize, value: impl Fn(&'e T) -> V) -> Edge {
        let mut since = self.moments[place].since;
        let Some(object) = self.object(place) else {
            return since;
        };
        let current = value(object);
        let mut is_over_gap = false;
        for earlier in (0..place).rev() {
            if !self.moments[earlier].is_observed() {
                is_over_gap = true;
                continue;
            }
            if self.object(earlier).is_none_or(|object| value(object) != current) {
                break;
            }
            let begins = self.moments[earlier].since;
            since = if is_over_gap { since.or(begins) } else { begins };
        }
        since
    }

    /// When something was so. `holds` is asked once for each observed moment, by its place.
    pub(crate) fn intervals(&self, holds: impl Fn(usize) -> bool) -> Intervals {
        Intervals::of(self, holds)
    }

    /// When a moment began. The one after the last begins some time after the run stopped watching.
    fn edge(&self, place: usize) -> Edge {
        let after = self.cut.unwrap_or(Edge::between(self.end, Micros::MAX));
        self.moments.get(place).map_or(after, |moment| moment.since)
    }
}

/// The reason if the watch did not cover a time.
pub(super) const UNOBSERVED: Reason = Reason::unknown("the object was not watched at that time");

/// The reason if a time is after the end.
pub(super) const ENDED: Reason = Reason::unknown("the run stopped watching before that time");

/// The reason if a change may have been made before or after a time.
pub(super) const REPORTED_LATE: Reason = Reason::unknown(
    "a watch reports a change up to 10 s late: whether the object changed before that time is unknown",
);

impl<'e, T: Tracked> Timeline<'e, T> {
    /// What the object may have been at some moment of a closed span, in order; `None` means that it did not exist.
    ///
    /// # Errors
    /// The reason why the evidence does not cover the span.
    pub(crate) fn during(&self, from: Micros, until: Micros) -> Result<Vec<Option<&'e Version<T>>>, Reason> {
        if until > self.end {
            return Err(ENDED);
        }
        let moments = &self.moments;
        let first = moments[1..].partition_point(|next| next.since.latest <= from);
        let last = moments.partition_point(|moment| moment.since.earliest <= until);
        let places = first..last.max(first + 1);
        if places.clone().any(|place| !self.moments[place].is_observed()) {
            return Err(UNOBSERVED);
        }
        Ok(places.map(|place| self.version(place)).collect())
    }

    /// What the object may have been at a moment, or at the end for a later moment; none if it was absent.
    ///
    /// # Errors
    /// The reason why the evidence does not cover the moment.
    pub(crate) fn at(&self, moment: Timestamp) -> Result<Vec<&'e T>, Reason> {
        let moment = moment.as_microsecond().min(self.end);
        let versions = self.during(moment, moment)?.into_iter().flatten();
        Ok(versions.map(|version| &version.object).collect())
    }

    /// Whether the object was as expected by a deadline; `None` means that it did not exist.
    ///
    /// Yes: it was so when last seen by then, so it became so in time. No: it was not so at the deadline.
    pub(crate) fn by(&self, deadline: Micros, expected: impl Fn(Option<&'e T>) -> bool) -> Certainty {
        let is_expected = |place: usize| {
            let is_observed = self.moments[place].is_observed();
            is_observed.then(|| expected(self.object(place)))
        };
        let seen_count = self.moments.partition_point(|moment| moment.seen_at <= deadline);
        let last = seen_count.saturating_sub(1);
        if is_expected(last) == Some(true) {
            return Certainty::Yes;
        }
        let moments = &self.moments;
        let begun_count = moments.partition_point(|moment| moment.since.earliest <= deadline);
        let candidates: Vec<Option<bool>> = (last..begun_count.max(seen_count)).map(is_expected).collect();
        if candidates.contains(&None) {
            Certainty::Unknown(UNOBSERVED)
        } else if candidates.contains(&Some(true)) {
            Certainty::Unknown(REPORTED_LATE)
        } else if deadline > self.end {
            Certainty::Unknown(ENDED)
        } else {
            Certainty::No
        }
    }
}
