//! How much of what a hub has is wanted.

use evidence::Reason;

/// A kind of workloads, as in request paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workloads {
    /// The API group; empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The plural.
    pub resource: String,
}

/// How much a kind of evidence is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// It was asked for: what is unavailable is a gap.
    Asked,
    /// By default: what the runner may not have counts as not asked for.
    IfAllowed,
    /// It is not wanted, and why.
    No(Reason),
}
