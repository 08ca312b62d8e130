//! What was asked for, when and by whom, and what of it is missing.

pub(crate) mod about;
pub(crate) mod gaps;
pub(crate) mod header;
pub(crate) mod reason;
