//! The users of every hub that the suite starts.

/// Sets up the hub.
pub(super) const ADMIN: &str = "admin";
/// Runs the suite. May do everything.
pub(super) const RUNNER: &str = "conformance";
/// Plays the implementation. May do everything.
pub(super) const MANAGER: &str = "reference-manager";
/// Plays the implementation of PlacementDecision. May do everything.
pub(super) const SCHEDULER: &str = "reference-scheduler";
/// Plays the consumer. May do everything.
pub(super) const CONSUMER: &str = "reference-consumer";
/// May do nothing until a role is bound to it.
pub(super) const VIEWER: &str = "viewer";
