//! Hooks of a consumer's author that the run called on its testbed.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::DriverAction;

/// One call of a hook that concerns the whole consumer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookCall {
    /// What it has the consumer do.
    pub action: DriverAction,
    /// When the run called it, by the runner's clock.
    #[schemars(with = "crate::json_schema::Time")]
    pub from: Timestamp,
    /// When it returned.
    #[schemars(with = "crate::json_schema::Time")]
    pub until: Timestamp,
    /// Why it failed; none if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The end of the hook's output, without credentials.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
}
