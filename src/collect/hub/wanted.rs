//! How much of what a hub has is wanted.

use evidence::Reason;

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
