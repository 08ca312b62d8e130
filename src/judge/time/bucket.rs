//! A token bucket over events whose moments are spans.

use super::{Edge, Micros};

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
        // Of draws in succession that are too much, the worst stands for all.
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
        let mut apart: Vec<BucketDraw> = Vec::new();
        for draw in worst {
            if apart
                .iter()
                .all(|other| draw.last < other.first || other.last < draw.first)
            {
                apart.push(draw);
            }
        }
        apart
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::time::put_in_order;

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
