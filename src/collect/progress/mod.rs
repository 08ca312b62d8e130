//! What a run tells while it goes on, and the copy of its evidence that survives it.

pub(crate) mod listener;
pub(crate) mod snapshot;
