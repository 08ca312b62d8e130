//! The files of a run, from their names to their content.

pub(crate) mod outputs;
pub(crate) mod part;
pub(crate) mod place;
