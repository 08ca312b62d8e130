//! How much of what a hub has is wanted.

use evidence::{Asked, Gap, Kind, Reason};

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

impl Wish {
    /// Whether a kind of evidence counts as requested, and the gap if it is requested but not allowed.
    pub(crate) fn asked(&self, is_allowed: bool, kind: Kind, not_allowed: Reason) -> (Asked, Option<Gap>) {
        match self {
            Wish::No(reason) => (Asked::No(reason.clone()), None),
            Wish::Asked if !is_allowed => (Asked::Yes, Some(Gap::of(kind, not_allowed))),
            Wish::IfAllowed if !is_allowed => (Asked::No(not_allowed), None),
            Wish::Asked | Wish::IfAllowed => (Asked::Yes, None),
        }
    }
}
