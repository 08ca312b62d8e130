//! What the benchmarks share.

pub mod child;
pub mod figures;
pub mod fleet;
pub mod hub;
pub mod lab;
pub mod looked;
pub mod measure;
