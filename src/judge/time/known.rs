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
    /// Whose doing it was is unknown.
    Hand,
    /// A step of the driver failed, and may have had its effect.
    Failed,
}

impl Known {
    /// The evidence does not tell, for one reason.
    pub(crate) fn unknown(why: Why) -> Self {
        Self::Unknown(BTreeSet::from([why]))
    }

    /// Whether it is not so.
    pub(crate) fn not(self) -> Self {
        match self {
            Self::Yes => Self::No,
            Self::No => Self::Yes,
            unknown @ Self::Unknown(_) => unknown,
        }
    }

    /// Whether both are so.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::No, _) | (_, Self::No) => Self::No,
            (Self::Yes, other) | (other, Self::Yes) => other,
            (Self::Unknown(one), Self::Unknown(other)) => Self::Unknown(&one | &other),
        }
    }

    /// Whether the reason for not telling is that one alone.
    pub(crate) fn is_unknown_for(&self, why: Why) -> bool {
        matches!(self, Self::Unknown(whys) if whys.len() == 1 && whys.contains(&why))
    }
}
