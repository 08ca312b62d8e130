//! What a watch shows of a history: late, interrupted, and with a wrong clock; with and without authors.

use std::collections::BTreeMap;

use evidence::{
    Evidence, FORMAT, History, Kind, Origin, ProfileHistory, Request, Requested, Requests, Version, Window,
    api::ClusterProfile,
};
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};

use super::course::{BEGINS, Course, Event, Micros, SECOND, span, timestamp};

/// How a history is watched.
#[derive(Clone, Debug)]
pub struct Watch {
    /// When the watch begins, relative to the history, and its length.
    begins: Micros,
    length: Micros,
    /// The delays of successive changes.
    late: Vec<Micros>,
    /// The interruptions: the time since the one before, and the length.
    gaps: Vec<(Micros, Micros)>,
    /// How far the hub's clock is ahead, and the error of the measurement in milliseconds; none if it was not measured.
    ahead: Micros,
    error: Option<i64>,
    /// When the hub's clock was set, and by how much.
    set: Option<(Micros, Micros)>,
    /// How far apart the clocks of two API servers are.
    servers: Micros,
    has_writers: bool,
    has_log: bool,
    is_claimed: bool,
    is_scoped: bool,
    /// Whether the run waits at the end until the watch has reported all that a last list shows.
    has_last_list: bool,
}

/// All ways to watch.
pub fn watches() -> impl Strategy<Value = Watch> {
    let late = vec(
        select(vec![0, 0, 0, 400_000, 2 * SECOND, 5 * SECOND, 9_900_000]),
        1..6,
    );
    let clock = (
        -100 * SECOND..100 * SECOND,
        prop::option::weighted(0.8, -900_i64..900),
        prop::option::weighted(
            0.15,
            (
                -200 * SECOND..900 * SECOND,
                select(vec![-3600, -120, -8, -3, 3, 30]),
            ),
        ),
        // Further apart they are only if a stamp shows it: a named assumption of `time`.
        select(vec![0, 0, 0, SECOND, 2 * SECOND]),
    );
    let flags = any::<[bool; 5]>();
    let gaps = vec((span(), span()), 0..3);
    (-700..700_i64, 30..1500_i64, late, gaps, clock, flags).prop_map(
        |(begins, length, late, gaps, (ahead, error, set, servers), flags)| Watch {
            begins: begins * SECOND,
            length: length * SECOND,
            late,
            gaps,
            ahead,
            error,
            // Clocks that were not compared are at most 5 min apart: a named assumption of `time`.
            set: set
                .filter(|(_, by)| error.is_some() || *by > -300)
                .map(|(at, by)| (BEGINS + at, by * SECOND)),
            servers,
            has_writers: flags[0],
            has_log: flags[1],
            is_claimed: flags[2],
            is_scoped: flags[3],
            has_last_list: flags[4],
        },
    )
}

impl Watch {
    /// Whether it shows managedFields, and the manager's names are configured.
    pub(super) fn knows_authors(&self) -> bool {
        self.has_writers && self.is_claimed
    }

    /// A watch that misses nothing, from before the history until long after it.
    pub fn complete() -> Self {
        Self {
            begins: -700 * SECOND,
            length: 6_000 * SECOND,
            late: vec![0],
            gaps: Vec::new(),
            ahead: 0,
            error: Some(0),
            set: None,
            servers: 0,
            has_writers: true,
            has_log: true,
            is_claimed: true,
            is_scoped: false,
            has_last_list: true,
        }
    }

    /// The clock of the API server that answered then.
    fn hub_time(&self, at: Micros) -> Micros {
        let set = self.set.filter(|(since, _)| at >= *since).map_or(0, |(_, by)| by);
        let is_first = (at / 1000) % 2 == 0;
        let server = if is_first { 0 } else { self.servers };
        at + self.ahead + set + server
    }

    /// Fills in the timestamps. Managers follow the hub's first clock.
    fn stamped(&self, json: &Value, key: &str) -> Value {
        match json {
            Value::String(text) => match text.strip_prefix('@').and_then(|at| at.parse::<Micros>().ok()) {
                Some(at) => {
                    let is_the_hubs = matches!(key, "creationTimestamp" | "time");
                    let at = if is_the_hubs {
                        self.hub_time(at)
                    } else {
                        at + self.ahead
                    };
                    timestamp(at.div_euclid(SECOND) * SECOND).to_string().into()
                }
                None => json.clone(),
            },
            Value::Array(all) => all.iter().map(|each| self.stamped(each, key)).collect(),
            Value::Object(all) => {
                let all = all.iter();
                all.map(|(key, each)| (key.clone(), self.stamped(each, key)))
                    .collect()
            }
            other => other.clone(),
        }
    }

    /// When the watch begins and ends, and its interruptions.
    fn times(&self) -> (Micros, Micros, Vec<(Micros, Micros)>) {
        let from = BEGINS + self.begins;
        let until = from + self.length;
        let mut after = from;
        let gaps = self.gaps.iter().map(|(pause, long)| {
            let begin = after + pause;
            after = begin + long.max(&1000);
            (begin, after)
        });
        (from, until, gaps.filter(|(_, end)| *end < until).collect())
    }

    /// Whether the watch observed at least `enough` of a span without an interruption.
    pub fn saw(&self, (began, ended): (Micros, Micros), enough: Micros) -> bool {
        let (from, until, gaps) = self.times();
        let ends = gaps.iter().map(|(begin, _)| *begin).chain([until]);
        let begins = [from].into_iter().chain(gaps.iter().map(|(_, end)| *end));
        begins
            .zip(ends)
            .any(|(from, until)| until.min(ended) - from.max(began) >= enough)
    }

    /// The evidence of the history.
    pub fn evidence(&self, course: &Course) -> Evidence {
        let (from, until, gaps) = self.times();
        let events = course.events();
        let mut seen = Seen {
            watch: self,
            events: &events,
            histories: Vec::new(),
            reported: 0,
        };
        let mut reported_until = from;
        seen.list(from, Origin::Listed);
        for (begin, end) in &gaps {
            seen.report(reported_until, *begin);
            seen.list(*end, Origin::Relisted);
            reported_until = *end;
        }
        seen.report(reported_until, until);
        if self.has_last_list {
            seen.catch_up(until);
        }
        let requested = ["inventory", "namespaces", "timeline", "writers"].map(|kind| (kind, Requested::Yes));
        let gaps = gaps.iter().map(|(from, until)| {
            let (from, until) = (timestamp(*from), timestamp(*until));
            json!({"kind": "timeline", "from": from, "until": until, "reason": "the watch was interrupted"})
        });
        let mut json = json!({
            "header": {
                "format": FORMAT,
                "claim": {"edition": course.edition},
                "clockSkewMs": self.error.map(|error| self.ahead / 1000 + error),
                "window": {"from": timestamp(from), "until": timestamp(until)},
                "scope": {"clusterManager": self.is_scoped.then_some("m")},
                "requested": BTreeMap::from(requested),
            },
            "namespaces": [{"name": "default"}],
            "gaps": gaps.collect::<Value>(),
        });
        if self.is_claimed {
            json["header"]["claim"]["clusterManager"] = json!({"users": ["m"], "fieldManagers": ["m"]});
        }
        let mut evidence: Evidence = serde_json::from_value(json).expect("evidence");
        evidence.profiles = seen.histories.into_iter().map(|(_, history)| history).collect();
        if self.has_log {
            evidence.header.requested.insert(Kind::Requests, Requested::Yes);
            evidence.requests = Some(self.log(&events, from, until));
        }
        evidence
    }

    fn log(&self, events: &[Event], from: Micros, until: Micros) -> Requests {
        let is_covered = |event: &&Event| (from..=until).contains(&event.at);
        let requests = events.iter().enumerate();
        let requests = requests.filter(|(_, event)| is_covered(event));
        let mut events: Vec<Request> = requests
            .map(|(turn, event)| {
                let json = event.object.as_ref();
                let name = json.or_else(|| self.last_of(events, turn));
                let name = name.and_then(|json| json["metadata"]["name"].as_str());
                let request = json!({
                    "at": timestamp(self.hub_time(event.at)), "verb": event.verb, "user": event.user,
                    "userAgent": format!("{}/v1", event.user), "namespace": "default", "name": name.expect("a name"),
                    "subresource": event.subresource, "code": if event.verb == "create" { 201 } else { 200 },
                    "dryRun": false,
                });
                serde_json::from_value(request).expect("a request")
            })
            .collect();
        events.sort_by_key(|request| request.at);
        let covers = [from, until].map(|at| timestamp(at + self.ahead));
        let first = events
            .first()
            .map_or(covers[0], |request| request.at.min(covers[0]));
        let last = events
            .last()
            .map_or(covers[1], |request| request.at.max(covers[1]));
        Requests {
            covers: Window {
                from: first,
                until: last,
            },
            events,
        }
    }

    fn last_of<'e>(&self, events: &'e [Event], turn: usize) -> Option<&'e Value> {
        let slot = events[turn].slot;
        let before = events[..turn].iter().rev();
        before
            .filter(|event| event.slot == slot)
            .find_map(|event| event.object.as_ref())
    }
}

/// What a watch has reported so far.
struct Seen<'c> {
    watch: &'c Watch,
    events: &'c [Event],
    /// The histories, each with the number of its profile and of its object.
    histories: Vec<((usize, usize), ProfileHistory)>,
    reported: usize,
}

impl Seen<'_> {
    /// A list shows the last change of each profile.
    fn list(&mut self, at: Micros, origin: Origin) {
        let next = self
            .events
            .partition_point(|event| event.at <= at)
            .max(self.reported);
        let slots = self.events[..next].iter().map(|event| event.slot).max();
        for slot in 0..slots.map_or(0, |last| last + 1) {
            let mut pending = self.events[self.reported..next].iter();
            if let Some(last) = pending.rposition(|event| event.slot == slot) {
                self.put(self.reported + last, at, origin);
            }
        }
        self.reported = next;
    }

    /// Reports each change until the end that the watch has not reported yet.
    fn catch_up(&mut self, until: Micros) {
        while self
            .events
            .get(self.reported)
            .is_some_and(|event| event.at <= until)
        {
            self.put(self.reported, until, Origin::Created);
            self.reported += 1;
        }
    }

    fn report(&mut self, since: Micros, until: Micros) {
        let mut arrival = since;
        while let Some(event) = self.events.get(self.reported) {
            let late = self.watch.late[self.reported % self.watch.late.len()];
            arrival = arrival.max(event.at + late);
            if arrival > until {
                return;
            }
            self.put(self.reported, arrival, Origin::Created);
            self.reported += 1;
        }
    }

    fn put(&mut self, place: usize, arrival: Micros, origin: Origin) {
        let event = &self.events[place];
        let life = (event.slot, event.life);
        let known = self
            .histories
            .iter()
            .rposition(|(known, _)| known.0 == event.slot);
        let known = known.map(|known| &mut self.histories[known]);
        let is_known = known.as_ref().is_some_and(|known| known.0 == life);
        let Some(json) = &event.object else {
            if let Some((_, history)) = known {
                history.deleted.get_or_insert(timestamp(arrival));
            }
            return;
        };
        let mut json = self.watch.stamped(json, "");
        json["metadata"]["resourceVersion"] = (100 + place).to_string().into();
        let mut object: ClusterProfile = serde_json::from_value(json).expect("a profile");
        if !self.watch.has_writers {
            object.metadata.writers = None;
        }
        let version = Version {
            at: Some(timestamp(arrival)),
            object,
        };
        match known {
            Some((_, history)) if is_known => history.versions.push(version),
            known => {
                if let Some((_, history)) = known {
                    history.deleted.get_or_insert(timestamp(arrival));
                }
                let history = History {
                    origin,
                    versions: vec![version],
                    deleted: None,
                    deleted_version: None,
                };
                self.histories.push((life, history));
            }
        }
    }
}
