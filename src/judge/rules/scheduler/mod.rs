//! The suites of rules on schedulers, by what they write into the slices of their decisions and how.

pub(super) mod placement_labels;
pub(super) mod placement_lifecycle;
pub(super) mod placement_ownership;
pub(super) mod placement_references;
pub(super) mod placement_slices;
pub(super) mod placement_updates;
