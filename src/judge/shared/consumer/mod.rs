//! What the rules on consumers share: what profiles said, who was called, and whether the consumer had its chance.

mod entries;
mod play;

pub(crate) use entries::{extension, is_malformed, known, leads_to, server, unknown};
pub(crate) use play::{Play, Subject, held_throughout};
