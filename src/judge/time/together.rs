//! Several objects over time, as one: what is wrong with a set of objects is a state that lasts, as what is wrong with one.
//!
//! Two assumptions more than for one object: one watch tells the changes of all objects of a kind in the order in which the
//! hub made them, and no object of the set came and went within a gap. Of changes that arrive at one time, the resource
//! versions tell the order; a deletion has none, so what was between it and the others is unknown.

use std::collections::BTreeMap;

use evidence::{Asked, Evidence, History, Origin, Tracked};

use super::{
    Edge, LATE, Micros, Set, While, clock::HubClock, edge::put_in_order, gaps::Gaps, timeline::stamp_of,
};

/// What was seen of a set of objects, moment by moment: each change of one of them begins another.
pub(crate) struct Together<'e, T> {
    /// In order. Where one ends, the next begins; the last one goes on after the end.
    moments: Vec<Moment<'e, T>>,
    /// The gaps in the watch of any of them.
    gaps: Gaps<'e>,
    /// The time in which nobody looked.
    hidden: Set,
    /// The time in which several changes took place of which the order is unknown.
    blurred: Set,
    /// When the runner stopped looking.
    end: Micros,
    /// When the window ended, if the runner looked on for these objects.
    window_end: Option<Micros>,
    /// Whether a first list showed any of them, so that what it shows may be older. While the run goes on, it may still be
    /// mended, so that its age does not count.
    is_listed: bool,
}

/// The set between two changes.
struct Moment<'e, T> {
    /// When it began.
    from: Edge,
    /// When the runner saw it begin.
    seen_at: Micros,
    /// What made it out of the moment before; none if nobody looked.
    changes: Option<Vec<Change<'e, T>>>,
}

/// What the runner saw of a set.
pub(crate) enum Look<'t, 'e, T> {
    /// Changes that arrived together.
    Changes(Micros, &'t [Change<'e, T>]),
    /// Nobody looked from one moment to another.
    Lost(Micros, Micros),
}

/// A change of one object.
pub(crate) struct Change<'e, T> {
    /// The object: the place of its history among those of the set.
    pub(crate) object: usize,
    /// What it was; none before it was created.
    pub(crate) before: Option<&'e T>,
    /// What it is; none after it was deleted.
    pub(crate) after: Option<&'e T>,
}

impl<T> Clone for Change<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Change<'_, T> {}

/// A state of the set that lasts, and how it was last.
pub(crate) struct Lasting<V> {
    pub(crate) when: While,
    pub(crate) last: V,
    /// Whether it was there in the first list.
    pub(crate) is_listed: bool,
}

/// A change as it arrived.
struct Arrival<'e, T> {
    at: Micros,
    /// Deletions come last among what came together.
    is_deletion: bool,
    /// The number of the resource version; none if it is no number.
    order: Option<u64>,
    /// The earliest moment by the stamps of the hub.
    stamp: Option<Micros>,
    change: Change<'e, T>,
}

/// A state while its time is found.
struct Since<V> {
    /// The moment in which it began; none if nobody looks.
    since: Option<usize>,
    spans: Vec<(usize, usize)>,
    last: V,
}

impl<'e, T: Tracked> Together<'e, T> {
    /// The set of the objects with these histories, at least one, which are all of one namespace.
    pub(crate) fn of(evidence: &'e Evidence, histories: &[&'e History<T>]) -> Self {
        Self::settled(evidence, histories, &[])
    }

    /// The same with what was seen of the set after the window, if the runner looked on: of that time, only what was open
    /// when the window ended counts.
    pub(crate) fn settled(
        evidence: &'e Evidence,
        histories: &[&'e History<T>],
        later: &[&'e History<T>],
    ) -> Self {
        let window = evidence.header.window;
        let window = window.filter(|_| matches!(evidence.asked(T::WATCHED), Asked::Yes));
        let later = if window.is_some() { later } else { &[] };
        let mut arrivals = arrivals(evidence, histories, later);
        if window.is_none() {
            // A snapshot is judged as settled: what it shows was so, and remains so.
            let changes = arrivals.into_iter().map(|arrival| arrival.change).collect();
            return Self {
                moments: vec![Moment {
                    from: Edge::at(Micros::MIN),
                    seen_at: Micros::MIN,
                    changes: Some(changes),
                }],
                gaps: Gaps::default(),
                hidden: Set::default(),
                blurred: Set::default(),
                end: Micros::MAX,
                window_end: None,
                is_listed: true,
            };
        }
        let window_end = window.map_or(Micros::MAX, |window| window.until.as_microsecond());
        let settled = evidence.header.settled.filter(|_| !later.is_empty());
        let end = settled.map_or(window_end, |settled| {
            settled.until.as_microsecond().max(window_end)
        });
        let objects = histories.iter().map(|history| {
            let metadata = history.first().metadata();
            (&*metadata.namespace, &*metadata.name)
        });
        let gaps = Gaps::of_any::<T>(evidence, objects);
        let listed = histories
            .iter()
            .filter(|history| history.origin == Origin::Listed);
        let listed = listed
            .map(|history| history.versions[0].received().as_microsecond())
            .max();
        let mut builder = Builder {
            moments: Vec::new(),
            blurred: Vec::new(),
            gaps: &gaps,
        };
        if let Some(listed) = listed {
            // The first list is read bit by bit, but it is one look.
            let rest = arrivals.split_off(arrivals.partition_point(|arrival| arrival.at <= listed));
            builder.push(Edge::between(Micros::MIN, listed), listed, arrivals);
            arrivals = rest;
        }
        builder.changes(arrivals);
        let begins = builder.moments.first().map_or(end, |moment| moment.from.latest);
        if let Some((from, _)) = gaps.around(end) {
            builder.hide(from, end);
        }
        let Builder {
            mut moments, blurred, ..
        } = builder;
        put_in_order(moments.iter_mut().map(|moment| &mut moment.from));
        let blurred = Set::of(blurred);
        let before = Set::of([(Micros::MIN, begins)]);
        Self {
            hidden: before.or(&gaps.lost()).or(&blurred),
            gaps,
            blurred,
            moments,
            end,
            window_end: (end > window_end).then_some(window_end),
            is_listed: listed.is_some(),
        }
    }

    /// What the runner saw, in order, and until when it looked.
    pub(crate) fn looks(&self) -> (Vec<Look<'_, 'e, T>>, Micros) {
        let mut looks = Vec::new();
        let mut gaps = self.gaps.spans().iter().peekable();
        for moment in &self.moments {
            let Some(changes) = &moment.changes else { continue };
            let mut at = moment.seen_at;
            while let Some((from, until)) = gaps.next_if(|(from, _)| *from <= at) {
                looks.push(Look::Lost(*from, *until));
                at = at.max(*until);
            }
            looks.push(Look::Changes(at, changes));
        }
        let last = self.moments.last().map_or(Micros::MIN, |last| last.seen_at);
        // A snapshot ends with what it shows.
        let mut end = if self.end < Micros::MAX { self.end } else { last };
        while let Some((from, until)) = gaps.next_if(|(from, _)| *from <= end) {
            if *until < end {
                looks.push(Look::Lost(*from, *until));
            } else {
                end = *from;
            }
        }
        (looks, end)
    }

    /// Whether something was there from the first list to the last look, so that it may be older than what was seen. What
    /// changed in a gap may have gone and come back.
    pub(crate) fn is_all_along<V>(&self, state: &Lasting<V>) -> bool {
        let when = &state.when;
        state.is_listed && when.is_open() && when.fills(&self.looked()) && when.told().len() == 1
    }

    /// When the runner saw the set.
    fn looked(&self) -> Set {
        let places = (0..self.moments.len()).filter(|place| self.moments[*place].changes.is_some());
        Set::of(places.map(|place| self.seen(place, place + 1)))
    }

    /// When no object changed for longer than `d`.
    pub(crate) fn at_rest(&self, d: Micros) -> While {
        let rests: Vec<(usize, usize)> = (0..self.moments.len()).map(|place| (place, place + 1)).collect();
        let is_long = |(from, until): &(Micros, Micros)| until.saturating_sub(*from) > d;
        While {
            // What was seen at rest may have been so for longer.
            told: self.while_of(&rests, true, |_| true).told,
            ..self.while_of(&rests, true, is_long)
        }
    }

    /// When each of the states was there that `found` finds in the objects of a moment, by the place of each. It gets the
    /// changes that made the moment, and returns none if they change nothing that it looks at.
    pub(crate) fn whiles<K: Ord, V>(
        &self,
        mut found: impl FnMut(&BTreeMap<usize, &'e T>, &[Change<'e, T>]) -> Option<Vec<(K, V)>>,
    ) -> Vec<(K, Lasting<V>)> {
        let mut present = BTreeMap::new();
        let mut over: BTreeMap<K, Since<V>> = BTreeMap::new();
        let mut open: BTreeMap<K, Since<V>> = BTreeMap::new();
        for (place, moment) in self.moments.iter().enumerate() {
            let Some(changes) = &moment.changes else {
                open.values_mut().for_each(|state| state.stop(place));
                continue;
            };
            for change in changes {
                match change.after {
                    Some(after) => present.insert(change.object, after),
                    None => present.remove(&change.object),
                };
            }
            let Some(now) = found(&present, changes) else {
                open.values_mut().for_each(|state| state.go_on(place));
                continue;
            };
            let mut still: BTreeMap<K, Since<V>> = BTreeMap::new();
            for (key, last) in now {
                let before = open.remove(&key).or_else(|| over.remove(&key));
                let mut state = match before.or_else(|| still.remove(&key)) {
                    Some(before) => Since { last, ..before },
                    None => Since::new(last),
                };
                state.go_on(place);
                still.insert(key, state);
            }
            for (key, mut state) in std::mem::replace(&mut open, still) {
                state.stop(place);
                over.insert(key, state);
            }
        }
        let over = over.into_iter().map(|(key, state)| (key, state, false));
        let open = open.into_iter().map(|(key, mut state)| {
            state.stop(self.moments.len());
            (key, state, true)
        });
        let all = over.chain(open).map(|(key, state, is_open)| {
            let is_listed = self.is_listed && state.spans.first().is_some_and(|(from, _)| *from == 0);
            let when = self.while_of(&state.spans, is_open, |_| true);
            let when = match self.window_end {
                Some(window_end) => when.settled(window_end, &self.looked()),
                None => when,
            };
            (
                key,
                Lasting {
                    when,
                    last: state.last,
                    is_listed,
                },
            )
        });
        all.collect()
    }

    /// When something held that held from one moment to another, in each of these spans. Those that do not count are left out.
    fn while_of(
        &self,
        spans: &[(usize, usize)],
        is_open: bool,
        counts: impl Fn(&(Micros, Micros)) -> bool,
    ) -> While {
        let set = |span: fn(&Self, usize, usize) -> (Micros, Micros)| {
            let spans = spans.iter().map(|(from, until)| span(self, *from, *until));
            Set::of(spans.filter(&counts))
        };
        let sure = set(Self::sure);
        While {
            sure: if self.blurred.is_empty() {
                sure
            } else {
                sure.and(&self.blurred.not())
            },
            possible: set(Self::possible),
            told: set(Self::seen),
            hidden: self.hidden.clone(),
            end: self.end,
            is_open,
        }
    }

    fn sure(&self, from: usize, until: usize) -> (Micros, Micros) {
        (self.moments[from].from.latest, self.edge(until).earliest)
    }

    fn possible(&self, from: usize, until: usize) -> (Micros, Micros) {
        (self.moments[from].from.earliest, self.edge(until).latest)
    }

    fn seen(&self, from: usize, until: usize) -> (Micros, Micros) {
        let end = self.moments.get(until).map_or(self.end, |next| next.seen_at);
        (self.moments[from].seen_at, end)
    }

    /// When a moment began. The one after the last begins some time after the runner stopped looking.
    fn edge(&self, place: usize) -> Edge {
        let after = Edge {
            earliest: self.end,
            latest: Micros::MAX,
        };
        self.moments.get(place).map_or(after, |moment| moment.from)
    }
}

impl<V> Since<V> {
    fn new(last: V) -> Self {
        Self {
            since: None,
            spans: Vec::new(),
            last,
        }
    }

    fn go_on(&mut self, place: usize) {
        self.since.get_or_insert(place);
    }

    fn stop(&mut self, place: usize) {
        if let Some(since) = self.since.take() {
            self.spans.push((since, place));
        }
    }
}

/// The moments of a set while they are found.
struct Builder<'e, 'g, T> {
    moments: Vec<Moment<'e, T>>,
    blurred: Vec<(Micros, Micros)>,
    gaps: &'g Gaps<'e>,
}

impl<'e, T> Builder<'e, '_, T> {
    /// Adds changes after the first list, in the order of their arrival.
    fn changes(&mut self, arrivals: Vec<Arrival<'e, T>>) {
        let mut arrivals = arrivals.into_iter().peekable();
        while let Some(first) = arrivals.next() {
            let gap = self.gaps.around(first.at);
            let until = gap.map_or(first.at, |(_, until)| until);
            let mut together = vec![first];
            while let Some(next) = arrivals.next_if(|next| next.at <= until) {
                together.push(next);
            }
            let at = together[together.len() - 1].at;
            if let Some((from, _)) = gap {
                self.hide(from, at);
                self.push(Edge::between(from.saturating_sub(LATE), at), at, together);
            } else if is_ordered(&together) {
                for one in together {
                    self.push(one.edge(), at, vec![one]);
                }
            } else {
                let earliest = together.iter().map(|one| one.edge().earliest).min();
                let from = Edge::between(earliest.unwrap_or(at), at);
                self.blurred.push((from.earliest, from.latest));
                self.push(from, at, together);
            }
        }
    }

    fn push(&mut self, from: Edge, seen_at: Micros, arrivals: Vec<Arrival<'e, T>>) {
        let changes = arrivals.into_iter().map(|arrival| arrival.change).collect();
        self.moments.push(Moment {
            from,
            seen_at,
            changes: Some(changes),
        });
    }

    /// Nobody looked from then on; what was on its way was lost.
    fn hide(&mut self, from: Micros, until: Micros) {
        let seen_at = self.moments.last().map_or(from, |last| last.seen_at.max(from));
        self.moments.push(Moment {
            from: Edge::between(from.saturating_sub(LATE), until),
            seen_at: seen_at.min(until),
            changes: None,
        });
    }
}

impl<T> Arrival<'_, T> {
    fn edge(&self) -> Edge {
        let earliest = self.at.saturating_sub(LATE);
        Edge::between(earliest.max(self.stamp.unwrap_or(Micros::MIN)), self.at)
    }
}

/// Whether the order of changes is known that arrived at one time.
fn is_ordered<T>(together: &[Arrival<'_, T>]) -> bool {
    let mut all = together.iter();
    together.len() == 1 || all.all(|one| !one.is_deletion && one.order.is_some())
}

/// The changes of the objects, as they arrived. A life that goes on after the window is of the object that it was of before.
fn arrivals<'e, T: Tracked>(
    evidence: &Evidence,
    histories: &[&'e History<T>],
    later: &[&'e History<T>],
) -> Vec<Arrival<'e, T>> {
    let clock = HubClock::of(evidence);
    let mut arrivals = Vec::new();
    for (object, history) in histories.iter().chain(later).enumerate() {
        let is_same = |known: &&&History<T>| {
            let (known, metadata) = (known.last().metadata(), history.last().metadata());
            (&known.uid, &known.name) == (&metadata.uid, &metadata.name)
        };
        let known = histories.iter().take(object).rposition(|known| is_same(&known));
        let last = known.map(|known| histories[known].last());
        let object = known.unwrap_or(object);
        let version_of = |object: &T| object.metadata().resource_version.clone();
        let mut before = last;
        for version in &history.versions {
            // It begins with a copy of the version that the window ended with. What is asked knows the one of the window.
            if last.is_some_and(|last| version_of(last) == version_of(&version.object)) {
                continue;
            }
            let after = Some(&version.object);
            arrivals.push(Arrival {
                at: version.received().as_microsecond(),
                is_deletion: false,
                order: version.object.metadata().resource_version.parse().ok(),
                stamp: stamp_of(clock, before, &version.object),
                change: Change {
                    object,
                    before,
                    after,
                },
            });
            before = after;
        }
        if let Some(at) = history.deleted {
            arrivals.push(Arrival {
                at: at.as_microsecond(),
                is_deletion: true,
                order: None,
                stamp: None,
                change: Change {
                    object,
                    before,
                    after: None,
                },
            });
        }
    }
    // A stamp from after its arrival shows that the hub's clock was set, so that none tells.
    let mut stamped = arrivals.iter();
    if stamped.any(|arrival| arrival.stamp > Some(arrival.at)) {
        arrivals.iter_mut().for_each(|arrival| arrival.stamp = None);
    }
    arrivals.sort_by_key(|arrival| (arrival.at, arrival.is_deletion, arrival.order));
    arrivals
}
