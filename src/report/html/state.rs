//! What something is in for a while, and how a bar shows it.

use evidence::api::Condition;

/// The state of a condition, of a slice or of a cluster at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    True,
    False,
    Unknown,
    Odd,
    Absent,
    NoProfile,
    Changing,
    /// A slice is there.
    There,
    NoSlice,
    /// A decision names a cluster.
    Chosen,
    NotChosen,
    /// Comes and goes too often to draw each time.
    Restless,
}

impl State {
    /// Its class, letter and word.
    pub(super) fn sign(self) -> (&'static str, &'static str, &'static str) {
        match self {
            State::True => ("c-true", "T", "True"),
            State::False => ("c-false", "F", "False"),
            State::Unknown => ("c-unknown", "U", "Unknown"),
            State::Odd => ("c-odd", "?", "another value"),
            State::Absent => ("c-absent", "–", "absent"),
            State::NoProfile => ("c-gone", "", "no profile"),
            State::Changing => ("c-changing", "~", "changing"),
            State::There => ("c-chosen", "", "there"),
            State::NoSlice => ("c-absent", "", "not there"),
            State::Chosen => ("c-chosen", "", "chosen"),
            State::NotChosen => ("c-absent", "", "not chosen"),
            State::Restless => ("c-restless", "", "coming and going"),
        }
    }

    /// The state of a condition, if there is one.
    pub(super) fn of(condition: Option<&Condition>) -> Self {
        match condition.map(|condition| &*condition.status) {
            Some("True") => State::True,
            Some("False") => State::False,
            Some("Unknown") => State::Unknown,
            Some(_) => State::Odd,
            None => State::Absent,
        }
    }

    /// The state of what is in this one and in others within a column.
    pub(super) fn mixed(self) -> Self {
        match self {
            State::There | State::NoSlice | State::Chosen | State::NotChosen | State::Restless => {
                State::Restless
            }
            _ => State::Changing,
        }
    }

    /// Whether its bar is labelled with its reason rather than with a letter.
    pub(super) fn shows_reason(self) -> bool {
        matches!(self, State::There | State::Chosen)
    }
}
