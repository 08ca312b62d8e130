//! Profiles and slices over time, and references to any object.

pub(crate) mod history;
pub(crate) mod later;
pub(crate) mod object;
pub(crate) mod tracked;
