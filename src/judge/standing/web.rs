//! Which profiles are tied to each other, so that a rule must judge them together.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::roster::Serial;
use crate::rules::Tie;

/// The profiles of a fleet in parts: those of one part are tied, directly or by others. A part has the serial number of
/// its first profile.
#[derive(Debug, Default)]
pub(super) struct Web {
    ties: HashMap<Serial, Vec<Tie>>,
    knots: HashMap<u64, Knot>,
    /// The parts of two or more profiles.
    parts: HashMap<Serial, Vec<Serial>>,
    part_of: HashMap<Serial, Serial>,
    /// The profiles whose part must be found anew.
    loose: BTreeSet<Serial>,
    gone: Vec<Serial>,
}

/// What changed in the parts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Change {
    /// The parts that are no more.
    pub(super) gone: BTreeSet<Serial>,
    /// The parts that are new, or have a profile that changed.
    pub(super) made: BTreeSet<Serial>,
}

/// The profiles with one key.
#[derive(Debug)]
enum Knot {
    /// Nearly all keys have but one profile.
    One(Serial, Option<u64>),
    Many(Box<Many>),
}

#[derive(Debug, Default)]
struct Many {
    profiles: BTreeMap<Serial, Option<u64>>,
    /// How many profiles say each thing.
    sayings: HashMap<u64, usize>,
    /// How many say what no other does.
    unlike: usize,
}

impl Many {
    fn add(&mut self, serial: Serial, says: Option<u64>) {
        self.profiles.insert(serial, says);
        match says {
            Some(says) => *self.sayings.entry(says).or_default() += 1,
            None => self.unlike += 1,
        }
    }

    fn remove(&mut self, serial: Serial) {
        match self.profiles.remove(&serial) {
            Some(Some(says)) => {
                if let Some(count) = self.sayings.get_mut(&says) {
                    *count -= 1;
                    if *count == 0 {
                        self.sayings.remove(&says);
                    }
                }
            }
            Some(None) => self.unlike -= 1,
            None => {}
        }
    }
}

impl Knot {
    /// Whether its profiles are tied: not all of them say the same.
    fn ties(&self) -> bool {
        match self {
            Knot::One(..) => false,
            Knot::Many(many) => many.sayings.len() + many.unlike > 1,
        }
    }

    fn profiles(&self) -> Vec<Serial> {
        match self {
            Knot::One(serial, _) => vec![*serial],
            Knot::Many(many) => many.profiles.keys().copied().collect(),
        }
    }
}

impl Web {
    /// Adds a profile, or says that it changed.
    pub(super) fn put(&mut self, serial: Serial, mut ties: Vec<Tie>) {
        // Several ties of one key say several things, which is more than any other profile says.
        ties.sort_unstable();
        ties.dedup();
        ties.dedup_by(|later, earlier| {
            let is_same = later.key == earlier.key;
            if is_same {
                earlier.says = None;
            }
            is_same
        });
        self.loosen(serial);
        self.loose.insert(serial);
        let before = self.ties.insert(serial, ties);
        let before = before.unwrap_or_default();
        let now = self.ties[&serial].clone();
        if before == now {
            return;
        }
        for tie in before.iter().filter(|tie| !now.contains(tie)) {
            self.untie(serial, tie);
        }
        for tie in now.iter().filter(|tie| !before.contains(tie)) {
            self.tie(serial, tie);
        }
    }

    /// Takes a profile away.
    pub(super) fn remove(&mut self, serial: Serial) {
        if !self.part_of.contains_key(&serial) {
            self.gone.push(serial);
        }
        self.loosen(serial);
        for tie in self.ties.remove(&serial).unwrap_or_default() {
            self.untie(serial, &tie);
        }
        self.loose.remove(&serial);
    }

    /// Finds the parts anew where something changed.
    pub(super) fn settle(&mut self) -> Change {
        let mut change = Change {
            gone: self.gone.drain(..).collect(),
            made: BTreeSet::new(),
        };
        while let Some(first) = self.loose.pop_first() {
            let mut part = BTreeSet::from([first]);
            let mut waiting = vec![first];
            let mut seen: BTreeSet<u64> = BTreeSet::new();
            while let Some(serial) = waiting.pop() {
                if let Some(old) = self.part_of.get(&serial).copied() {
                    self.dissolve(old);
                    change.gone.insert(old);
                } else {
                    change.gone.insert(serial);
                }
                self.loose.remove(&serial);
                for tie in self.ties.get(&serial).into_iter().flatten() {
                    let Some(knot) = self.knots.get(&tie.key).filter(|knot| knot.ties()) else {
                        continue;
                    };
                    if seen.insert(tie.key) {
                        waiting.extend(knot.profiles().into_iter().filter(|serial| part.insert(*serial)));
                    }
                }
            }
            let Some(id) = part.first().copied() else {
                continue;
            };
            change.made.insert(id);
            if part.len() > 1 {
                self.part_of.extend(part.iter().map(|serial| (*serial, id)));
                self.parts.insert(id, part.into_iter().collect());
            }
        }
        change
    }

    /// The profiles of a part, in order.
    pub(super) fn profiles(&self, part: Serial) -> Vec<Serial> {
        self.parts.get(&part).cloned().unwrap_or_else(|| vec![part])
    }

    /// Lets all profiles find their part anew that are in one with a profile.
    fn loosen(&mut self, serial: Serial) {
        if let Some(part) = self.part_of.get(&serial).copied() {
            self.gone.push(part);
            self.dissolve(part);
        }
    }

    fn dissolve(&mut self, part: Serial) {
        for serial in self.parts.remove(&part).unwrap_or_default() {
            self.part_of.remove(&serial);
            self.loose.insert(serial);
        }
    }

    fn tie(&mut self, serial: Serial, tie: &Tie) {
        let Some(knot) = self.knots.get_mut(&tie.key) else {
            self.knots.insert(tie.key, Knot::One(serial, tie.says));
            return;
        };
        let was_tied = knot.ties();
        if let Knot::One(other, says) = *knot {
            let mut many = Box::<Many>::default();
            many.add(other, says);
            *knot = Knot::Many(many);
        }
        if let Knot::Many(many) = knot {
            many.add(serial, tie.says);
        }
        if was_tied != knot.ties() {
            self.loose_all(tie.key);
        }
    }

    fn untie(&mut self, serial: Serial, tie: &Tie) {
        let Some(knot) = self.knots.get_mut(&tie.key) else {
            return;
        };
        let was_tied = knot.ties();
        let is_empty = match knot {
            Knot::One(..) => true,
            Knot::Many(many) => {
                many.remove(serial);
                many.profiles.is_empty()
            }
        };
        let is_tied = !is_empty && knot.ties();
        if was_tied && !is_tied {
            self.loose_all(tie.key);
        }
        if is_empty {
            self.knots.remove(&tie.key);
        }
    }

    /// Lets the profiles of a key find their parts anew.
    fn loose_all(&mut self, key: u64) {
        let profiles = self.knots.get(&key).map(Knot::profiles).unwrap_or_default();
        for serial in profiles {
            self.loosen(serial);
            self.loose.insert(serial);
        }
    }
}
