//! The conformance suite for the Kubernetes SIG-Multicluster ClusterProfile API.
