//! By which names the user said that producers and consumers are known.

use super::{
    hand::Who,
    logged::Judged,
    program::{name_of, program_of},
};

impl<'e, T: Judged> Who<'e, T> {
    /// Whether a user was claimed.
    pub(crate) fn is_claimed_user(&self, name: &str) -> bool {
        self.is_claimed(0, name)
    }

    /// Whether a field manager was claimed.
    pub(crate) fn is_claimed_field_manager(&self, name: &str) -> bool {
        self.is_claimed(1, name)
    }

    /// Whether a field manager of a program was claimed. A log tells only the program: kubectl has several field managers.
    pub(super) fn is_claimed_program(&self, user_agent: &str) -> bool {
        let mut claimed = self.said(1).iter();
        claimed.any(|name| program_of(name).eq_ignore_ascii_case(name_of(user_agent)))
    }

    /// Whether the user (0) or the field manager (1) of that name was claimed.
    pub(super) fn is_claimed(&self, place: usize, name: &str) -> bool {
        self.said(place).iter().any(|said| said == name)
    }

    /// The users (0) or the field managers (1) that were claimed.
    pub(super) fn said(&self, place: usize) -> &'e [String] {
        let said = T::said(&self.evidence.header.claim);
        match place {
            0 => &said.users,
            _ => &said.field_managers,
        }
    }
}
