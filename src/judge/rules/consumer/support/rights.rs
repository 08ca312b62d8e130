//! What the hub lets a user do, in words.

use std::collections::BTreeMap;

use evidence::{AllowedWrite, ObjectRef};

use crate::text::redacted;

/// A user, as the object of a finding.
pub(crate) fn user_ref(user: &str) -> ObjectRef {
    ObjectRef {
        kind: "User".to_owned(),
        name: redacted(user),
        ..ObjectRef::default()
    }
}

/// Which verbs are allowed, namespace by namespace: `create, delete in default`.
pub(crate) fn allowed_by_namespace<'w>(writes: impl IntoIterator<Item = &'w AllowedWrite>) -> Vec<String> {
    let mut verbs: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for write in writes {
        verbs.entry(&write.namespace).or_default().push(&write.verb);
    }
    let told = verbs.iter();
    told.map(|(namespace, verbs)| format!("{} in {namespace}", verbs.join(", ")))
        .collect()
}
