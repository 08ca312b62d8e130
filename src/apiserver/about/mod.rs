//! What the server reports about itself: discovery, OpenAPI, health, metrics, audit; and its faults on demand.

pub(crate) mod audit;
pub(crate) mod audit_log;
pub(crate) mod discovery;
pub(crate) mod health;
pub(crate) mod metrics;
pub(crate) mod misbehaviour;
pub(crate) mod openapi;
pub(crate) mod routes;
