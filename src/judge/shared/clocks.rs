//! Compares times of different clocks. The hub stamps creations, managers stamp what they report, and the runner stamps
//! what it sees.

use evidence::{Evidence, ProfileHistory};

use crate::time::end;
pub(crate) use crate::time::{Age, GRACE, age_at};

/// Whether a profile is older than the grace and not terminating. Without a window, as in a dump, every profile is.
pub(crate) fn is_settled(evidence: &Evidence, history: &ProfileHistory) -> bool {
    history.last().metadata.deletion_timestamp.is_none() && age(evidence, history) == Age::Settled
}

/// [`age_at`] the end of the window. Without a window, as in a dump, every profile is older than the grace.
pub(crate) fn age(evidence: &Evidence, history: &ProfileHistory) -> Age {
    let end = end(evidence);
    end.map_or(Age::Settled, |end| age_at(evidence, history, end))
}
