//! Why evidence is missing: the plan did not ask for it, or a permission lacks. Callers may add what to do about it.

/// The plan names no audit log: the same as for a dump.
pub use evidence::dump::NO_AUDIT_LOG;

/// The hub is listed once, so that there is no timeline.
pub const ONE_LOOK: &str = "the hub was looked at only once";
/// The observation goes on, and so reads only what can be watched.
pub const NOT_BY_A_WATCH: &str = "an observation that goes on reads only what can be watched";
/// The plan names no way to any member.
pub const NO_MEMBERS: &str = "no member was asked";
/// The plan names no credential plugin.
pub const NO_PLUGINS: &str = "no credential plugin was run";
/// The plan has no driver.
pub const NO_DRIVER: &str = "no driver was given";
/// The plan names no user that reads placements.
pub const NO_CONSUMER_USERS: &str = "no consumer of placements was named";
/// The plan names no kind of workloads.
pub const NO_WORKLOADS: &str = "no kind of workloads was named";
/// The plan does not claim that Secrets are pushed, so Secrets without the label are not read.
pub const NO_CLAIM: &str =
    "consumers' Secrets without the label are read only where consumer-secrets is claimed";
/// The plan has a driver, but no watch that would see what comes of it.
pub const NO_WATCH: &str = "a single look does not see what the implementation does";
/// The plan has a driver that must not write to the hub.
pub const NO_MUTATIONS: &str = "the run may not write to the hub";

/// What every reason says that is a missing permission on the hub; the permission follows.
pub const FORBIDDEN: &str = "the runner may not ";
/// The runner may not list Namespaces.
pub const NO_NAMESPACES: &str = "the runner may not read Namespaces: grant list on namespaces";
/// The runner may not list Secrets.
pub const NO_SECRETS: &str = "the runner may not list Secrets: grant list on secrets";
/// The runner may not send dry-run writes.
pub const NO_DRY_RUN: &str = "the runner may not change ClusterProfiles, not even in a dry run: grant update and patch \
                              on clusterprofiles";
/// What every reason says that is a missing permission on a member; the permission follows.
pub const MEMBER_FORBIDS: &str = "the member answered 403 Forbidden: grant ";
