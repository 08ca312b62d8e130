//! What a server tells of itself: discovery, OpenAPI, health, metrics, audit; and how it is told to misbehave.

pub(crate) mod audit;
pub(crate) mod audit_log;
pub(crate) mod discovery;
pub(crate) mod health;
pub(crate) mod metrics;
pub(crate) mod misbehaviour;
pub(crate) mod openapi;
pub(crate) mod routes;
