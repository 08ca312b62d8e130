//! What the server knows about itself: health, audit log; and its faults on demand.

pub(crate) mod audit_log;
pub(crate) mod health;
pub(crate) mod misbehaviour;
