//! What a consumer reads from the hub.

use std::sync::Arc;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One answered request of the consumer's user that reads ClusterProfiles, by the hub's audit log. Watches, and the further pages
/// of a list, are not kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HubRead {
    /// When the hub received it, by the hub's clock.
    #[schemars(with = "crate::json_schema::Time")]
    pub at: Timestamp,
    /// The namespace; empty for all.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub namespace: Arc<str>,
    /// The name of the one profile that it gets; empty for a list.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub name: Arc<str>,
}
