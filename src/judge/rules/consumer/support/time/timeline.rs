//! What an object was over time.

use evidence::{Asked, Evidence, History, Origin, Tracked, Version};

use super::While;
use crate::time::{Edge, Gaps, HubClock, LATE, Micros, Set, put_in_order, stamp_of};

/// What was seen of an object, run by run. One object is one namespace and name, so that it may be deleted and made again.
pub(crate) struct Timeline<'e, T> {
    /// In order. Where one ends, the next begins; the last one goes on after the end.
    runs: Vec<Run<'e, T>>,
    /// The time in which nobody saw the object.
    hidden: Set,
    /// When the runner stopped looking.
    end: Micros,
    /// When the window ended, if the runner looked on for this object.
    window_end: Option<Micros>,
}

/// A run of one state.
pub(crate) struct Run<'e, T> {
    /// When it began.
    pub(crate) from: Edge,
    /// When the runner saw it begin, for reports.
    pub(crate) seen_at: Micros,
    /// The state.
    pub(crate) seen: Seen<'e, T>,
}

/// What was seen of an object.
pub(crate) enum Seen<'e, T> {
    /// Nobody looked.
    Nothing,
    /// There was no such object.
    Absence,
    /// This version.
    Version(&'e Version<T>),
}

// Derived, they would ask the same of the object.
impl<T> Clone for Run<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Run<'_, T> {}

impl<'e, T> Run<'e, T> {
    /// The version that was seen, if any.
    pub(crate) fn version(&self) -> Option<&'e T> {
        match self.seen {
            Seen::Version(version) => Some(&version.object),
            Seen::Nothing | Seen::Absence => None,
        }
    }
}

impl<T> Clone for Seen<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Seen<'_, T> {}

/// The spans in which something held, surely, possibly and as reports tell.
#[derive(Default)]
struct Spans {
    sure: Vec<(Micros, Micros)>,
    possible: Vec<(Micros, Micros)>,
    told: Vec<(Micros, Micros)>,
}

impl Spans {
    fn push<T>(&mut self, first: &Run<'_, T>, stop: Edge, seen_at: Micros) {
        self.sure.push((first.from.latest, stop.earliest));
        self.possible.push((first.from.earliest, stop.latest));
        self.told.push((first.seen_at, seen_at));
    }
}

/// The span of a run: some moment of its edge to some moment of the next one's.
struct Span {
    /// As the runner saw it.
    told: (Micros, Micros),
}

/// The runs of a timeline while they are found.
struct Builder<'e, T> {
    runs: Vec<Run<'e, T>>,
    hidden: Vec<(Micros, Micros)>,
    gaps: Gaps<'e>,
    /// The arrival of the last change.
    arrived: Micros,
}

impl<'e, T: Tracked> Timeline<'e, T> {
    /// The timeline of one object by its lives.
    pub(crate) fn of(evidence: &'e Evidence, lives: &[&'e History<T>]) -> Self {
        Self::since(evidence, lives, false)
    }

    /// The same for what compares objects that come and go: one that the watch saw created was not there before, as far as the
    /// watch goes back.
    pub(crate) fn with_absence_before(evidence: &'e Evidence, lives: &[&'e History<T>]) -> Self {
        Self::since(evidence, lives, true)
    }

    fn since(evidence: &'e Evidence, lives: &[&'e History<T>], with_absence: bool) -> Self {
        let mut lives = lives.to_vec();
        lives.sort_by_key(|life| life.versions[0].received());
        let metadata = lives[0].first().metadata();
        let (namespace, name) = (&*metadata.namespace, &*metadata.name);
        let window = evidence.header.window;
        let window = window.filter(|_| matches!(evidence.asked(T::WATCHED), Asked::Yes));
        let clock = HubClock::of(evidence);
        let clock = clock.unless_contradicted(stamps(clock, &lives));
        let later: &[History<T>] = match window {
            Some(_) => evidence.later_of(namespace, name),
            None => &[],
        };
        let gaps = match window {
            Some(_) => Gaps::of::<T>(evidence, namespace, name),
            None => Gaps::default(),
        };
        let watched_from = window.filter(|_| with_absence && lives[0].origin == Origin::Created);
        let before = if watched_from.is_some() {
            Seen::Absence
        } else {
            Seen::Nothing
        };
        let mut builder = Builder {
            runs: vec![Run {
                from: Edge::at(Micros::MIN),
                seen_at: Micros::MIN,
                seen: before,
            }],
            hidden: Vec::new(),
            gaps,
            arrived: Micros::MIN,
        };
        for life in &lives {
            builder.life(clock, life, None);
        }
        let last = lives.last().filter(|life| life.deleted.is_none());
        for life in later {
            builder.life(clock, life, last.map(|last| last.last()));
        }
        let begins = builder.runs.get(1).map_or(Micros::MIN, |run| run.from.latest);
        let begins = watched_from.map_or(begins, |window| window.from.as_microsecond());
        builder.hidden.push((Micros::MIN, begins));
        let end = window.map_or(Micros::MAX, |window| window.until.as_microsecond());
        let was_awaited = window.is_some() && evidence.was_awaited::<T>(namespace, name);
        let settled = evidence.header.settled.filter(|_| was_awaited);
        let settled = settled.map(|settled| settled.until.as_microsecond());
        let window_end = settled.is_some_and(|settled| settled > end).then_some(end);
        let end = settled.unwrap_or(end).max(end);
        if window.is_some() {
            builder.unseen_to(end);
        } else {
            // A snapshot is judged as settled: what it shows was so, and remains so.
            builder.runs[1].from = Edge::at(Micros::MIN);
            builder.runs[1].seen_at = Micros::MIN;
            builder.hidden.clear();
        }
        put_in_order(builder.runs.iter_mut().map(|run| &mut run.from));
        Self {
            runs: builder.runs,
            hidden: Set::of(builder.hidden),
            end,
            window_end,
        }
    }

    /// The runs, in order.
    pub(crate) fn runs(&self) -> &[Run<'e, T>] {
        &self.runs
    }

    /// The steps from each version to the next one of the same life, with the time in which that was written. Several writes in
    /// a gap are one step. What was written after the window is none: it counts for nothing.
    pub(crate) fn steps(&self) -> impl Iterator<Item = (&'e Version<T>, &'e Version<T>, Edge)> {
        let window_end = self.window_end.unwrap_or(Micros::MAX);
        let of_window = self.runs.iter().filter(move |run| run.seen_at <= window_end);
        let versions = of_window.filter_map(|run| match &run.seen {
            Seen::Version(version) => Some((*version, run.from)),
            Seen::Nothing | Seen::Absence => None,
        });
        let next = versions.clone().skip(1);
        let steps = versions
            .zip(next)
            .map(|((before, _), (after, edge))| (before, after, edge));
        steps.filter(|(before, after, _)| before.object.metadata().uid == after.object.metadata().uid)
    }

    /// When the runner saw the object, or that there was none.
    pub(crate) fn seen(&self) -> Set {
        let runs = self.runs.iter().zip(self.spans());
        let seen = runs.filter(|(run, _)| !matches!(run.seen, Seen::Nothing));
        Set::of(seen.map(|(_, span)| span.told))
    }

    /// What may have been there at some moment of a closed span: each with the time of the span in which it surely was,
    /// which is empty if its first moment is not before its last. Time before the first life is left out, and so is what came
    /// and went in a gap while the object was absent on both sides.
    pub(crate) fn during(
        &self,
        from: Micros,
        until: Micros,
    ) -> impl Iterator<Item = (&Seen<'e, T>, (Micros, Micros))> {
        let first = self.runs[1..]
            .partition_point(|next| next.from.latest <= from)
            .max(1);
        let last = self.runs.partition_point(|run| run.from.earliest <= until);
        (first..last).map(move |place| {
            let run = &self.runs[place];
            let stop = self.runs.get(place + 1).map_or(self.after(), |next| next.from);
            let sure = (run.from.latest.max(from), stop.earliest.min(until));
            (&run.seen, sure)
        })
    }

    /// When something held of the object.
    pub(crate) fn while_(&self, holds: impl Fn(&'e T) -> bool) -> While {
        self.while_until(|version| if holds(version) { Micros::MAX } else { Micros::MIN })
    }

    /// When something held of the object that time alone may end: `until` says until when it holds of a version, at most.
    pub(crate) fn while_until(&self, until: impl Fn(&'e T) -> Micros) -> While {
        self.settled(self.held_until(until))
    }

    /// When there was no object, from its first life on.
    pub(crate) fn absent(&self) -> While {
        self.settled(self.held_until(|_| Micros::MAX).not())
    }

    /// What counts of it if the runner looked on.
    fn settled(&self, all: While) -> While {
        match self.window_end {
            Some(window_end) => all.settled(window_end, &self.seen()),
            None => all,
        }
    }

    /// The same, but all that was seen after the window counts.
    fn held_until(&self, until: impl Fn(&'e T) -> Micros) -> While {
        let mut found = Spans::default();
        let mut since: Option<&Run<'e, T>> = None;
        for (place, run) in self.runs.iter().enumerate() {
            let limit = match &run.seen {
                Seen::Version(version) => until(&version.object),
                Seen::Nothing | Seen::Absence => Micros::MIN,
            };
            if limit <= run.from.earliest {
                if let Some(first) = since.take() {
                    found.push(first, run.from, run.seen_at);
                }
                continue;
            }
            let first = *since.get_or_insert(run);
            let (stop, stop_seen_at) = match self.runs.get(place + 1) {
                Some(next) => (next.from, next.seen_at),
                None => (self.after(), self.end),
            };
            if place + 1 == self.runs.len() || limit < stop.latest {
                let stop = Edge {
                    earliest: stop.earliest.min(limit),
                    latest: stop.latest.min(limit),
                };
                found.push(first, stop, stop_seen_at.min(limit));
                since = None;
            }
        }
        While {
            is_open: self.is_open(&until),
            sure: Set::of(found.sure),
            possible: Set::of(found.possible),
            told: Set::of(found.told),
            hidden: self.hidden.clone(),
            end: self.end,
        }
    }

    /// The spans of the runs.
    fn spans(&self) -> Vec<Span> {
        let stops = self.runs.iter().skip(1).map(|run| run.seen_at);
        let runs = self.runs.iter().zip(stops.chain([self.end]));
        runs.map(|(run, stop)| Span {
            told: (run.seen_at, stop),
        })
        .collect()
    }

    /// The place of the run in which the object was last seen by then.
    fn last_seen(&self, by: Micros) -> Option<usize> {
        let mut runs = self.runs.iter();
        runs.rposition(|run| !matches!(run.seen, Seen::Nothing) && run.seen_at <= by)
    }

    /// Whether it held when the object was last seen, and no time has come that ended it.
    fn is_open(&self, until: impl Fn(&'e T) -> Micros) -> bool {
        let last = self.last_seen(Micros::MAX).map(|place| &self.runs[place].seen);
        matches!(last, Some(Seen::Version(version)) if until(&version.object) > self.end || self.end == Micros::MAX)
    }

    /// When the last run ends: some time after the runner stopped looking.
    fn after(&self) -> Edge {
        Edge {
            earliest: self.end,
            latest: Micros::MAX,
        }
    }
}

impl<'e, T: Tracked> Builder<'e, T> {
    /// Adds a life. It may go on with one that ended the window, `last` being its last version.
    fn life(&mut self, clock: HubClock, life: &'e History<T>, last: Option<&T>) {
        let uid = |object: &T| object.metadata().uid.clone();
        let last = last.filter(|last| uid(last) == uid(life.first()));
        for (place, version) in life.versions.iter().enumerate() {
            let before = life.before(place).or(last);
            let is_known =
                |last: &T| last.metadata().resource_version == version.object.metadata().resource_version;
            if place == 0 && last.is_some_and(is_known) {
                continue;
            }
            let arrival = version.received().as_microsecond();
            // A first list shows what was there before the runner looked, perhaps since another clock.
            let is_of_first_list = before.is_none() && life.origin == Origin::Listed;
            let (earliest, stamp) = if is_of_first_list {
                (Micros::MIN, None)
            } else {
                (arrival - LATE, stamp_of(clock, before, &version.object))
            };
            self.change(earliest, stamp, arrival, Seen::Version(version));
        }
        if let Some(deleted) = life.deleted {
            let arrival = deleted.as_microsecond();
            self.change(arrival - LATE, None, arrival, Seen::Absence);
        }
    }

    /// Adds a change that arrived at that time, and before which nothing arrived since the last one. The gaps that ended
    /// before it hid nothing: the list at their end showed what was there before.
    fn change(&mut self, earliest: Micros, stamp: Option<Micros>, arrival: Micros, seen: Seen<'e, T>) {
        self.absent_to(arrival - 1);
        let around = self.gaps.around(arrival);
        let lost = around.map(|(from, _)| from.saturating_sub(LATE));
        // Nobody looked before the first list anyway.
        let lost = lost.filter(|_| earliest > Micros::MIN);
        if let Some(lost) = lost {
            self.hide(lost, arrival);
        }
        // In a gap there may have been earlier writes than the one that is stamped.
        let earliest = match lost {
            Some(lost) => earliest.min(lost),
            None => earliest.max(stamp.unwrap_or(Micros::MIN)),
        };
        self.runs.push(Run {
            from: Edge::between(earliest, arrival),
            seen_at: arrival,
            seen,
        });
        self.arrived = arrival;
    }

    /// Nobody knows what was there from then on, at the earliest.
    fn hide(&mut self, from: Micros, until: Micros) {
        self.hidden.push((from, until));
        self.runs.push(Run {
            from: Edge::between(from, until),
            // The watch was right until the gap, but for what was on its way.
            seen_at: from.saturating_add(LATE).min(until),
            seen: Seen::Nothing,
        });
    }

    /// Hides the gaps up to a moment while the object was absent: it may have come and gone in each.
    fn absent_to(&mut self, until: Micros) {
        if let Some(Run {
            seen: Seen::Absence, ..
        }) = self.runs.last()
        {
            let since = self.arrived;
            let within = self.gaps.ending_in(since, until).iter();
            self.hidden
                .extend(within.map(|(from, until)| (from.saturating_sub(LATE), *until)));
        }
    }

    /// Hides what a gap at the end of the window hides.
    fn unseen_to(&mut self, end: Micros) {
        self.absent_to(end);
        if let Some(from) = self.gaps.around(end).map(|(from, _)| from.saturating_sub(LATE)) {
            self.hide(from.max(self.arrived), end.max(self.arrived));
        }
    }
}

/// The stamps of an object's versions, with the arrival of each.
fn stamps<'a, T: Tracked>(
    clock: HubClock,
    lives: &'a [&'a History<T>],
) -> impl Iterator<Item = (Micros, Micros)> + 'a {
    lives.iter().flat_map(move |life| {
        life.versions
            .iter()
            .enumerate()
            .filter_map(move |(place, version)| {
                let stamp = stamp_of(clock, life.before(place), &version.object)?;
                Some((stamp, version.received().as_microsecond()))
            })
    })
}

impl<'e, T: Tracked> Timeline<'e, T> {
    /// What may have been there at some moment of a closed span; a version is told only after it was written.
    pub(crate) fn seen_around(&self, from: Micros, until: Micros) -> impl Iterator<Item = &Seen<'e, T>> {
        let told = until.saturating_add(LATE);
        self.during(from, told).map(|(seen, _)| seen)
    }
}
