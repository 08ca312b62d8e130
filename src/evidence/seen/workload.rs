//! Workloads that a placement is for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ObjectRef;

/// A workload that carries a placement key (KEP-5313 › Terminology › Placement key), as last seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Workload {
    /// The object.
    pub object: ObjectRef,
    /// The value of its label `multicluster.x-k8s.io/placement-key`.
    pub placement_key: String,
}
