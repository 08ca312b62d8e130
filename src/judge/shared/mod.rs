//! What several suites share: budgets, consumers, placements.

pub(crate) mod base64;
pub(crate) mod changed_fields;
pub(crate) mod identity;
pub(crate) mod leaks;
pub(crate) mod misspelling;
pub(crate) mod placement;
pub(crate) mod status;
