//! When something happened again and again.

use std::iter;

use super::{
    Bucket, Edge, Known, LATE, Micros, SECOND, Why, bucket::BucketDraw, clock::SERVERS_APART,
    edge::put_in_order,
};

/// Something that happened, such as a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// The earliest possible moment.
    pub(crate) earliest: Micros,
    /// The latest possible moment: when it was seen.
    pub(crate) latest: Micros,
    /// The second that the hub stamped, by its clock, if nothing contradicts it.
    pub(super) stamp: Option<Micros>,
    /// The time in the evidence, for reports.
    pub(crate) reported: Micros,
}

/// Events of one kind on one object, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Events(Vec<Event>);

/// A series of events that were too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Series {
    /// The first of them.
    pub(crate) first: Event,
    /// The last of them.
    pub(crate) last: Event,
    /// The places of both among the events.
    pub(crate) places: (usize, usize),
    /// How many they are.
    pub(crate) count: usize,
    /// The longest time that they may have taken.
    pub(crate) span: Micros,
}

impl Event {
    /// Something that was seen at that time, at most a second late.
    #[cfg(test)]
    pub(crate) fn seen(at: jiff::Timestamp) -> Self {
        let latest = at.as_microsecond();
        Self::between(latest - SECOND, latest)
    }

    /// Something that happened at some moment from `earliest` to `latest`, and was seen then.
    pub(crate) fn between(earliest: Micros, latest: Micros) -> Self {
        Self {
            earliest: earliest.min(latest),
            latest,
            stamp: None,
            reported: latest,
        }
    }

    /// Something that the hub logged, by the hub's clock. The log tells when a request came and when it was answered, so that it
    /// took place within a second; another server's clock may differ.
    pub(crate) fn logged(at: Micros) -> Self {
        Self::between(at.saturating_sub(SECOND + SERVERS_APART), at)
    }

    /// The same, by a clock that is behind by `ahead`.
    pub(crate) fn back(self, ahead: Micros) -> Self {
        Self {
            earliest: self.earliest.saturating_sub(ahead),
            latest: self.latest.saturating_sub(ahead),
            reported: self.reported.saturating_sub(ahead),
            ..self
        }
    }

    /// When it took place if its stamp is right, by the runner's clock.
    pub(crate) fn by_stamp(self) -> Edge {
        match self.stamp {
            Some(_) => Edge::between(self.reported, self.reported.saturating_add(SECOND)),
            None => self.edge(),
        }
    }

    /// The same if, without a stamp, it was seen within a second.
    fn as_reported(self) -> Edge {
        match self.stamp {
            Some(_) => self.by_stamp(),
            None => Edge::between(self.reported.saturating_sub(SECOND), self.reported),
        }
    }

    fn edge(self) -> Edge {
        Edge::between(self.earliest, self.latest)
    }
}

impl FromIterator<Event> for Events {
    fn from_iter<I: IntoIterator<Item = Event>>(events: I) -> Self {
        Self(events.into_iter().collect())
    }
}

impl From<Vec<Event>> for Events {
    fn from(events: Vec<Event>) -> Self {
        Self(events)
    }
}

/// What the evidence tells of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Excess {
    /// This series exceeds it, whenever the events took place.
    Sure(Series),
    /// They seem to exceed it, but may have kept to it.
    Doubtful,
    /// They seem to keep to it.
    None,
}

/// A limit that events may exceed.
pub(crate) trait Limit {
    /// The most events that keep to it, however close together they are.
    fn burst(&self) -> usize;

    /// The places of the first and the last event of a series that exceeds it, whenever the events took place within their
    /// edges.
    fn excess(&self, edges: &[Edge]) -> Option<(usize, usize)>;

    /// Whether they exceed it at some moments within their edges.
    fn may_be_exceeded(&self, edges: &[Edge]) -> bool;
}

/// At most so many events in any span of that length, its ends included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AtMost {
    /// The number of events, at least one.
    pub(crate) count: usize,
    /// The length.
    pub(crate) within: Micros,
}

impl Limit for AtMost {
    fn burst(&self) -> usize {
        self.count
    }

    /// Takes the earliest schedule that keeps to it: if that is too late for some event, there is none.
    fn excess(&self, edges: &[Edge]) -> Option<(usize, usize)> {
        let mut schedule: Vec<Micros> = Vec::with_capacity(edges.len());
        for (place, edge) in edges.iter().enumerate() {
            let mut at = edge.earliest;
            if let Some(before) = schedule.last() {
                at = at.max(*before);
            }
            if let Some(first) = place.checked_sub(self.count) {
                at = at.max(schedule[first].saturating_add(self.within).saturating_add(1));
                if at > edge.latest {
                    return Some((first, place));
                }
            }
            schedule.push(at);
        }
        None
    }

    fn may_be_exceeded(&self, edges: &[Edge]) -> bool {
        let mut pairs = edges.iter().zip(edges.iter().skip(self.count));
        pairs.any(|(first, last)| last.earliest.saturating_sub(first.latest) <= self.within)
    }
}

impl Limit for Bucket {
    fn burst(&self) -> usize {
        usize::try_from(self.burst).unwrap_or(usize::MAX)
    }

    /// The worst of all series.
    fn excess(&self, edges: &[Edge]) -> Option<(usize, usize)> {
        let worst = self
            .draws(edges)
            .filter(BucketDraw::is_too_much)
            .min_by_key(|draw| draw.left);
        worst.map(|draw| (draw.first, draw.last))
    }

    fn may_be_exceeded(&self, edges: &[Edge]) -> bool {
        self.may_be_overdrawn(edges)
    }
}

impl Events {
    /// Adds one that came after all others.
    pub(crate) fn push(&mut self, event: Event) {
        self.0.push(event);
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The events, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Event> {
        self.0.iter()
    }

    /// Whether they exceed a limit, however they fall within their edges, in their order. No speaks of the events that
    /// were seen: what a gap hides, nobody can tell.
    pub(crate) fn exceed(&self, limit: &impl Limit) -> Known {
        // Nearly no object has so many events.
        if self.0.len() <= limit.burst() {
            return Known::No;
        }
        if self.first_excess(limit).is_some() {
            return Known::Yes;
        }
        if self.readings().any(|edges| !limit.may_be_exceeded(&edges)) {
            return Known::No;
        }
        let is_wide = |event: &Event| event.latest.saturating_sub(event.earliest) > LATE;
        Known::unknown(if self.0.iter().any(is_wide) {
            Why::Gap
        } else {
            Why::Late
        })
    }

    /// What rules report. What is unknown is worth a doubt if the events exceed the limit as they are reported.
    pub(crate) fn excess(&self, limit: &impl Limit) -> Excess {
        match self.exceed(limit) {
            Known::Yes => self.first_excess(limit).map_or(Excess::Doubtful, Excess::Sure),
            Known::Unknown(_) if self.seem_to_exceed(limit) => Excess::Doubtful,
            Known::Unknown(_) | Known::No => Excess::None,
        }
    }

    /// The first series that exceeds a limit, however the events fall.
    fn first_excess(&self, limit: &impl Limit) -> Option<Series> {
        self.readings().find_map(|edges| {
            let places = limit.excess(&edges)?;
            Some(self.series(&edges, places))
        })
    }

    /// The series that overdraw a bucket, however the events fall: the worst first, and none overlaps another.
    pub(crate) fn overdrafts(&self, bucket: Bucket) -> Vec<Series> {
        let series = self.readings().map(|edges| {
            let draws = bucket.overdrafts(&edges).into_iter();
            let series = draws.map(|draw| self.series(&edges, (draw.first, draw.last)));
            series.collect::<Vec<Series>>()
        });
        series
            .into_iter()
            .find(|series| !series.is_empty())
            .unwrap_or_default()
    }

    fn series(&self, edges: &[Edge], (first, last): (usize, usize)) -> Series {
        Series {
            first: self.0[first],
            last: self.0[last],
            places: (first, last),
            count: last - first + 1,
            span: edges[last].latest.saturating_sub(edges[first].earliest),
        }
    }

    /// Whether they exceed a limit if all took place when they are reported, to the second. By right stamps, who keeps to a
    /// limit never seems to exceed it.
    fn seem_to_exceed(&self, limit: &impl Limit) -> bool {
        let edges: Vec<Edge> = self.0.iter().map(|event| event.as_reported()).collect();
        limit.excess(&edges).is_some()
    }

    /// The best possible balance of a bucket after each event.
    pub(crate) fn balances(&self, bucket: Bucket) -> Vec<Micros> {
        let mut balances = vec![Micros::MAX; self.0.len()];
        for edges in self.readings() {
            for draw in bucket.draws(&edges) {
                balances[draw.last] = balances[draw.last].min(draw.left);
            }
        }
        balances
    }

    /// The edges by the runner's clock and, if there are stamps, by the hub's. Each is true by itself: the stamps tell how far
    /// apart events were that a gap delivers together, and no skew need be known for that.
    fn readings(&self) -> impl Iterator<Item = Vec<Edge>> {
        let by_runner = self.0.iter().map(|event| event.edge()).collect();
        // Found only if the first one does not decide.
        iter::once(by_runner).chain(iter::once_with(|| self.by_hub()).flatten())
    }

    /// The edges by the hub's clock, if there are stamps. A clock that is set by less than a watch may be late contradicts no
    /// arrival, nor do the clocks of two API servers.
    pub(super) fn by_hub(&self) -> Option<Vec<Edge>> {
        self.0.iter().find_map(|event| event.stamp)?;
        let edge = |event: &Event| match event.stamp {
            Some(stamp) => Edge::between(stamp, stamp.saturating_add(SECOND + LATE + SERVERS_APART)),
            None => Edge::between(Micros::MIN, Micros::MAX),
        };
        let mut edges: Vec<Edge> = self.0.iter().map(edge).collect();
        put_in_order(edges.iter_mut());
        Some(edges)
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

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

    fn exceeds(most: AtMost, at: &[Micros]) -> bool {
        at.windows(most.count + 1)
            .any(|run| run[most.count] - run[0] <= most.within)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

        #[test]
        fn a_bucket_is_overdrawn_for_sure_if_it_is_however_the_events_fall(
            edges in edges(), burst in 1..4_i64, refill in 1..5_i64,
        ) {
            let bucket = Bucket { burst, refill, at_least: 0 };
            let all = schedules(&edges);
            prop_assert_eq!(bucket.excess(&edges).is_some(), all.iter().all(|at| is_overdrawn(bucket, at)));
            prop_assert_eq!(bucket.may_be_exceeded(&edges), all.iter().any(|at| is_overdrawn(bucket, at)));
        }

        #[test]
        fn only_series_that_last_count_where_they_should(
            edges in edges(), refill in 1..5_i64, at_least in 1..6_i64,
        ) {
            let bucket = Bucket { burst: 1, refill, at_least };
            let all = schedules(&edges);
            prop_assert!(bucket.excess(&edges).is_none() || all.iter().all(|at| is_overdrawn(bucket, at)));
            prop_assert!(bucket.may_be_exceeded(&edges) || !all.iter().any(|at| is_overdrawn(bucket, at)));
        }

        #[test]
        fn there_are_too_many_for_sure_if_no_schedule_spreads_them(
            edges in edges(), count in 1..4_usize, within in 0..6_i64,
        ) {
            let most = AtMost { count, within };
            let all = schedules(&edges);
            prop_assert_eq!(most.excess(&edges).is_some(), all.iter().all(|at| exceeds(most, at)));
            prop_assert_eq!(most.may_be_exceeded(&edges), all.iter().any(|at| exceeds(most, at)));
        }
    }
}
