//! Finds the few profiles that share a key among very many, without copying the keys.

use std::{
    hash::{BuildHasher as _, Hash},
    sync::LazyLock,
};

use foldhash::quality::RandomState;

/// Seeded anew in each process, so that nobody can write keys whose digests collide.
static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::default);

/// The digest of a key, which differs in each process. Equal digests do not imply equal keys: the caller compares those.
pub(crate) fn digest(key: impl Hash) -> u64 {
    HASHER.hash_one(key)
}

/// Digests of keys, each with the position in the inventory of a profile that has the key. Each pair is one number, which
/// sorts faster: the digest, then the position.
#[derive(Debug, Default)]
pub(crate) struct DigestIndex(Vec<u128>);

impl DigestIndex {
    /// Adds the digest of a key of the profile at that position.
    pub(crate) fn add(&mut self, digest: u64, place: usize) {
        self.0.push(u128::from(digest) << 64 | place as u128);
    }

    /// How many digests were added.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Groups of two or more positions with one digest, each position once. Groups and positions are in the order of
    /// the inventory.
    pub(crate) fn groups(&mut self) -> Vec<Vec<usize>> {
        self.0.sort_unstable();
        self.0.dedup();
        let mut groups: Vec<Vec<usize>> = self
            .0
            .chunk_by(|one, other| one >> 64 == other >> 64)
            .filter(|group| group.len() > 1)
            .map(|group| group.iter().map(|pair| *pair as usize).collect())
            .collect();
        groups.sort_unstable();
        groups
    }
}
