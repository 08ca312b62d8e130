//! The vocabulary of the ClusterProfile and PlacementDecision documents: editions, kinds, names and shapes.

pub mod address;
mod decision_id;
mod edition;
pub mod endpoints;
mod json;
mod labels;
pub mod list;
mod metadata;
pub mod names;
mod object_kind;
mod placement;
mod profile;
mod role;
pub mod shape;
mod sharing;
pub mod syntax;
mod told;
mod writer;

pub use decision_id::DecisionId;
pub use edition::{Edition, Feature, UnknownEdition, UnknownName};
pub use json::Json;
pub use labels::{Labels, ProfileLabels};
pub use metadata::{Metadata, Writer};
pub use object_kind::ObjectKind;
pub use placement::{
    ClusterDecision, ClusterProfileReference, OwnerReference, PlacementDecision, SliceMetadata,
};
pub use profile::{
    AccessProvider, Cluster, ClusterManager, ClusterProfile, Condition, Extension, Property, Spec, Status,
    Version,
};
pub use role::Role;
pub use told::no_longer_told;
