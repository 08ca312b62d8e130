//! The vocabulary of the ClusterProfile and PlacementDecision documents: editions, kinds, names and shapes.

pub mod address;
mod edition;
pub mod endpoints;
mod metadata;
pub mod names;
mod placement;
mod profile;
pub mod shape;
pub mod syntax;

pub use edition::{Edition, Feature, ObjectKind, Role, UnknownChoice, UnknownName};
pub use metadata::{Labels, Metadata, Writer};
pub use placement::{
    ClusterDecision, ClusterProfileReference, DecisionId, OwnerReference, PlacementDecision, SliceMetadata,
};
pub use profile::{
    AccessProvider, Cluster, ClusterManager, ClusterProfile, Condition, Extension, Property, Spec, Status,
    Version, is_build_of, lost_values,
};
pub use shape::{Json, strings};
