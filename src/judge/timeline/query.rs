//! What an object was at a moment, during a time, and by a deadline.

use evidence::{Reason, ReasonId, Tracked, Version};
use jiff::Timestamp;

use super::{Certainty, Timeline};
use crate::time::Micros;

/// The reason if the watch did not cover a time.
pub(super) const UNOBSERVED: Reason =
    Reason::known(ReasonId::Unknown, "the object was not watched at that time");

/// The reason if a time is after the end.
pub(super) const ENDED: Reason =
    Reason::known(ReasonId::Unknown, "the run stopped watching before that time");

/// The reason if a change may have been made before or after a time.
pub(super) const REPORTED_LATE: Reason = Reason::known(
    ReasonId::Unknown,
    "a watch reports a change up to 10 s late: whether the object changed before that time is unknown",
);

impl<'e, T: Tracked> Timeline<'e, T> {
    /// What the object may have been at some moment of a closed span, in order; none stands for its absence.
    ///
    /// # Errors
    /// The reason why the evidence does not cover the span.
    pub(crate) fn during(&self, from: Micros, until: Micros) -> Result<Vec<Option<&'e Version<T>>>, Reason> {
        if until > self.end {
            return Err(ENDED);
        }
        let first = self.moments[1..].partition_point(|next| next.since.latest <= from);
        let last = self
            .moments
            .partition_point(|moment| moment.since.earliest <= until);
        let places = first..last.max(first + 1);
        if places.clone().any(|place| !self.moments[place].is_observed()) {
            return Err(UNOBSERVED);
        }
        Ok(places.map(|place| self.object(place)).collect())
    }

    /// What the object may have been at a moment, or at the end for a later moment; none if it was absent.
    ///
    /// # Errors
    /// The reason why the evidence does not cover the moment.
    pub(crate) fn at(&self, moment: Timestamp) -> Result<Vec<&'e T>, Reason> {
        let moment = moment.as_microsecond().min(self.end);
        let versions = self.during(moment, moment)?.into_iter().flatten();
        Ok(versions.map(|version| &version.object).collect())
    }

    /// Whether the object was as expected by a deadline; none stands for its absence.
    ///
    /// Yes: it was so when last seen by then, so it became so in time. No: it was not so at the deadline.
    pub(crate) fn by(&self, deadline: Micros, expected: impl Fn(Option<&'e T>) -> bool) -> Certainty {
        let is_expected = |place: usize| {
            let is_observed = self.moments[place].is_observed();
            is_observed.then(|| expected(self.object(place).map(|version| &version.object)))
        };
        let seen = self.moments.partition_point(|moment| moment.seen_at <= deadline);
        let last = seen.saturating_sub(1);
        if is_expected(last) == Some(true) {
            return Certainty::Yes;
        }
        let begun = self
            .moments
            .partition_point(|moment| moment.since.earliest <= deadline);
        let candidates: Vec<Option<bool>> = (last..begun.max(seen)).map(is_expected).collect();
        if candidates.contains(&None) {
            Certainty::Unknown(UNOBSERVED)
        } else if candidates.contains(&Some(true)) {
            Certainty::Unknown(REPORTED_LATE)
        } else if deadline > self.end {
            Certainty::Unknown(ENDED)
        } else {
            Certainty::No
        }
    }
}
