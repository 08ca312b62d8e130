//! A token bucket over events whose moments are spans.

use super::{Edge, Micros};

/// A bucket that holds `burst` tokens when it is full, and earns one every `refill`. An event costs one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    /// Its capacity, at least one.
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
    /// The place of the event.
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

    /// The least number of events that overdraw it.
    pub(crate) fn fewest_to_overdraw(self) -> usize {
        usize::try_from(self.allowed(self.at_least) + 1).unwrap_or(usize::MAX)
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

    /// Whether the events may overdraw it: at some moments within their edges.
    pub(super) fn may_be_overdrawn(self, edges: &[Edge]) -> bool {
        let full = self.refill.saturating_mul(self.burst);
        let mut worst = Micros::MAX;
        let mut next = 0;
        edges.iter().enumerate().any(|(last, edge)| {
            // No fewer events than the burst and one overdraw it, however close together they are.
            while let Some(first) = edges.get(next)
                && i64::try_from(last - next).is_ok_and(|between| between >= self.burst)
                && edge.latest.saturating_sub(first.earliest) >= self.at_least
            {
                worst = worst.min(self.cost(next).saturating_sub(first.latest));
                next += 1;
            }
            let balance = self.cost(last + 1).saturating_sub(edge.earliest);
            next > 0 && balance.saturating_sub(worst) > full
        })
    }
}
