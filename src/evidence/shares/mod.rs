//! A fleet that several runners observe together.

pub mod merge;
pub(crate) mod shard;
