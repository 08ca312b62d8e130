//! When an object was written.

use evidence::{Evidence, History, Tracked, Version, api::Writer, parse_time};

use super::{
    Edge, Event, LATE, Micros, SECOND,
    clock::{HubClock, SERVERS_APART, known_skew, new_stamp},
    edge::put_in_order,
    span_of,
};

/// A step between two versions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write<'e, T> {
    /// The version before.
    pub(crate) before: &'e Version<T>,
    /// The version that it made.
    pub(crate) after: &'e Version<T>,
    /// When it took place.
    pub(crate) moment: Event,
}

/// A step between two versions, whatever it changed.
struct Step {
    /// When it took place by its arrival alone.
    arrived: Edge,
    /// Whether it came at the end of a gap.
    is_after_gap: bool,
    /// When it took place.
    edge: Edge,
    /// What the hub stamped, by its clock.
    stamp: Option<Micros>,
}

/// The writes between successive versions of an object that differ, stamped by the writers that count.
pub(crate) fn writes<'e, T: Tracked>(
    evidence: &Evidence,
    history: &'e History<T>,
    differ: fn(&T, &T) -> bool,
    counts: fn(&Writer) -> bool,
) -> Vec<Write<'e, T>> {
    let is_write = |(before, after): (&Version<T>, &Version<T>)| differ(&before.object, &after.object);
    if !history.steps().any(is_write) {
        return Vec::new();
    }
    let mut steps = steps(evidence, history, counts);
    believe_stamps(HubClock::of(evidence), &mut steps);
    put_in_order(steps.iter_mut().map(|step| &mut step.edge));
    let skew = known_skew(evidence).unwrap_or(0);
    let mut writes = Vec::new();
    let mut next = Micros::MAX;
    let pairs = history.versions.windows(2).zip(&steps).rev();
    for (pair, step) in pairs.filter(|(pair, _)| is_write((&pair[0], &pair[1]))) {
        // What was written before something is reported so.
        next = next.min(step.reported(skew));
        writes.push(Write {
            before: &pair[0],
            after: &pair[1],
            moment: Event {
                earliest: step.edge.earliest,
                latest: step.edge.latest,
                stamp: step.stamp,
                reported: next,
            },
        });
    }
    writes.reverse();
    writes
}

/// The steps of an object by their arrival. One that came at the end of a gap may be of any time of it.
fn steps<T: Tracked>(evidence: &Evidence, history: &History<T>, counts: fn(&Writer) -> bool) -> Vec<Step> {
    let metadata = history.last().metadata();
    let gaps = evidence.gaps_of(T::WATCHED, &metadata.namespace, &metadata.name);
    let gaps: Vec<_> = gaps.map(span_of).collect();
    let step = |(before, after): (&Version<T>, &Version<T>)| {
        let arrival = after.at.as_microsecond();
        let around = gaps
            .iter()
            .filter(|(from, until)| (*from..=*until).contains(&arrival));
        let began = around.map(|(from, _)| *from).min();
        let arrived = Edge::between(began.unwrap_or(arrival).saturating_sub(LATE), arrival);
        let stamp = new_stamp(Some(&before.object), &after.object, counts);
        Step {
            arrived,
            is_after_gap: began.is_some(),
            edge: arrived,
            stamp: stamp.and_then(parse_time).map(|stamp| stamp.as_microsecond()),
        }
    };
    history.steps().map(step).collect()
}

/// Narrows the steps by their stamps, and forgets the stamps if they contradict each other.
fn believe_stamps(clock: HubClock, steps: &mut [Step]) {
    let earliest = |step: &Step| clock.earliest_at(step.stamp?);
    let stamps = steps
        .iter()
        .filter_map(|step| Some((earliest(step)?, step.arrived.latest)));
    let clock = clock.unless_contradicted(stamps);
    let is_one_clock = is_one_clock(steps);
    for step in steps {
        // After a gap, no arrival would contradict a stamp.
        let stamp = step.stamp.filter(|_| !step.is_after_gap);
        let earliest = stamp
            .and_then(|stamp| clock.earliest_at(stamp))
            .unwrap_or(Micros::MIN);
        step.edge = Edge::between(earliest.max(step.arrived.earliest), step.arrived.latest);
        step.stamp = step.stamp.filter(|_| is_one_clock);
    }
}

/// Whether one clock may have stamped all steps: one skew explains all of them, and it never goes back. Only differences
/// of stamps are compared, so the skew need not be known.
fn is_one_clock(steps: &[Step]) -> bool {
    let (mut least, mut most, mut newest) = (Micros::MIN, Micros::MAX, Micros::MIN);
    for (step, stamp) in steps.iter().filter_map(|step| Some((step, step.stamp?))) {
        // Servers that differ stamp in another order what they write in turns.
        if stamp < newest.saturating_sub(SERVERS_APART) {
            return false;
        }
        newest = newest.max(stamp);
        least = least.max(stamp.saturating_sub(step.arrived.latest));
        let ahead = stamp.saturating_sub(step.arrived.earliest);
        most = most.min(ahead.saturating_add(SECOND + SERVERS_APART));
    }
    least <= most
}

impl Step {
    /// When it is reported: when the hub stamped it, by the runner's clock, unless that contradicts its arrival.
    fn reported(&self, skew: Micros) -> Micros {
        let (from, until) = (self.arrived.earliest, self.arrived.latest);
        let believed = from.saturating_sub(2 * SECOND)..=until.saturating_add(SECOND);
        let stamp = self.stamp.map(|stamp| stamp.saturating_sub(skew));
        stamp.filter(|stamp| believed.contains(stamp)).unwrap_or(until)
    }
}

#[cfg(test)]
mod tests {
    use evidence::api::{ClusterProfile, Edition};
    use jiff::Timestamp;
    use serde_json::{Value, json};

    use super::*;
    use crate::rules::example::Example;

    /// The times of the status writes on the only profile, in seconds after the base (2026-01-01).
    fn moments(world: Value) -> Vec<(f64, f64)> {
        let example = json!({"name": "tried", "passes": world});
        let example = Example::parse(&example, Edition::Standard).expect("a world");
        let evidence = example.evidence();
        let base = "2026-01-01T00:00:00Z".parse::<Timestamp>().expect("a time");
        let seconds = |at: Micros| (at - base.as_microsecond()) as f64 / SECOND as f64;
        let differ = |one: &ClusterProfile, other: &ClusterProfile| one.status != other.status;
        writes(evidence, &evidence.profiles[0], differ, |_| true)
            .iter()
            .map(|write| (seconds(write.moment.earliest), seconds(write.moment.latest)))
            .collect()
    }

    /// A step that writes a status, stamped by the hub.
    fn stamped(at: &str, version: &str, stamp: &str) -> Value {
        json!({"at": at, "change": {
            "status": {"version": {"kubernetes": version}},
            "metadata": {"writers": [{
                "manager": "m", "operation": "Update", "subresource": "status", "time": stamp,
                "owns": ["status.version"],
            }]},
        }})
    }

    /// The watch was interrupted.
    fn gap(from: &str, until: &str) -> Value {
        json!({"kind": "timeline", "reason": "changes came late", "from": from, "until": until})
    }

    #[test]
    fn what_arrives_late_was_written_no_earlier_than_its_stamp() {
        let late = json!({"observe": "10m", "gaps": [gap("60s", "90s")], "steps": [
            stamped("18s", "v1.1.0", "${10s}"),
            stamped("90s", "v1.2.0", "${70s}"),
            stamped("95s", "v1.3.0", "${91s}"),
        ]});
        assert_eq!(moments(late), [(9.0, 18.0), (50.0, 90.0), (90.0, 95.0)]);
    }

    #[test]
    fn a_write_that_moves_no_stamp_comes_after_the_one_before() {
        let removal = json!({"observe": "10m", "gaps": [gap("11s", "90s")], "steps": [
            stamped("10500ms", "v1.1.0", "${10s}"),
            {"at": "90s", "change": {"status": {"version": null}}},
        ]});
        assert_eq!(moments(removal), [(9.0, 10.5), (9.0, 90.0)]);
    }

    #[test]
    fn a_stamp_that_contradicts_the_arrival_or_the_order_is_not_believed() {
        let ahead =
            json!({"observe": "10m", "clockSkew": "1h", "steps": [stamped("20s", "v1.1.0", "${3610s}")]});
        assert_eq!(moments(ahead), [(10.0, 20.0)]);
        let future = json!({"observe": "10m", "steps": [stamped("20s", "v1.1.0", "${60s}")]});
        assert_eq!(moments(future), [(10.0, 20.0)]);
        let back = json!({"observe": "10m", "steps": [
            stamped("20s", "v1.1.0", "${19s}"),
            stamped("40s", "v1.2.0", "${9s}"),
        ]});
        assert_eq!(moments(back), [(10.0, 20.0), (30.0, 40.0)]);
    }

    #[test]
    fn steps_that_leave_the_status_alone_are_no_status_writes() {
        let labels = json!({"steps": [{"at": "10s", "change": {"metadata": {"labels": {"tier": "gold"}}}}]});
        assert_eq!(moments(labels), []);
    }
}
