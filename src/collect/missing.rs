//! Why evidence is missing that the plan did not ask for. Callers may add how to ask for it.

/// The plan names no audit log: the same as for a dump.
pub use evidence::dump::NO_AUDIT_LOG;

/// The hub is listed once, so that there is no timeline.
pub const ONE_LOOK: &str = "the hub was looked at only once";
/// The plan names no way to any member.
pub const NO_MEMBERS: &str = "no member was asked";
/// The plan names no credential plugin.
pub const NO_PLUGINS: &str = "no credential plugin was run";
/// The plan has no driver.
pub const NO_DRIVER: &str = "the implementation was not made to act";
/// The plan claims no Secrets, so nobody looks for those that lack their label.
pub const NO_CLAIM: &str =
    "consumers' Secrets without the label are read only where consumer-secrets is claimed";
/// The plan has a driver, but no watch that would see what comes of it.
pub const NO_WATCH: &str = "a single look does not see what the implementation does";
/// The plan has a driver that must not write to the hub.
pub const NO_MUTATIONS: &str = "the run may not write to the hub";
