//! Who sent a request.

use evidence::Request;

/// The sender of a request: a user, and the program that acts for the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Sender<'e> {
    /// The user's name.
    pub(crate) name: &'e str,
    /// The user agent; empty if the log does not tell.
    pub(crate) program: &'e str,
}

impl<'e> Sender<'e> {
    pub(crate) fn of(request: &'e Request) -> Self {
        Self {
            name: &request.user,
            program: &request.user_agent,
        }
    }
}
