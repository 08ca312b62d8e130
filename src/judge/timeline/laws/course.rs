//! Random courses of events, and the evidence that a watch makes of them: late, interrupted and off its clock.

use std::sync::Arc;

use evidence::{
    Evidence, Gap, History, Kind, Origin, ProfileHistory, Requested, Version, Window,
    api::{ClusterProfile, Writer},
};
use jiff::Timestamp;
use proptest::{collection::vec, prelude::*, sample::select};

use crate::time::{LATE, Micros, SECOND, SERVERS_APART, Set};

/// The window begins at this moment.
pub(crate) const BEGINS: Micros = 1_700_000_000 * SECOND + 123_456;

/// What an object is from a change on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Is {
    Absent,
    Good,
    Bad,
}

/// A change that took place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SimulatedChange {
    /// When, by the runner's clock.
    pub(crate) at: Micros,
    pub(crate) is: Is,
    /// How late the watch reports it.
    late: Micros,
    /// Whether the hub stamps the write.
    pub(crate) is_stamped: bool,
    /// Whether the write went through the hub's other API server.
    by_other: bool,
}

/// What happened, and how it was watched.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    /// In order, no two at one time. The first is before the window.
    pub(crate) changes: Vec<SimulatedChange>,
    /// How long the window is.
    length: Micros,
    /// The interruptions, apart from each other.
    pub(crate) gaps: Vec<(Micros, Micros)>,
    /// How far the hub's clock is ahead, and what the runner measured.
    ahead: Micros,
    measured: Option<i64>,
    /// When the hub's clock was set, and by how much.
    set: Option<(Micros, Micros)>,
    /// How far the clock of the hub's other API server is ahead of the first one's.
    other: Micros,
}

fn seconds(span: std::ops::Range<i64>) -> impl Strategy<Value = Micros> {
    (span.start * 1000..span.end * 1000).prop_map(|millis| millis * 1000)
}

/// Spans of all orders: faults of a moment, of about the grace, and of the whole window.
fn span() -> impl Strategy<Value = Micros> {
    prop_oneof![seconds(0..5), seconds(0..40), seconds(90..150), seconds(0..400)]
}

fn change() -> impl Strategy<Value = (Micros, Is, Micros, bool, bool)> {
    let late = prop_oneof![Just(0), seconds(0..2), seconds(0..10)];
    let is = select(vec![Is::Bad, Is::Bad, Is::Good, Is::Good, Is::Absent]);
    (span(), is, late, prop::bool::weighted(0.7), any::<bool>())
}

/// A course of events with that many gaps, at most.
pub(crate) fn courses(gaps: usize) -> impl Strategy<Value = Course> {
    let clock = (seconds(-200..200), -900_i64..900, prop::bool::weighted(0.8));
    let set = prop::option::weighted(
        0.2,
        (
            seconds(-200..600),
            select(vec![-3600, -30, -8, -3, 3, 8, 30, 3600]),
            any::<bool>(),
        ),
    );
    let gaps = vec((span(), span()), 0..=gaps);
    let begins = seconds(-700..-1);
    let other = prop_oneof![3 => Just(0), 1 => seconds(-2..3)];
    (
        begins,
        vec(change(), 1..12),
        seconds(1..1200),
        gaps,
        clock,
        set,
        other,
    )
        .prop_map(
            |(begins, changes, length, gaps, (ahead, error, is_measured), set, other)| {
                let mut at = BEGINS + begins;
                let mut all = Vec::new();
                for (after, is, late, is_stamped, by_other) in changes {
                    all.push(SimulatedChange {
                        at,
                        is,
                        late,
                        is_stamped,
                        by_other,
                    });
                    at += after.max(1000);
                }
                let mut from = BEGINS;
                let gaps = gaps.into_iter().map(|(after, long)| {
                    let begin = from + after;
                    from = begin + long.max(1000);
                    (begin, from)
                });
                let gaps: Vec<_> = gaps.filter(|(_, until)| *until < BEGINS + length).collect();
                // A clock that was set by less than a watch may be late shows it only if it was measured before.
                let measures_last = set.is_some_and(|(_, by, is_last)| is_last && i64::abs(by) > 10);
                let set = set.map(|(at, by, _)| (BEGINS + at, by * SECOND));
                let measured = ahead
                    + if measures_last {
                        set.map_or(0, |(_, by)| by)
                    } else {
                        0
                    };
                let course = Course {
                    changes: all,
                    length,
                    gaps,
                    ahead,
                    measured: is_measured.then_some(measured / 1000 + error),
                    set,
                    other,
                };
                course.reported_in_time_where_a_clock_is_ahead()
            },
        )
}

impl Course {
    /// When the window ends.
    pub(crate) fn ends(&self) -> Micros {
        BEGINS + self.length
    }

    /// The time in which the object was bad.
    pub(crate) fn bad(&self) -> Set {
        self.when(Is::Bad)
    }

    /// The time in which the object was so.
    pub(crate) fn when(&self, is: Is) -> Set {
        let ends = self.changes.iter().skip(1).map(|change| change.at);
        let changes = self.changes.iter().zip(ends.chain([Micros::MAX]));
        let such = changes.filter(|(change, _)| change.is == is);
        Set::of(such.map(|(change, until)| (change.at, until)))
    }

    /// The history as another watch would report it: with that watch's gaps, clock, and delays.
    pub(crate) fn watched_as(self, other: &Self) -> Self {
        let watched = Self {
            changes: self.changes,
            ..other.clone()
        };
        watched.reported_in_time_where_a_clock_is_ahead()
    }

    /// Removes the gaps of the watch.
    pub(crate) fn watched_without_gaps(mut self) -> Self {
        self.gaps.clear();
        self
    }

    /// Removes gaps and unknown clocks, and stamps all writes. Timestamps, which are exact to 2 s, show no watch that is later
    /// than [`LATE`].
    pub(crate) fn complete(mut self) -> Self {
        self.gaps.clear();
        self.set = None;
        self.other = 0;
        self.measured = Some(self.ahead / 1000);
        for change in &mut self.changes {
            change.is_stamped = true;
            change.late = change.late.min(LATE - 3 * SECOND);
        }
        self
    }

    /// The clock of the API server that stamped a change.
    fn hub_clock(&self, change: &SimulatedChange) -> Micros {
        let set = self.set.filter(|(since, _)| change.at >= *since);
        let other = if change.by_other { self.other } else { 0 };
        change.at + self.ahead + set.map_or(0, |(_, by)| by) + other
    }

    /// The stamp of the hub for a change.
    fn stamp(&self, change: &SimulatedChange) -> Arc<str> {
        let hub = self.hub_clock(change).div_euclid(SECOND);
        Timestamp::from_second(hub).expect("a time").to_string().into()
    }

    /// If a write was stamped by a clock that is further ahead than it was measured, the watch is never late. Else nothing in
    /// the evidence might show that it is.
    fn reported_in_time_where_a_clock_is_ahead(mut self) -> Self {
        if self.is_stamped_ahead() {
            self.report_in_time();
        }
        self
    }

    /// Whether a write was stamped by a clock that is further ahead than it was measured.
    pub(crate) fn is_stamped_ahead(&self) -> bool {
        let ahead = |change: &SimulatedChange| self.hub_clock(change) - change.at;
        let most = self.changes.iter().map(ahead).max();
        most.zip(self.measured)
            .is_some_and(|(most, measured)| most > measured * 1000 + SECOND)
    }

    /// Lets the watch report each change without a delay.
    pub(crate) fn report_in_time(&mut self) {
        self.changes.iter_mut().for_each(|change| change.late = 0);
    }

    /// The object in the first list: the place of the change that made it.
    pub(crate) fn listed(&self) -> Option<usize> {
        let count = self.changes.partition_point(|change| change.at <= BEGINS);
        let last = count.checked_sub(1)?;
        (self.changes[last].is != Is::Absent).then_some(last)
    }

    /// When the object of a change was created.
    pub(crate) fn created(&self, place: usize) -> Micros {
        let gone = self.changes[..place]
            .iter()
            .rposition(|change| change.is == Is::Absent);
        self.changes[gone.map_or(0, |gone| gone + 1)].at
    }

    /// Makes the clock unknown if the timestamps of the object in the first list are wrong: the newest one is not that of
    /// the last write, or the clock was set.
    pub(crate) fn rightly_dated(mut self) -> Self {
        let Some((listed, measured)) = self.listed().zip(self.measured) else {
            return self;
        };
        let written = self.changes[listed];
        let created = self
            .changes
            .iter()
            .find(|change| change.at == self.created(listed));
        let ahead = |change: &SimulatedChange| self.hub_clock(change) - measured * 1000 - change.at;
        let most = SECOND + SERVERS_APART;
        if !written.is_stamped
            || ahead(&written) < -most
            || created.is_some_and(|created| ahead(created) > most)
        {
            self.measured = None;
        }
        self
    }

    /// Whether the hub's clock may have been set without a watch, by more than a watch may be late.
    pub(crate) fn may_set_its_clock_unseen(&self) -> bool {
        !self.gaps.is_empty() && self.set.is_some_and(|(_, by)| by.abs() >= LATE)
    }

    /// Whether an object was created and deleted within one gap, so that the evidence does not show it.
    pub(crate) fn has_hidden_object(&self) -> bool {
        let is_absent = |change: &&SimulatedChange| change.is == Is::Absent;
        let mut histories = self.changes.split_inclusive(|change| is_absent(&change));
        histories.any(|history| {
            let Some((first, gone)) = history.first().zip(history.last().filter(is_absent)) else {
                return false;
            };
            let mut gaps = self.gaps.iter();
            gaps.any(|(from, until)| first.at >= from - LATE && gone.at <= *until)
        })
    }

    /// The evidence of it. None if the object was never there during the watch.
    pub(crate) fn evidence(&self) -> Option<Evidence> {
        evidence_of(std::slice::from_ref(self))
    }
}

/// The evidence of several objects that one watch reports: that of the first.
pub(crate) fn evidence_of(courses: &[Course]) -> Option<Evidence> {
    let watched = &courses[0];
    let mut watches: Vec<SimulatedWatch> = courses
        .iter()
        .map(|course| SimulatedWatch {
            course,
            histories: Vec::new(),
            reported: 0,
        })
        .collect();
    let end = watched.ends();
    let mut heard = BEGINS;
    watches
        .iter_mut()
        .for_each(|watch| watch.list(BEGINS, Origin::Listed));
    for (from, until) in watched
        .gaps
        .iter()
        .copied()
        .chain([(end + 2 * LATE, Micros::MAX)])
    {
        hear(&mut watches, heard, from, end);
        if until < Micros::MAX {
            watches
                .iter_mut()
                .for_each(|watch| watch.list(until, Origin::Relisted));
            heard = until;
        }
    }
    let mut writes: Vec<(Micros, usize, usize)> = (0..)
        .zip(courses)
        .flat_map(|(object, course)| {
            (0..)
                .zip(&course.changes)
                .map(move |(place, change)| (change.at, object, place))
        })
        .collect();
    writes.sort_unstable();
    let numbered = |object: usize, place: usize| {
        let number = writes
            .iter()
            .position(|(_, one, other)| (*one, *other) == (object, place));
        number.expect("a write").to_string()
    };
    let mut profiles = Vec::new();
    for (object, watch) in watches.into_iter().enumerate() {
        let mut histories = watch.histories;
        if courses.len() > 1 {
            for deleted in histories
                .iter_mut()
                .filter_map(|history| history.deleted_version.as_mut())
            {
                *deleted = numbered(object, deleted.parse().expect("a place")).into();
            }
            for version in histories.iter_mut().flat_map(|history| &mut history.versions) {
                let metadata = &mut version.object.metadata;
                metadata.name = format!("p{object}").into();
                let place = metadata.resource_version.parse().expect("a place");
                metadata.resource_version = numbered(object, place);
            }
        }
        profiles.append(&mut histories);
    }
    if profiles.is_empty() {
        return None;
    }
    let mut evidence = Evidence {
        profiles,
        ..Evidence::default()
    };
    evidence.header.clock_skew_ms = watched.measured;
    evidence.header.window = Some(Window {
        from: timestamp(BEGINS),
        until: timestamp(end),
    });
    evidence.header.requested.insert(Kind::Timeline, Requested::Yes);
    evidence.gaps = watched
        .gaps
        .iter()
        .map(|(from, until)| Gap {
            from: Some(timestamp(*from)),
            until: Some(timestamp(*until)),
            ..Gap::of(Kind::Timeline, "interrupted")
        })
        .collect();
    Some(evidence)
}

/// The watch reports all changes in their order, what arrives in time, and at the end of the window waits for what happened in
/// it.
fn hear(watches: &mut [SimulatedWatch], since: Micros, until: Micros, end: Micros) {
    let mut arrival = since;
    loop {
        let unreported = watches
            .iter_mut()
            .filter_map(|watch| Some((watch.course.changes.get(watch.reported)?, watch)));
        let Some((change, watch)) = unreported.min_by_key(|(change, _)| change.at) else {
            return;
        };
        arrival = arrival.max(change.at + change.late);
        if arrival > until || change.at > end {
            return;
        }
        watch.put(watch.reported, arrival, Origin::Created);
        watch.reported += 1;
    }
}

/// A watch on the course.
struct SimulatedWatch<'c> {
    course: &'c Course,
    histories: Vec<ProfileHistory>,
    /// How many changes were reported, or lost.
    reported: usize,
}

impl SimulatedWatch<'_> {
    /// A list shows the last change of the moment.
    fn list(&mut self, at: Micros, origin: Origin) {
        let next = self.course.changes.iter().position(|change| change.at > at);
        let next = next.unwrap_or(self.course.changes.len());
        if next > self.reported {
            self.reported = next;
            let is_new = self.course.changes[next - 1].is;
            self.put(
                next - 1,
                at,
                if is_new == Is::Absent {
                    Origin::Relisted
                } else {
                    origin
                },
            );
        }
    }

    /// Adds a change to the evidence. What comes after a deletion is another object.
    fn put(&mut self, place: usize, arrival: Micros, origin: Origin) {
        let changes = &self.course.changes;
        let change = changes[place];
        let last_absent = changes[..place]
            .iter()
            .rposition(|change| change.is == Is::Absent);
        let history = last_absent.map_or(0, |absent| absent + 1);
        let uid = format!("u{history}");
        let is_known = self
            .histories
            .last()
            .is_some_and(|known| *known.last().metadata.uid == uid);
        if (!is_known || change.is == Is::Absent)
            && let Some(gone) = self.histories.last_mut()
        {
            // A list shows no deletion.
            let is_reported = change.is == Is::Absent && origin != Origin::Relisted;
            if gone.deleted.is_none() && is_reported {
                gone.deleted_version = Some(place.to_string().into());
            }
            gone.deleted.get_or_insert(timestamp(arrival));
        }
        if change.is == Is::Absent {
            return;
        }
        let stamped = changes[history..=place].iter().rfind(|change| change.is_stamped);
        let mut object = ClusterProfile::default();
        object.metadata.name = "p".into();
        object.metadata.namespace = "n".into();
        object.metadata.uid = uid.as_str().into();
        object.metadata.resource_version = place.to_string();
        object.metadata.generation = Some(i64::from(change.is == Is::Bad));
        object.metadata.creation_timestamp = Some(self.course.stamp(&changes[history]));
        object.metadata.writers = stamped.map(|change| {
            Arc::from([Writer {
                manager: "m".into(),
                time: Some(self.course.stamp(change)),
                ..Writer::default()
            }])
        });
        let version = Version {
            at: Some(timestamp(arrival)),
            object,
        };
        if is_known {
            self.histories.last_mut().expect("known").versions.push(version);
        } else {
            self.histories.push(History {
                origin,
                versions: vec![version],
                deleted: None,
                deleted_version: None,
            });
        }
    }
}

fn timestamp(at: Micros) -> Timestamp {
    Timestamp::from_microsecond(at).expect("a time")
}
