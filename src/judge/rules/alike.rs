//! Finds the few that are alike among very many, without copying what they are compared by.

use std::hash::{DefaultHasher, Hash, Hasher};

/// The digest of a key. Equal keys have equal digests; the reverse is for the caller to check.
pub(super) fn digest(key: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

/// Digests of keys, each with the place in the inventory of a profile that has the key.
#[derive(Debug, Default)]
pub(super) struct Marks(Vec<(u64, u32)>);

impl Marks {
    /// Notes that the profile at a place has a key.
    pub(super) fn add(&mut self, digest: u64, place: usize) {
        // An inventory holds some 100,000 profiles; those beyond four thousand million go unmarked.
        if let Ok(place) = u32::try_from(place) {
            self.0.push((digest, place));
        }
    }

    /// Groups of places with one digest, where there are several, each in the inventory's order and once.
    pub(super) fn groups(mut self) -> Vec<Vec<usize>> {
        self.0.sort_unstable();
        self.0.dedup();
        self.0
            .chunk_by(|(one, _), (other, _)| one == other)
            .filter(|group| group.len() > 1)
            .map(|group| group.iter().map(|(_, place)| *place as usize).collect())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_those_with_company_are_grouped() {
        let mut marks = Marks::default();
        for (place, key) in ["a", "b", "a", "c", "b", "a"].into_iter().enumerate() {
            marks.add(digest(key), place);
        }
        marks.add(digest("c"), 3);
        let mut groups = marks.groups();
        groups.sort();
        assert_eq!(groups, [vec![0, 2, 5], vec![1, 4]]);
    }
}
