//! References to an example's profiles.

use evidence::{ObjectRef, api::names};

/// A reference to a profile of the example.
pub(super) fn profile_reference(namespace: &str, name: &str) -> ObjectRef {
    ObjectRef {
        kind: names::KIND.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        uid: format!("uid-{namespace}-{name}"),
        resource_version: String::new(),
    }
}
