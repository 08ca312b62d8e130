//! What a run tells on its way.

pub mod snapshot;
