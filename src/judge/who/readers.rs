//! No rule reads by itself who wrote, created or deleted something.

use std::collections::BTreeSet;

use crate::time::readers::readers;

/// What only this module is to read: managedFields, users and user agents of a log, and the names that were claimed.
const WORDS: [&str; 12] = [
    ".writers",
    "Writer",
    ".user_agent",
    "request.user",
    "write.user",
    "event.user",
    "other.user",
    ".field_managers",
    "has_field_manager(",
    "has_user(",
    "claim.cluster_manager",
    "claim.scheduler",
];

#[test]
fn rules_leave_authors_to_this_module() {
    assert_eq!(readers(&WORDS), BTreeSet::new());
}
