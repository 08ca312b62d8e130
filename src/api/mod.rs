//! The vocabulary of the ClusterProfile documents: kinds, names and shapes.

pub mod names;
