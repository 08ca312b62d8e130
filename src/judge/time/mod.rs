//! Times: the clocks of the hub and of the runner, the window, gaps, sets of time, how long something is there in one, and
//! a token bucket over events whose moments are spans.
//!
//! Assumptions: a watch reports a change within [`LATE`], unless it leaves a gap; a list shows the hub at one moment; the
//! runner's clock is not set. Where the hub's clock is set, or two of its API servers have different clocks, a timestamp
//! shows it: it is older than the one before, or later than its arrival. Only a clock that is further ahead than measured,
//! behind a watch that is late, and one that is set by more than [`LATE`] within a gap, show nothing.

mod clock;

pub(crate) use clock::{
    CLOCKS_APART, HubClock, SERVERS_APART, WatchGaps, end, is_log_broken, is_logged_around, is_watched,
    known_skew, missed, new_stamp, reported_by, skew, stamp_of, stamped, timestamp, why_missed,
};

/// Microseconds since the epoch, or between two times: with timestamps of a hub, arithmetic may leave the range of a
/// timestamp.
pub(crate) type Micros = i64;

pub(crate) const SECOND: Micros = 1_000_000;

/// Maximum delay of a watch without a gap in the timeline: shorter interruptions leave none.
pub(crate) const LATE: Micros = 10 * SECOND;

/// Some moment of a closed span, by the runner's clock. Either end may be infinite ([`Micros::MIN`], [`Micros::MAX`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    /// The earliest possible moment.
    pub(crate) earliest: Micros,
    /// The latest possible moment.
    pub(crate) latest: Micros,
}

impl Edge {
    pub(crate) fn at(moment: Micros) -> Self {
        Self {
            earliest: moment,
            latest: moment,
        }
    }

    /// Some moment up to `latest`, but not before `earliest`. What contradicts the latest moment is not believed.
    pub(crate) fn between(earliest: Micros, latest: Micros) -> Self {
        Self {
            earliest: earliest.min(latest),
            latest,
        }
    }

    /// Some moment of either.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            earliest: self.earliest.min(other.earliest),
            latest: self.latest.max(other.latest),
        }
    }

    #[cfg(test)]
    pub(crate) fn holds(self, moment: Micros) -> bool {
        (self.earliest..=self.latest).contains(&moment)
    }
}

/// Narrows the edges of one object: its changes come in order, so none is before the one before it, nor after the next.
pub(crate) fn put_in_order<'a>(edges: impl DoubleEndedIterator<Item = &'a mut Edge>) {
    let mut edges: Vec<&mut Edge> = edges.collect();
    let mut bound = Micros::MAX;
    for edge in edges.iter_mut().rev() {
        bound = bound.min(edge.latest);
        edge.latest = bound;
        edge.earliest = edge.earliest.min(bound);
    }
    let mut bound = Micros::MIN;
    for edge in &mut edges {
        bound = bound.max(edge.earliest);
        edge.earliest = bound;
    }
}

/// A set of time: half-open spans, in order, apart from each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Set(Vec<(Micros, Micros)>);

/// A stretch in which something was there again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) from: Micros,
    pub(crate) until: Micros,
    /// For how long it was there in all.
    pub(crate) total: Micros,
    /// How many times it was there.
    pub(crate) times: usize,
}

impl Set {
    /// The time in any of the spans.
    pub(crate) fn of(spans: impl IntoIterator<Item = (Micros, Micros)>) -> Self {
        let mut spans: Vec<(Micros, Micros)> =
            spans.into_iter().filter(|(from, until)| from < until).collect();
        spans.sort_unstable();
        let mut merged: Vec<(Micros, Micros)> = Vec::with_capacity(spans.len());
        for (from, until) in spans {
            match merged.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(until),
                _ => merged.push((from, until)),
            }
        }
        Self(merged)
    }

    pub(crate) fn spans(&self) -> &[(Micros, Micros)] {
        &self.0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn length(&self) -> Micros {
        let lengths = self.0.iter().map(|(from, until)| until.saturating_sub(*from));
        lengths.fold(0, Micros::saturating_add)
    }

    pub(crate) fn or(&self, other: &Self) -> Self {
        Self::of(self.0.iter().chain(&other.0).copied())
    }

    pub(crate) fn and(&self, other: &Self) -> Self {
        let mut both = Vec::new();
        let (mut ours, mut theirs) = (self.0.iter().peekable(), other.0.iter().peekable());
        while let (Some(one), Some(two)) = (ours.peek(), theirs.peek()) {
            let (from, until) = (one.0.max(two.0), one.1.min(two.1));
            if from < until {
                both.push((from, until));
            }
            if one.1 <= two.1 {
                ours.next();
            } else {
                theirs.next();
            }
        }
        Self(both)
    }

    pub(crate) fn not(&self) -> Self {
        let mut spans = Vec::with_capacity(self.0.len() + 1);
        let mut from = Micros::MIN;
        for span in &self.0 {
            spans.push((from, span.0));
            from = span.1;
        }
        spans.push((from, Micros::MAX));
        Self::of(spans)
    }

    pub(crate) fn until(&self, end: Micros) -> Self {
        self.and(&Self::of([(Micros::MIN, end)]))
    }

    /// The stretches in which it was there for more than `d` in all and for more than half of the stretch, with no pause as
    /// long as `d`: the one meaning of "longer than the grace". Where stretches overlap, the one that ends last.
    ///
    /// More time in the set never takes the last stretch away.
    pub(crate) fn stretches(&self, d: Micros) -> Vec<Stretch> {
        self.lasting(d).collect()
    }

    /// Whether there is such a stretch.
    pub(crate) fn lasts(&self, d: Micros) -> bool {
        self.lasting(d).next().is_some()
    }

    fn lasting(&self, d: Micros) -> impl Iterator<Item = Stretch> {
        let spans = self.0.chunk_by(move |one, next| next.0.saturating_sub(one.1) < d);
        spans.filter_map(move |spans| lasting_without_pause(spans, d))
    }
}

/// The last stretch that is longer than `d`, of spans without a pause as long as `d`. A stretch that qualifies also
/// qualifies if it begins and ends with a span, so only those are tried.
fn lasting_without_pause(spans: &[(Micros, Micros)], d: Micros) -> Option<Stretch> {
    // How long it was there before each span.
    let mut before: Vec<Micros> = Vec::with_capacity(spans.len() + 1);
    before.push(0);
    for (from, until) in spans {
        let length = until.saturating_sub(*from);
        before.push(before.last().map_or(0, |sum| sum.saturating_add(length)));
    }
    // More than half of it: twice the time there is more than the stretch is long. So the first span is best where
    // twice the time before it exceeds its beginning by the least.
    let excess = |at: usize| before[at].saturating_mul(2).saturating_sub(spans[at].0);
    let (mut best, mut tried) = (0, 0);
    let mut best_span = None;
    for last in 0..spans.len() {
        let total_from = |first: usize| before[last + 1].saturating_sub(before[first]);
        while tried <= last && total_from(tried) > d {
            if excess(tried) < excess(best) {
                best = tried;
            }
            tried += 1;
        }
        if tried == 0 {
            continue;
        }
        let length = spans[last].1.saturating_sub(spans[best].0);
        // Not twice the time, which may be infinite.
        if total_from(best) > length.saturating_sub(total_from(best)) {
            best_span = Some(Stretch {
                from: spans[best].0,
                until: spans[last].1,
                total: total_from(best),
                times: last - best + 1,
            });
        }
    }
    best_span
}

/// A bucket that holds `burst` tokens when it is full, and earns one every `refill`. An event costs one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    pub(crate) burst: i64,
    /// How long it takes to earn a token.
    pub(crate) refill: Micros,
    /// Only series of events that last at least so long count.
    pub(crate) at_least: Micros,
}

/// The state of a bucket after one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BucketDraw {
    /// The place of the earlier event from which the balance is worst.
    pub(crate) first: usize,
    pub(crate) last: usize,
    /// The best possible balance, as the time that it takes to earn it; negative if the bucket is overdrawn.
    pub(crate) left: Micros,
}

impl BucketDraw {
    /// Whether the event overdraws the bucket, whenever the events took place.
    pub(crate) fn is_too_much(&self) -> bool {
        self.left < 0
    }
}

impl Bucket {
    /// The most events that it allows in a span.
    pub(crate) fn allowed(self, span: Micros) -> i64 {
        self.burst + span.max(0) / self.refill
    }

    /// The time that the events before a place cost.
    fn cost(self, place: usize) -> Micros {
        self.refill
            .saturating_mul(i64::try_from(place).unwrap_or(i64::MAX))
    }

    /// The best possible balance after each event.
    ///
    /// Events keep to a bucket if, between any two of them, they are at most its burst plus what was earned meanwhile. So each
    /// event needs only the earlier one from which the balance is worst. With edges in order, that is exact: the two may be as
    /// far apart as their edges allow, and the others keep to the bucket between them.
    pub(crate) fn draws(self, edges: &[Edge]) -> impl Iterator<Item = BucketDraw> {
        // The unit is time: an event costs one refill, and time earns it back.
        let start = move |place: usize| self.cost(place).saturating_sub(edges[place].earliest);
        let mut worst: Option<usize> = None;
        let mut next = 0;
        edges.iter().enumerate().filter_map(move |(last, edge)| {
            // A series lasts as long as its events are apart at least.
            let lasts = |first: usize| edge.earliest.saturating_sub(edges[first].latest) >= self.at_least;
            while next <= last && (self.at_least == 0 || lasts(next)) {
                if worst.is_none_or(|first| start(next) < start(first)) {
                    worst = Some(next);
                }
                next += 1;
            }
            let first = worst?;
            let balance = self.cost(last + 1).saturating_sub(edge.latest);
            let balance = balance.saturating_sub(start(first));
            let left = self.refill.saturating_mul(self.burst).saturating_sub(balance);
            Some(BucketDraw { first, last, left })
        })
    }

    /// The draws that end the series of events which overdraw it most, worst first. No two series overlap.
    pub(crate) fn overdrafts(self, edges: &[Edge]) -> Vec<BucketDraw> {
        // Of draws in succession that are too much, only the worst counts.
        let mut worst: Vec<BucketDraw> = Vec::new();
        let mut goes_on = false;
        for draw in self.draws(edges) {
            match worst.last_mut().filter(|_| goes_on) {
                Some(last) if draw.left < last.left => *last = draw,
                None if draw.is_too_much() => worst.push(draw),
                _ => {}
            }
            goes_on = draw.is_too_much();
        }
        worst.sort_by_key(|draw| draw.left);
        let mut separate: Vec<BucketDraw> = Vec::new();
        for draw in worst {
            let is_apart = |other: &BucketDraw| draw.last < other.first || other.last < draw.first;
            if separate.iter().all(is_apart) {
                separate.push(draw);
            }
        }
        separate
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    #[test]
    fn all_time_is_longer_than_any() {
        assert!(Set::of([(Micros::MIN, Micros::MAX)]).lasts(120));
    }

    #[test]
    fn sets_are_joined_and_cut() {
        let one = Set::of([(5, 8), (0, 3), (3, 4)]);
        assert_eq!(one.spans(), [(0, 4), (5, 8)]);
        let other = Set::of([(2, 6)]);
        assert_eq!(one.or(&other).spans(), [(0, 8)]);
        assert_eq!(one.and(&other).spans(), [(2, 4), (5, 6)]);
        assert_eq!(
            one.not().and(&Set::of([(-1, 9)])).spans(),
            [(-1, 0), (4, 5), (8, 9)]
        );
        assert_eq!(one.not().not(), one);
    }

    /// Up to 60 moments, of which each is in the set or not.
    fn moments() -> impl Strategy<Value = Vec<bool>> {
        prop::collection::vec(prop::sample::select(vec![true, true, false]), 0..60)
    }

    fn set(moments: &[bool]) -> Set {
        let at = (0..).zip(moments).filter(|(_, is_in)| **is_in);
        Set::of(at.map(|(at, _)| (at, at + 1)))
    }

    /// By trying all stretches.
    fn lasts(moments: &[bool], d: usize) -> bool {
        let stretches =
            (0..moments.len()).flat_map(|from| (from + 1..=moments.len()).map(move |until| (from, until)));
        stretches.into_iter().any(|(from, until)| {
            let stretch = &moments[from..until];
            let total = stretch.iter().filter(|is_in| **is_in).count();
            let pauses = stretch.split(|is_in| *is_in).map(<[bool]>::len);
            total > d && 2 * total > stretch.len() && pauses.max() < Some(d.max(1))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

        #[test]
        fn the_quick_way_finds_what_all_stretches_show(moments in moments(), d in 1_usize..12) {
            prop_assert_eq!(set(&moments).lasts(d as Micros), lasts(&moments, d));
        }
    }

    /// A few events within few moments, in order.
    fn edges() -> impl Strategy<Value = Vec<Edge>> {
        vec((0..8_i64, 0..4_i64), 1..6).prop_map(|spans| {
            let mut edges: Vec<Edge> = spans
                .into_iter()
                .map(|(from, long)| Edge::between(from, from + long))
                .collect();
            edges.sort_by_key(|edge| edge.latest);
            put_in_order(edges.iter_mut());
            edges
        })
    }

    /// All schedules of the events, in their order.
    fn schedules(edges: &[Edge]) -> Vec<Vec<Micros>> {
        let Some((last, before)) = edges.split_last() else {
            return vec![Vec::new()];
        };
        let before = schedules(before).into_iter();
        let each = before.flat_map(|before| {
            let from = before.last().copied().unwrap_or(Micros::MIN).max(last.earliest);
            (from..=last.latest).map(move |at| [before.clone(), vec![at]].concat())
        });
        each.collect()
    }

    /// By trying all pairs.
    fn is_overdrawn(bucket: Bucket, at: &[Micros]) -> bool {
        let pairs = (0..at.len()).flat_map(|last| (0..=last).map(move |first| (first, last)));
        pairs.into_iter().any(|(first, last)| {
            let span = at[last] - at[first];
            span >= bucket.at_least && (last - first + 1) as i64 > bucket.allowed(span)
        })
    }

    fn is_surely_overdrawn(bucket: Bucket, edges: &[Edge]) -> bool {
        bucket.draws(edges).any(|draw| draw.is_too_much())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

        #[test]
        fn a_bucket_is_overdrawn_if_it_is_at_all_possible_times(
            edges in edges(), burst in 1..4_i64, refill in 1..5_i64,
        ) {
            let bucket = Bucket { burst, refill, at_least: 0 };
            let all = schedules(&edges);
            let is_overdrawn = all.iter().all(|at| is_overdrawn(bucket, at));
            prop_assert_eq!(is_surely_overdrawn(bucket, &edges), is_overdrawn);
        }

        #[test]
        fn short_series_do_not_overdraw_a_bucket_for_long_ones(
            edges in edges(), refill in 1..5_i64, at_least in 1..6_i64,
        ) {
            let bucket = Bucket { burst: 1, refill, at_least };
            let all = schedules(&edges);
            prop_assert!(!is_surely_overdrawn(bucket, &edges) || all.iter().all(|at| is_overdrawn(bucket, at)));
        }
    }

    #[test]
    fn the_worst_series_comes_first_and_no_two_overlap() {
        let bucket = Bucket {
            burst: 10,
            refill: 30,
            at_least: 0,
        };
        let at = |times: &[i64]| -> Vec<Edge> { times.iter().copied().map(Edge::at).collect() };
        let storms = [vec![0; 12], vec![10_000; 15], vec![20_000; 10]].concat();
        let overdrafts = bucket.overdrafts(&at(&storms)).into_iter();
        let places: Vec<(usize, usize)> = overdrafts.map(|draw| (draw.first, draw.last)).collect();
        assert_eq!(places, [(12, 26), (0, 11)]);
        assert!(bucket.overdrafts(&at(&[0; 10])).is_empty());
    }
}
