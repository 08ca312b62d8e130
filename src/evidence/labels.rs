//! The labels of all that the suite prints to be applied to a cluster, and of its manifests: by them it is found again,
//! and taken away.

/// What the object is part of: [`SUITE`], on all of them.
pub const LABEL_PART_OF: &str = "app.kubernetes.io/part-of";
/// Which program the object is for: [`SUITE`] for runs, and other names that begin so.
pub const LABEL_NAME: &str = "app.kubernetes.io/name";
/// What the suite calls itself.
pub const SUITE: &str = "clusterprofile-conformance";
