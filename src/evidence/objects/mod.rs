//! Profiles and slices over time, and references to any object.

pub(crate) mod later;
pub(crate) mod object;
