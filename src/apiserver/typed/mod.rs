//! Built-in kinds as kube-apiserver's Go types: their fields, and which of these are written when empty. The facts are in
//! one table, `messages.txt`.

mod check;
mod data;
mod events;
mod json;
mod messages;
mod openapi_schemas;
mod pod_ranges;
mod quantity;
mod schemas;

pub(super) use check::{check_event, check_lease, check_node};
pub(super) use data::{check_config_map, check_secret};
pub(super) use events::event_in;
pub(super) use json::{coerce_metadata, decode, zero};
pub(super) use messages::{Message, message_of};
pub(super) use openapi_schemas::{KNOWN_SCHEMAS, SCHEMAS, description, references};
pub(super) use pod_ranges::agree_on_ranges;
pub(super) use schemas::schema;
