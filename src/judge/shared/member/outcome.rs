//! What comes of comparing a profile with its member.

use evidence::api::ClusterProfile;

use crate::{
    subjects::Length,
    time::{Micros, SECOND, timestamp},
};

/// The outcome of a comparison.
pub(crate) enum Outcome<'a, P, M> {
    /// The profile was never wrong for longer than the grace.
    Agrees,
    /// The profile was wrong for longer than the grace.
    Differs(Difference<'a, P, M>),
    /// The two differ, but the looks cover no more time than the grace.
    TooShort,
    /// The watch missed what the profile reported when the member was asked.
    Missed,
    /// The profile reports a value, and the member was unavailable.
    Unseen,
    /// No look agrees for longer than the grace, and some show nothing, for this reason.
    Hidden(Box<Self>),
    /// There is nothing to compare.
    Unsaid,
}

/// A profile that was wrong for longer than the grace.
pub(crate) struct Difference<'a, P, M> {
    /// The profile, in the last version that was wrong.
    pub(crate) profile: &'a ClusterProfile,
    /// The value that it reports.
    pub(crate) said: P,
    /// The value that the member reports.
    pub(crate) seen: M,
    /// Minimum time for which it was wrong.
    pub(super) total: Micros,
    /// When it was wrong at the latest.
    pub(super) since: Micros,
    /// How long the two may differ, in seconds.
    pub(super) grace: i64,
}

impl<P, M> Difference<'_, P, M> {
    /// Says for how long the profile was wrong, since when, and how long it may be.
    pub(crate) fn lasting(&self) -> String {
        format!(
            "for at least {} since {} (grace: {})",
            Length(self.total),
            timestamp(self.since),
            Length(self.grace * SECOND)
        )
    }
}

impl<P, M> Outcome<'_, P, M> {
    /// Merges a later outcome: what tells the most remains.
    pub(super) fn becomes(&mut self, later: Self) {
        let weight = |outcome: &Self| match outcome {
            Outcome::Unsaid | Outcome::Unseen => 0,
            Outcome::Missed => 1,
            Outcome::TooShort => 2,
            Outcome::Agrees => 3,
            Outcome::Hidden(_) => 4,
            Outcome::Differs(_) => 5,
        };
        if weight(&later) >= weight(self) {
            *self = later;
        }
    }
}
