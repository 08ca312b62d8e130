//! What the benchmarks share. Each of them uses a part of it.
#![allow(dead_code)]

pub mod child;
pub mod figures;
pub mod fleet;
pub mod hub;
pub mod lab;
pub mod looked;
pub mod measure;
