//! Which rules still read by themselves who wrote, created or deleted something.

use crate::time::readers::readers;

/// What only this module is to read: managedFields, users and user agents of a log, and the names that were claimed.
const WORDS: [&str; 10] = [
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
];

/// The files that come to this module one after the other. None is to be added.
const STILL: [&str; 11] = [
    "shared/answer/foreign.rs",
    "rules/lifecycle/foreign.rs",
    "rules/placement_labels/scheduler.rs",
    "rules/placement_ownership/consumers.rs",
    "rules/placement_ownership/conversation.rs",
    "rules/placement_ownership/foreign.rs",
    "rules/placement_ownership/lives.rs",
    "rules/placement_ownership/users.rs",
    "rules/placement_ownership/writers.rs",
    "rules/placement_references/legacy.rs",
    "rules/placement_updates/empty.rs",
];

#[test]
fn rules_leave_authors_to_this_module() {
    assert_eq!(readers(&WORDS), STILL.map(str::to_owned).into());
}
