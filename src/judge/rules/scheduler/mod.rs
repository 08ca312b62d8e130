//! The rules on schedulers (KEP-5313).

pub(super) mod decisions;
pub(super) mod placements;
pub(super) mod slices;
