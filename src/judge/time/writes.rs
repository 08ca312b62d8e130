//! When an object was written.

use evidence::{Evidence, History, Kind, Request, Requests, Tracked, Version, api::Writer, parse_time};
use jiff::SignedDuration;

use super::{
    Edge, Event, Micros, SECOND, Timeline,
    clock::{SERVERS_APART, new_stamp, skew},
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

/// Whether a log is complete from some time before a request until the same time after it.
pub(crate) fn is_logged_around(
    evidence: &Evidence,
    log: &Requests,
    request: &Request,
    time: SignedDuration,
) -> bool {
    let at = request.at.as_microsecond();
    let time = SECOND * time.as_secs();
    let (from, until) = (at.saturating_sub(time), at.saturating_add(time));
    let covers = (
        log.covers.from.as_microsecond(),
        log.covers.until.as_microsecond(),
    );
    covers.0 <= from && until <= covers.1 && !is_log_broken(evidence, from, until)
}

/// Whether a log has a gap in a closed span, in which anybody may have written.
pub(crate) fn is_log_broken(evidence: &Evidence, from: Micros, until: Micros) -> bool {
    let first = evidence.gaps.times(Kind::Requests).earliest(from);
    first.is_some_and(|start| start <= until)
}

/// The writes between successive versions of an object that differ, stamped by the writers that count.
pub(crate) fn writes<'e, T: Tracked>(
    evidence: &'e Evidence,
    history: &'e History<T>,
    differ: fn(&T, &T) -> bool,
    counts: fn(&Writer) -> bool,
) -> Vec<Write<'e, T>> {
    if !history
        .steps()
        .any(|(before, after)| differ(&before.object, &after.object))
    {
        return Vec::new();
    }
    let skew = skew(evidence);
    let timeline = Timeline::of(evidence, &[history]);
    let steps = timeline
        .steps()
        .filter(|(before, after, _)| differ(&before.object, &after.object));
    let write = |(before, after, edge): (&'e Version<T>, &'e Version<T>, Edge)| {
        let stamp = new_stamp(Some(&before.object), &after.object, counts).and_then(parse_time);
        let stamp = stamp.map(|stamp| stamp.as_microsecond());
        Write {
            before,
            after,
            moment: Event {
                stamp,
                reported: reported(edge, stamp.map(|stamp| stamp.saturating_sub(skew))),
                ..Event::between(edge.earliest, edge.latest)
            },
        }
    };
    let mut writes: Vec<Write<'e, T>> = steps.map(write).collect();
    if !is_one_clock(&writes) {
        for Write { moment, .. } in &mut writes {
            (moment.stamp, moment.reported) = (None, moment.latest);
        }
    }
    // What was written before something is reported so.
    let mut next = Micros::MAX;
    for Write { moment, .. } in writes.iter_mut().rev() {
        next = next.min(moment.reported);
        moment.reported = next;
    }
    writes
}

/// When a write is reported: when the hub stamped it, by the runner's clock, unless that contradicts its arrival.
fn reported(edge: Edge, stamp: Option<Micros>) -> Micros {
    let believed = edge.earliest.saturating_sub(2 * SECOND)..=edge.latest.saturating_add(SECOND);
    stamp
        .filter(|stamp| believed.contains(stamp))
        .unwrap_or(edge.latest)
}

/// Whether one clock may have stamped all writes: one skew explains all of them, and it never goes back. Only differences
/// of stamps are compared, so the skew need not be known.
fn is_one_clock<T>(writes: &[Write<'_, T>]) -> bool {
    let (mut least, mut most, mut newest) = (Micros::MIN, Micros::MAX, Micros::MIN);
    let moments = writes.iter().map(|write| write.moment);
    for (moment, stamp) in moments.filter_map(|moment| Some((moment, moment.stamp?))) {
        // Servers that differ stamp in another order what they write in turns.
        if stamp < newest.saturating_sub(SERVERS_APART) {
            return false;
        }
        newest = newest.max(stamp);
        least = least.max(stamp.saturating_sub(moment.latest));
        let ahead = stamp.saturating_sub(moment.earliest);
        most = most.min(ahead.saturating_add(SECOND + SERVERS_APART));
    }
    least <= most
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
