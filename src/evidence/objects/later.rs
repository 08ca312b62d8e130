//! What a run saw after its window: it looks on while a fault that was open at the end may still be mended in time.

use std::collections::BTreeSet;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Evidence, Gap, Gaps, History, ObjectKey, ProfileHistory, SliceHistory, Tracked, Window,
    api::{names, shape::is_default},
};

/// How a run looked on after its window. Without faults that were open when the window ended, it did not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Settled {
    /// Until when it looked on; the end of the window if it did not.
    pub until: Timestamp,
    /// The number of profiles that it waited for.
    #[serde(default, skip_serializing_if = "is_default")]
    pub profiles: usize,
    /// The number of slices of decisions that it waited for.
    #[serde(rename = "placementDecisions", default, skip_serializing_if = "is_default")]
    pub slices: usize,
    /// True if the run was stopped meanwhile.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_short: bool,
}

/// What a run saw after its window of the objects that it waited for. Nothing else counts of that time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Later {
    /// The profiles, by namespace and name. The first version is the one that the window ended with, unless the profile
    /// was made after it.
    pub profiles: Vec<ProfileHistory>,
    /// The slices of decisions.
    pub slices: Vec<SliceHistory>,
    /// The profiles that the run waited for though none of that name existed when the window ended.
    pub missing: BTreeSet<ObjectKey>,
    /// What was missed of that time.
    pub gaps: Gaps,
}

/// The objects with a fault that was open when the window ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Awaited {
    /// The profiles.
    pub profiles: BTreeSet<ObjectKey>,
    /// The slices of decisions.
    pub slices: BTreeSet<ObjectKey>,
}

impl Settled {
    /// A run that did not look on after its window.
    pub fn at_once(window: Window) -> Self {
        Self {
            until: window.until,
            ..Self::default()
        }
    }

    /// What it waited for, such as `3 profiles`; empty if for nothing.
    pub fn awaited(&self) -> String {
        let counted = |count: usize, noun: &str| match count {
            0 => None,
            1 => Some(format!("1 {noun}")),
            count => Some(format!("{count} {noun}s")),
        };
        let of_both = [counted(self.profiles, "profile"), counted(self.slices, "slice")];
        of_both.into_iter().flatten().collect::<Vec<_>>().join(" and ")
    }

    /// How long it looked on after its window, and for what: `70 s more for 3 profiles to settle`; none if it did not.
    pub fn describe(&self, window: Window) -> Option<String> {
        let awaited = self.awaited();
        let seconds = self.until.duration_since(window.until).as_secs().max(0);
        let stopped = if self.cut_short { ", then stopped" } else { "" };
        (!awaited.is_empty()).then(|| format!("{seconds} s more for {awaited} to settle{stopped}"))
    }
}

impl Later {
    /// Returns `true` if nothing was seen after the window.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Puts the histories in the order in which they are looked up.
    pub fn sort(&mut self) {
        sort(&mut self.profiles);
        sort(&mut self.slices);
    }
}

impl Awaited {
    /// Returns `true` if nothing is open.
    pub fn is_empty(&self) -> bool {
        self.profiles.is_empty() && self.slices.is_empty()
    }

    /// Adds the objects of another one.
    pub fn add(&mut self, other: Self) {
        self.profiles.extend(other.profiles);
        self.slices.extend(other.slices);
    }
}

impl Evidence {
    /// Cuts the evidence at a moment, as if the window had ended then, and the run had waited for all objects until its end.
    pub fn settled_after(&mut self, end: Timestamp) {
        let Some(window) = &mut self.header.window else {
            return;
        };
        self.header.settled = Some(Settled {
            profiles: self.profiles.len(),
            slices: self.slices.len(),
            ..Settled::at_once(*window)
        });
        window.until = end;
        self.later.profiles = cut(&mut self.profiles, end);
        self.later.slices = cut(&mut self.slices, end);
        self.later.missing = self.missing();
        let is_later = |gap: &&Gap| gap.until.is_none_or(|until| until > end);
        self.later.gaps = self.gaps.iter().filter(is_later).cloned().collect();
        self.gaps.retain(|gap| gap.from.is_none_or(|from| from <= end));
        for gap in self.gaps.iter_mut() {
            gap.until = gap.until.map(|until| until.min(end));
        }
        self.later.sort();
    }

    /// The profiles that slices refer to and that do not exist.
    fn missing(&self) -> BTreeSet<ObjectKey> {
        let versions = self.slices.iter().flat_map(|history| &history.versions);
        let references = versions.flat_map(|version| version.object.references());
        let mut missing: BTreeSet<ObjectKey> = references
            .map(|reference| ObjectKey::new(&reference.namespace, &reference.name))
            .collect();
        for profile in self.everyone() {
            missing.remove(&ObjectKey::of(profile));
        }
        missing
    }

    /// Whether the run looked on for the object of that name after its window.
    pub fn was_awaited<T: Tracked>(&self, namespace: &str, name: &str) -> bool {
        let missing = || self.later.missing.contains(&ObjectKey::new(namespace, name));
        !self.later_of::<T>(namespace, name).is_empty() || (T::KIND == names::KIND && missing())
    }

    /// What was seen of the object of that name after the window, if the run waited for it.
    pub fn later_of<T: Tracked>(&self, namespace: &str, name: &str) -> &[History<T>] {
        let all = T::later(&self.later);
        let from = all.partition_point(|history| key(history) < (namespace, name));
        let count = all[from..].partition_point(|history| key(history) == (namespace, name));
        &all[from..from + count]
    }
}

/// Cuts histories at a moment. Returns how they go on.
fn cut<T: Tracked>(histories: &mut Vec<History<T>>, end: Timestamp) -> Vec<History<T>> {
    let mut later = Vec::new();
    for history in &mut *histories {
        let place = history
            .versions
            .partition_point(|version| version.at <= Some(end));
        let is_over = history.deleted.is_some_and(|deleted| deleted <= end);
        if !is_over {
            let versions = history.versions.split_off(place);
            let last = history.versions.last().cloned();
            later.push(History {
                origin: history.origin,
                versions: last.into_iter().chain(versions).collect(),
                deleted: history.deleted.take(),
                deleted_version: history.deleted_version.take(),
            });
        }
    }
    histories.retain(|history| !history.versions.is_empty());
    later
}

fn sort<T: Tracked>(histories: &mut [History<T>]) {
    histories.sort_by(|one, other| {
        key(one)
            .cmp(&key(other))
            .then_with(|| one.versions[0].at.cmp(&other.versions[0].at))
    });
}

fn key<T: Tracked>(history: &History<T>) -> (&str, &str) {
    let metadata = history.last().metadata();
    (&metadata.namespace, &metadata.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_long_and_for_what_is_told() {
        let window = Window {
            from: Timestamp::UNIX_EPOCH,
            until: Timestamp::UNIX_EPOCH,
        };
        let at_once = Settled::at_once(window);
        assert_eq!(at_once.describe(window), None);
        let settled = Settled {
            until: Timestamp::from_second(70).expect("a time"),
            profiles: 3,
            slices: 1,
            cut_short: true,
        };
        let expected = "70 s more for 3 profiles and 1 slice to settle, then stopped";
        assert_eq!(settled.describe(window).as_deref(), Some(expected));
    }
}
