//! The conformance suite for the Kubernetes SIG-Multicluster ClusterProfile API.

pub mod api;
pub mod clock;
pub mod lab;
