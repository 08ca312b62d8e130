//! What the writes of a profile spend of its budget.

use evidence::api::ClusterProfile;

use crate::{shared::bucket::Spent, who::Who};

/// Tells who wrote profiles.
pub(super) type Writers<'e> = Who<'e, ClusterProfile>;

/// What is spent of a bucket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spendable {
    /// By all writes.
    all: Spent,
    /// By those that may be the manager's.
    pub(super) own: Spent,
    /// Whether they overdraw it without those that may be a person's as well.
    pub(super) is_sure: bool,
}

impl Spendable {
    /// Less is asked for only if more exceeds the budget.
    pub(super) fn of(all: Spent, own: impl FnOnce() -> Spent, sure: impl FnOnce() -> Spent) -> Self {
        let own = if all == Spent::Kept { all } else { own() };
        Self {
            all,
            own,
            is_sure: own.overdraw().is_some() && sure().overdraw().is_some(),
        }
    }

    /// Whether the writes of others alone make it exceed the budget.
    pub(super) fn is_excused(&self) -> bool {
        self.all != Spent::Kept && self.own == Spent::Kept
    }
}
