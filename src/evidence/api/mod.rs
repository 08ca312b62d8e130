//! The vocabulary of the ClusterProfile documents: editions, kinds, names and shapes.

pub mod address;
mod edition;
pub mod endpoints;
mod json;
mod labels;
pub mod list;
pub mod names;
mod profile;
pub mod shape;
pub mod syntax;
mod told;
mod writer;

pub use edition::{Edition, Feature, UnknownEdition, UnknownName};
pub use json::Json;
pub use labels::{Labels, ProfileLabels};
pub use profile::{
    AccessProvider, Cluster, ClusterManager, ClusterProfile, Condition, Extension, Metadata, Property, Spec,
    Status, Version, Writer,
};
pub use told::no_longer_told;
