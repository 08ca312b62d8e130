//! What the reader of a dump should know, and no verdict depends on.

use std::collections::{BTreeMap, BTreeSet};

use crate::api::names;

/// How many ignored kinds are told apart.
const KINDS: usize = 1000;
/// The most characters of the longest kind with its group.
const LONGEST_KIND: usize = 320;

/// The objects that a dump holds besides, counted by kind.
#[derive(Default)]
pub(super) struct Ignored(BTreeMap<String, usize>);

impl Ignored {
    pub fn add(&mut self, what: &str) {
        let mut what: String = what.chars().take(LONGEST_KIND).collect();
        if self.0.len() >= KINDS && !self.0.contains_key(&what) {
            what = "object of another kind".to_owned();
        }
        *self.0.entry(what).or_default() += 1;
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Says so, if there are any.
    pub fn note(&self) -> Option<String> {
        (!self.is_empty()).then(|| format!("ignored in the dump: {}", counted(&self.0)))
    }

    /// Counts them together with those of known kinds.
    pub fn counted_with<'k>(&self, kinds: impl Iterator<Item = &'k str>) -> String {
        let mut found = self.0.clone();
        for kind in kinds {
            *found.entry(kind.to_owned()).or_default() += 1;
        }
        counted(&found)
    }
}

/// Says that objects are in versions of the API that the suite does not know, if so.
pub(super) fn unknown_versions(versions: &BTreeSet<String>, kind: &str) -> Option<String> {
    const SHOWN: usize = 3;
    const LONGEST: usize = 63;
    let unknown = versions.iter().map(String::as_str);
    let unknown = unknown.filter(|version| !names::VERSIONS.contains(version));
    let listed = unknown
        .take(SHOWN)
        .map(|version| version.chars().take(LONGEST).collect());
    let listed: Vec<String> = listed.collect();
    (!listed.is_empty()).then(|| {
        format!(
            "{kind}s are read as {}: this suite does not know their version {}",
            names::VERSIONS[0],
            listed.join(", ")
        )
    })
}

/// Formats counts, such as `2 × Pod, 1 × Secret`; the first of many kinds.
fn counted(what: &BTreeMap<String, usize>) -> String {
    const SHOWN: usize = 20;
    let shown = what.iter().take(SHOWN);
    let mut counts: Vec<String> = shown.map(|(what, count)| format!("{count} × {what}")).collect();
    let more: usize = what.values().skip(SHOWN).sum();
    if more > 0 {
        counts.push(format!("{more} of other kinds"));
    }
    counts.join(", ")
}
