//! The writes of an audit log by object, and in words.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{ObjectRef, Request};

use crate::{
    rules::consumer::support::who::logged::{Key, logged_key},
    text::{counted, redacted},
};

/// What a user's writes on one object were, as a finding shows them.
pub(crate) fn writes_in_words(user: &str, writes: &[&Request]) -> String {
    let verbs: BTreeSet<&str> = writes.iter().map(|request| &*request.verb).collect();
    let verbs: Vec<&str> = verbs.into_iter().collect();
    format!(
        "{} ({}) by {}, first at {}",
        counted(writes.len(), "write"),
        verbs.join(", "),
        redacted(user),
        writes[0].at
    )
}

/// The writes on each object, or on each namespace where the log omits the name.
pub(crate) fn by_object<'e>(
    writes: impl Iterator<Item = &'e Request>,
) -> BTreeMap<Key<'e>, Vec<&'e Request>> {
    let mut by_object: BTreeMap<Key<'e>, Vec<&Request>> = BTreeMap::new();
    for write in writes {
        by_object.entry(logged_key(write)).or_default().push(write);
    }
    by_object
}

/// An object of that kind, as a log names it.
pub(crate) fn logged_object(kind: &str, (namespace, name): Key<'_>) -> ObjectRef {
    ObjectRef {
        kind: kind.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        ..ObjectRef::default()
    }
}
