//! Maps and sets of what a hub says.
//!
//! Their hasher takes a fraction of the standard one's time. It is seeded anew for each of them, so that nobody can
//! write keys whose hashes collide.

use std::collections;

use foldhash::fast::RandomState;

/// A map that is made by `default`.
pub(crate) type HashMap<K, V> = collections::HashMap<K, V, RandomState>;

/// A set that is made by `default`.
pub(crate) type HashSet<K> = collections::HashSet<K, RandomState>;
