//! A rule that judges all profiles together, and of those that are alike one for all.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use evidence::ProfileHistory;

use super::{roster::Serial, sum::Times};
use crate::{
    excerpt::Excerpt,
    rules::{Alike, Findings, KindOf, Rule},
};

/// The kinds of profiles that one rule tells apart, and what it found.
#[derive(Debug)]
pub(super) struct Kinds {
    pub(super) rule: &'static Rule,
    pub(super) found: Findings,
    kind_of: KindOf,
    kinds: HashMap<Serial, Alike>,
    like: BTreeMap<u64, BTreeSet<Serial>>,
    /// How many profiles are like no other.
    unlike: usize,
    /// The profiles that will be of another kind soon.
    pub(super) unsettled: BTreeSet<Serial>,
    is_outdated: bool,
}

/// The profiles that the rule must judge again.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Needed {
    None,
    /// One of each kind.
    Some(BTreeSet<Serial>),
    All,
}

impl Kinds {
    pub(super) fn new(rule: &'static Rule, kind_of: KindOf) -> Self {
        Self {
            rule,
            found: Findings::default(),
            kind_of,
            kinds: HashMap::new(),
            like: BTreeMap::new(),
            unlike: 0,
            unsettled: BTreeSet::new(),
            is_outdated: true,
        }
    }

    /// Says that the rule must judge again whatever the profiles are.
    pub(super) fn outdate(&mut self) {
        self.is_outdated = true;
    }

    /// Notes of which kind a profile is, which the excerpt holds.
    pub(super) fn put(
        &mut self,
        serial: Serial,
        history: &ProfileHistory,
        excerpt: &mut Excerpt,
        times: Times,
    ) {
        let now = (self.kind_of)(excerpt.as_of(times.now), history);
        let later = (self.kind_of)(excerpt.as_of(times.later), history);
        let is_same = self.kinds.get(&serial).copied() == now;
        if !is_same {
            self.remove(serial);
        }
        if times.later.is_none() || now == later {
            self.unsettled.remove(&serial);
        } else {
            self.unsettled.insert(serial);
        }
        let Some(kind) = now.filter(|_| !is_same) else {
            return;
        };
        self.kinds.insert(serial, kind);
        match kind {
            Alike::To(digest) => {
                let alike = self.like.entry(digest).or_default();
                self.is_outdated |= alike.is_empty();
                alike.insert(serial);
            }
            Alike::None => {
                self.unlike += 1;
                self.is_outdated = true;
            }
        }
    }

    /// Takes a profile away.
    pub(super) fn remove(&mut self, serial: Serial) {
        self.unsettled.remove(&serial);
        match self.kinds.remove(&serial) {
            Some(Alike::To(digest)) => {
                if let Some(alike) = self.like.get_mut(&digest) {
                    alike.remove(&serial);
                    if alike.is_empty() {
                        self.like.remove(&digest);
                        self.is_outdated = true;
                    }
                }
            }
            Some(Alike::None) => {
                self.unlike -= 1;
                self.is_outdated = true;
            }
            None => {}
        }
    }

    /// The profiles that the rule must judge now.
    pub(super) fn needed(&mut self) -> Needed {
        let is_outdated = std::mem::take(&mut self.is_outdated);
        if self.unlike > 0 {
            Needed::All
        } else if is_outdated {
            let firsts = self.like.values().filter_map(BTreeSet::first);
            Needed::Some(firsts.copied().collect())
        } else {
            Needed::None
        }
    }
}
