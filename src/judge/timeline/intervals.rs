//! When something was so, and for how long.

use evidence::Tracked;

use super::{Certainty, REPORTED_LATE, Timeline, UNOBSERVED};
use crate::{
    subjects::Length,
    time::{LATE, Micros, Set, Stretch},
};

/// When something was so, by what the evidence shows and by what it misses.
#[derive(Clone, Debug)]
pub(crate) struct Intervals {
    /// When it was so, whatever the evidence misses.
    pub(super) observed: Set,
    /// When it may have been so, which unobserved time always allows.
    pub(super) possible: Set,
    unobserved: Set,
    /// From the arrival of the change that began it to the arrival of the change that ended it, for messages.
    arrival_spans: Vec<(Micros, Micros)>,
    /// From when on it counts.
    pub(super) counts_from: Micros,
    /// When the run stopped watching, or saw it end after the window.
    end: Micros,
    /// Whether it was still so when last seen, or is not known.
    goes_on: bool,
    /// Whether it was first seen after the window: it may have begun before the end of the window or after it.
    begins_late: bool,
}

impl Intervals {
    pub(super) fn of<T: Tracked>(timeline: &Timeline<'_, T>, holds: impl Fn(usize) -> bool) -> Self {
        let moments = timeline.moments.iter().enumerate();
        let by_place = moments.map(|(place, moment)| moment.is_observed().then(|| holds(place)));
        let mut by_place: Vec<Option<bool>> = by_place.collect();
        by_place.truncate(count_relevant(timeline, &by_place));
        let window_end = timeline.window_end.unwrap_or(Micros::MAX);
        let seen_at = |place: usize| {
            let moment = timeline.moments.get(place);
            moment.map_or(timeline.end, |moment| moment.seen_at)
        };
        let last = by_place.last().copied().flatten();
        let last_change = by_place.iter().rposition(|holds| *holds != last);
        let last_begins = last_change.map_or(0, |place| place + 1);
        let begins_late = last == Some(true) && seen_at(last_begins) > window_end;
        // When it was over, if that was seen after the window, and else when the run stopped watching for it.
        let end = if last == Some(false) || begins_late {
            timeline.window_end.unwrap_or(timeline.end)
        } else {
            seen_at(by_place.len())
        };
        let mut places = by_place.iter().enumerate();
        let first = places.find_map(|(place, holds)| Some((place, (*holds)?)));
        let (mut observed, mut possible, mut arrival_spans) = (Vec::new(), Vec::new(), Vec::new());
        let mut until = 0;
        for run in by_place.chunk_by(|one, next| one == next) {
            let from = until;
            until += run.len();
            if run[0] != Some(true) {
                continue;
            }
            let (since, stop) = (timeline.edge(from), timeline.edge(until));
            possible.push((since.earliest, stop.latest));
            if seen_at(from) > window_end {
                continue;
            }
            observed.push((since.latest, stop.earliest));
            let is_first = first.is_some_and(|(place, _)| place == from);
            let begins = if is_first { since.latest } else { Micros::MAX };
            arrival_spans.push((seen_at(from).min(begins), seen_at(until).min(end)));
        }
        let is_last = by_place.len() == timeline.moments.len();
        let goes_on = timeline.cut.is_none() && is_last && last != Some(false);
        let unobserved = timeline.unobserved.until(end);
        if goes_on && last.is_none() {
            possible.push((end, Micros::MAX));
        }
        possible.extend(unobserved.spans());
        Self {
            observed: Set::of(observed),
            possible: Set::of(possible),
            unobserved,
            arrival_spans,
            counts_from: counts_from(timeline, first),
            end,
            goes_on,
            begins_late,
        }
    }

    /// Whether it lasted for longer than `grace`. Intervals that recur soon add up: see [`Set::lasts`].
    pub(crate) fn longer_than(&self, grace: Micros) -> Certainty {
        if self.reported().lasts(grace) {
            return Certainty::Yes;
        }
        let relevant = self.possible.and(&Set::of([(self.counts_from, Micros::MAX)]));
        if !relevant.lasts(grace) {
            return Certainty::No;
        }
        let grace_in_words = Length(grace);
        let is_watched_alone_enough = relevant.and(&self.unobserved.not()).lasts(grace);
        let words = if !self.begins_late && !relevant.until(self.end).lasts(grace) {
            format!(
                "too early to tell: a violation at the end is not older than the grace period of {grace_in_words}"
            )
        } else if self.begins_late || is_watched_alone_enough {
            format!(
                "a watch may report a change up to 10 s late: whether a violation lasted for longer than the grace \
                 period of {grace_in_words} is unknown"
            )
        } else {
            format!(
                "a violation may have lasted for longer than the grace period of {grace_in_words} before the run \
                 began, or while the watch was interrupted"
            )
        };
        Certainty::Unknown(words.into())
    }

    /// When it was so, without the last 10 s of a watch if it was so until then: a later change may not be reported yet.
    fn reported(&self) -> Set {
        if self.is_open() {
            self.observed.until(self.end.saturating_sub(LATE))
        } else {
            self.observed.clone()
        }
    }

    /// Whether it was so throughout the last time of that length before the end.
    pub(crate) fn throughout_the_last(&self, length: Micros) -> Certainty {
        let last = Set::of([(self.end.saturating_sub(length), self.end)]);
        if self.observed.and(&last) == last {
            Certainty::Yes
        } else if self.possible.and(&last) != last {
            Certainty::No
        } else if self.unobserved.and(&last).is_empty() {
            Certainty::Unknown(REPORTED_LATE)
        } else {
            Certainty::Unknown(UNOBSERVED)
        }
    }

    /// The part between two moments. Time after the end is unobserved.
    pub(super) fn within(&self, from: Micros, until: Micros) -> Self {
        let after = Set::of([(self.end.max(from), until)]);
        let all = Self {
            possible: self.possible.or(&after),
            unobserved: self.unobserved.or(&after),
            ..self.clone()
        };
        Self {
            counts_from: from,
            end: self.end.min(until),
            ..all.during(&Set::of([(from, until)]))
        }
    }

    /// The part from a moment until another one, or from that moment on.
    pub(crate) fn between(&self, from: Micros, until: Option<Micros>) -> Self {
        if let Some(until) = until {
            return self.within(from, until);
        }
        Self {
            counts_from: self.counts_from.max(from),
            ..self.during(&Set::of([(from, Micros::MAX)]))
        }
    }

    /// The intervals if nothing is known of the time before a moment, for example the arrival of the first list.
    pub(crate) fn unknown_before(self, moment: Micros) -> Self {
        let before = Set::of([(Micros::MIN, moment)]);
        Self {
            observed: self.observed.and(&before.not()),
            unobserved: self.unobserved.or(&before),
            possible: self.possible.or(&before),
            arrival_spans: self.arrival_spans_in(&before.not()),
            ..self
        }
    }

    /// When both were so. Changes of one and of the other have no common order.
    pub(crate) fn and(&self, other: &Self) -> Self {
        Self {
            observed: self.observed.and(&other.observed),
            possible: self.possible.and(&other.possible),
            unobserved: self.unobserved.or(&other.unobserved),
            arrival_spans: self.arrival_spans_in(&Set::of(other.arrival_spans.iter().copied())),
            counts_from: self.counts_from.max(other.counts_from),
            end: self.end.min(other.end),
            goes_on: self.goes_on && other.goes_on,
            begins_late: self.begins_late || other.begins_late,
        }
    }

    pub(crate) fn during(&self, time: &Set) -> Self {
        Self {
            observed: self.observed.and(time),
            possible: self.possible.and(time),
            unobserved: self.unobserved.and(time),
            arrival_spans: self.arrival_spans_in(time),
            counts_from: self.counts_from,
            end: self.end,
            begins_late: self.begins_late,
            goes_on: self.goes_on && time.spans().last().is_some_and(|last| last.1 > self.end),
        }
    }

    /// When it may have been so, with all pauses that are shorter than `pause`.
    pub(crate) fn possible_with_pauses(&self, pause: Micros) -> Set {
        let spans = self.possible.spans().iter();
        Set::of(spans.map(|(from, until)| (*from, until.saturating_add(pause))))
    }

    /// Whether it was so at the end of the window and still when last seen, or is not known.
    pub(crate) fn is_open(&self) -> bool {
        self.goes_on && !self.begins_late
    }

    /// Whether it may end if the run watches on.
    pub(crate) fn goes_on(&self) -> bool {
        self.goes_on
    }

    /// Each from the arrival of the change that began it to the arrival of the change that ended it.
    pub(crate) fn arrival_spans(&self) -> &[(Micros, Micros)] {
        &self.arrival_spans
    }

    fn arrival_spans_in(&self, time: &Set) -> Vec<(Micros, Micros)> {
        Set::of(self.arrival_spans.iter().copied())
            .and(time)
            .spans()
            .to_vec()
    }

    /// The stretches that lasted for longer than `grace`, as the run saw them.
    pub(crate) fn stretches(&self, grace: Micros) -> Vec<Stretch> {
        let arrival_spans = Set::of(self.arrival_spans.iter().copied());
        let mut stretches = self.observed.stretches(grace);
        for stretch in &mut stretches {
            let last = arrival_spans
                .spans()
                .iter()
                .find(|(_, until)| *until >= stretch.until);
            stretch.until = last.map_or(stretch.until, |(_, until)| *until);
            let within = arrival_spans.and(&Set::of([(stretch.from, stretch.until)]));
            stretch.total = within.length();
            stretch.times = within.spans().len();
        }
        stretches
    }
}

/// How many moments count, by whether something was so in each: those of the window, and those until it was over if it may
/// have been so at the end of the window.
fn count_relevant<T: Tracked>(timeline: &Timeline<'_, T>, by_place: &[Option<bool>]) -> usize {
    let count = by_place.len();
    let Some(window_end) = timeline.window_end else {
        return count;
    };
    let in_window = timeline
        .moments
        .partition_point(|moment| moment.seen_at <= window_end);
    let begun = timeline.count_begun();
    let is_over = |place: &usize| by_place[*place] == Some(false);
    let mut at_end = in_window.saturating_sub(1)..begun;
    match at_end.rfind(|place| !is_over(place)) {
        Some(last) => (last..count).find(is_over).unwrap_or(count),
        None => in_window,
    }
}

/// From when on something counts. What the first list shows may be older, what it does not show is over.
fn counts_from<T: Tracked>(timeline: &Timeline<'_, T>, first: Option<(usize, bool)>) -> Micros {
    match first {
        Some((place, true)) => timeline.edge(place).earliest,
        Some((place, false)) => timeline.edge(place).latest,
        None if timeline.cut.is_some() => timeline.end,
        None => Micros::MIN,
    }
}
