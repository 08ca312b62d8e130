//! Objects by name.

use std::collections::HashMap;

use evidence::{History, Tracked};

/// A namespace and a name.
pub(crate) type Name<'e> = (&'e str, &'e str);

/// The objects of a kind that have had one name, one after the other.
pub(crate) type Named<'e, T> = HashMap<Name<'e>, Vec<&'e History<T>>>;

/// Sorts the objects of a kind by name.
pub(crate) fn named<T: Tracked>(histories: &[History<T>]) -> Named<'_, T> {
    let mut named: Named<T> = HashMap::new();
    for history in histories {
        let metadata = history.last().metadata();
        let key = (&*metadata.namespace, &*metadata.name);
        named.entry(key).or_default().push(history);
    }
    named
}
