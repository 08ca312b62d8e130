//! By what the suite knows its own things on a hub again.

pub mod labels;
pub mod runs;
