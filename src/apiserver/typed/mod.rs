//! The server's own kinds as the Go types that a kube-apiserver decodes them into: which fields they have, what of
//! them is told when it is empty, how protobuf numbers them. All of it is facts of one table, `messages.txt`.

mod check;
mod events;
mod json;
mod messages;
mod protobuf;
mod quantity;
mod schemas;

pub(super) use check::{check_event, check_lease, check_node};
pub(super) use events::event_in;
pub(super) use json::{coerce_metadata, decode, zero};
pub(super) use messages::{Message, message_of};
pub(super) use protobuf::{MEDIA_TYPE as PROTOBUF, to_json as protobuf_to_json};
pub(super) use schemas::schema;
