//! The names of the lab's scheduler and its namespace.

/// The scheduler's name: in its slices, as a user of the hub, and as field manager.
pub(super) const SCHEDULER: &str = "reference-scheduler";
/// The namespace of the workloads and their decisions.
pub(super) const PLACEMENTS: &str = "lab-placements";
