//! Answers of three values.

use std::collections::BTreeSet;

/// Yes, no, or: the evidence does not tell, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// It is so.
    Yes,
    /// It is not so.
    No,
    /// The evidence does not tell. Without any of these reasons, it would.
    Unknown(BTreeSet<Why>),
}

/// Why the evidence does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Why {
    /// Nobody watched at the time.
    Gap,
    /// The window ended before it could be told.
    Ended,
    /// A watch may tell late, and nothing stamps the moment.
    Late,
}

impl Known {
    /// The evidence does not tell, for one reason.
    pub(crate) fn unknown(why: Why) -> Self {
        Self::Unknown(BTreeSet::from([why]))
    }
}
