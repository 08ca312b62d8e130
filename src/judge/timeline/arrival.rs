//! The versions and deletions of objects, as a watch or a list reported them.

use std::ptr;

use evidence::{Evidence, History, Origin, Tracked, Version};

use crate::{
    hash::HashMap,
    time::{Edge, HubClock, LATE, Micros, SERVERS_APART, is_watched, new_stamp, stamp_of},
};

/// A version or a deletion of one object.
pub(super) struct Arrival<'e, T> {
    /// When the run received it.
    pub(super) at: Micros,
    /// The place of the object's name among the names of the timeline.
    pub(super) slot: usize,
    /// The number in the resourceVersion, which orders all writes to objects of a kind.
    order: Option<u64>,
    pub(super) life: &'e History<T>,
    /// The version before; none for the first one.
    pub(super) before: Option<&'e Version<T>>,
    /// None for the deletion.
    pub(super) version: Option<&'e Version<T>>,
    /// The earliest moment at which the API server can have made it, by its timestamps.
    pub(super) stamp: Option<Micros>,
    /// Whether it was in the first list.
    pub(super) is_listed: bool,
    /// Whether the run waited for it after the window.
    pub(super) is_later: bool,
}

/// All arrivals of the objects of a timeline, in order.
pub(super) struct Arrivals<'e, T> {
    pub(super) names: Vec<(&'e str, &'e str)>,
    pub(super) all: Vec<Arrival<'e, T>>,
    clock: HubClock,
}

impl<T> Arrival<'_, T> {
    /// When the API server made it. A new server timestamp is the lower bound, also if it shows a watch that is very late.
    pub(super) fn edge(&self) -> Edge {
        let earliest = self.stamp.unwrap_or(self.at.saturating_sub(LATE));
        Edge::between(earliest, self.at)
    }
}

impl<'e, T: Tracked> Arrivals<'e, T> {
    /// The arrivals of the objects of these names.
    pub(super) fn of(evidence: &'e Evidence, names: &[(&'e str, &'e str)], lives: &[&'e History<T>]) -> Self {
        let mut arrivals = Self {
            names: Vec::new(),
            all: Vec::new(),
            clock: HubClock::of(evidence),
        };
        let mut slots: HashMap<(&str, &str), usize> = HashMap::default();
        for name in names {
            slots.entry(*name).or_insert_with(|| {
                arrivals.names.push(*name);
                arrivals.names.len() - 1
            });
        }
        let mut of_slot: Vec<Vec<&'e History<T>>> = vec![Vec::new(); arrivals.names.len()];
        let later = T::later(&evidence.later).as_ptr_range();
        for life in lives {
            let metadata = life.first().metadata();
            let slot = slots[&(&*metadata.namespace, &*metadata.name)];
            if !later.contains(&ptr::from_ref(*life)) {
                of_slot[slot].push(life);
            }
        }
        for (slot, lives) in of_slot.iter_mut().enumerate() {
            lives.sort_by_key(|life| life.versions[0].received());
            let first = arrivals.all.len();
            arrivals.add_lives(evidence, slot, lives);
            let of_name = arrivals.all[first..].iter();
            let stamps = of_name.filter_map(|arrival| Some((arrival.stamp?, arrival.at)));
            arrivals.clock = arrivals.clock.unless_contradicted(stamps);
        }
        if arrivals.clock == HubClock::UNKNOWN {
            arrivals.all.iter_mut().for_each(|arrival| arrival.stamp = None);
        }
        arrivals.all.sort_by_key(|arrival| arrival.at);
        arrivals.distrust_late_ones();
        arrivals
    }

    /// A server timestamp that is older than a watch is late shows that the watch was as late for the changes before.
    fn distrust_late_ones(&mut self) {
        let mut oldest = vec![Micros::MAX; self.names.len()];
        for arrival in self.all.iter_mut().rev() {
            match arrival.stamp {
                Some(stamp) => oldest[arrival.slot] = stamp.min(oldest[arrival.slot]),
                None if oldest[arrival.slot] < arrival.at.saturating_sub(LATE) => {
                    arrival.stamp = Some(Micros::MIN);
                }
                None => {}
            }
        }
    }

    /// Adds the objects of one name, and what was seen of the name after the window.
    fn add_lives(&mut self, evidence: &'e Evidence, slot: usize, lives: &[&'e History<T>]) {
        for life in lives {
            self.add(slot, life, None, false);
        }
        if !is_watched::<T>(evidence) {
            return;
        }
        let (namespace, name) = self.names[slot];
        let last = lives.last().filter(|life| life.deleted.is_none());
        for life in evidence.later_of::<T>(namespace, name) {
            let is_same = |last: &&&History<T>| last.last().metadata().uid == life.first().metadata().uid;
            self.add(
                slot,
                life,
                last.filter(is_same).and_then(|last| last.versions.last()),
                true,
            );
        }
    }

    /// Adds an object. One that outlasted the window begins with a copy of its `last` version.
    fn add(&mut self, slot: usize, life: &'e History<T>, last: Option<&'e Version<T>>, is_later: bool) {
        let resource_version = |version: &'e Version<T>| &*version.object.metadata().resource_version;
        let mut before = last;
        for (place, version) in life.versions.iter().enumerate() {
            if place == 0 && before.is_some_and(|last| resource_version(last) == resource_version(version)) {
                continue;
            }
            self.all.push(Arrival {
                at: version.received().as_microsecond(),
                slot,
                order: resource_version(version).parse().ok(),
                life,
                before,
                version: Some(version),
                stamp: stamp_of(self.clock, before.map(|before| &before.object), &version.object),
                is_listed: before.is_none() && life.origin == Origin::Listed,
                is_later,
            });
            before = Some(version);
        }
        if let Some(deleted) = life.deleted {
            self.all.push(Arrival {
                at: deleted.as_microsecond(),
                slot,
                order: life
                    .deleted_version
                    .as_deref()
                    .and_then(|version| version.parse().ok()),
                life,
                before,
                version: None,
                stamp: None,
                is_listed: false,
                is_later,
            });
        }
    }

    /// When the objects of the first list became what it shows: not before the last of them was created.
    pub(super) fn listed_edge(&self, listed: &[Arrival<'e, T>], read_by: Micros) -> Edge {
        let stamps = listed.iter().filter_map(|arrival| {
            let created = arrival.version?.object.metadata().creation_timestamp.as_deref()?;
            self.clock.earliest(created)
        });
        let earliest = stamps.max().unwrap_or(Micros::MIN);
        Edge::between(earliest.saturating_sub(SERVERS_APART), read_by)
    }

    /// By when the API server had made the last write to an object of the first list, by the newest time in its
    /// managedFields, or its creation. An object that was restored from a backup may have older managedFields.
    pub(super) fn last_write(&self, listed: &Arrival<'e, T>) -> Option<Micros> {
        let object = &listed.version?.object;
        let newest = new_stamp(None, object)?;
        let created = object
            .metadata()
            .creation_timestamp
            .as_deref()
            .unwrap_or_default();
        self.clock.latest(newest.max(created))
    }
}

/// Sorts arrivals of one moment into the order of the hub, if their resourceVersions have one. Arrivals of one name are in
/// order already.
pub(super) fn put_in_hub_order<T>(batch: &mut [Arrival<'_, T>]) -> bool {
    if batch.iter().all(|arrival| arrival.slot == batch[0].slot) {
        return true;
    }
    let is_ordered = batch.iter().all(|arrival| arrival.order.is_some());
    if is_ordered {
        batch.sort_by_key(|arrival| arrival.order);
    }
    is_ordered
}
