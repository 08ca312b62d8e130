//! An in-process Kubernetes API server: exact in what it does, silent about what it does not.
//!
//! It serves Namespaces, Secrets, ConfigMaps, CustomResourceDefinitions and whatever these define: get, list, watch,
//! create, update, patches of every kind, delete. It is a [`tower::Service`], so the same server answers in process,
//! over a duplex pipe and over a socket. In process it runs under tokio's paused clock.
//!
//! A request goes through `service` (authentication, authorization, misbehaviour, audit) and `context` to one of the
//! handlers (`read`, `watch`, `write`, `update`, `patch`, `delete`, `discovery`), which work on `storage`.

mod about;
mod apply;
mod audit;
mod auth;
mod body;
mod builtin;
mod context;
mod definition;
mod delete;
mod discovery;
mod embedded;
mod family;
mod field;
mod field_set;
mod json;
mod managed_fields;
mod meta;
mod metadata_only;
mod misbehaviour;
mod names;
mod options;
mod patch;
mod placing;
mod read;
mod request;
mod resource;
mod schema;
mod selectors;
mod server;
mod service;
mod status;
mod storage;
mod strategic;
mod tokens;
mod typed;
mod typed_errors;
mod update;
mod watch;
mod write;

#[cfg(test)]
mod tests;

pub use audit::AuditLevel;
pub use auth::{AccessRule, MASTERS, User};
pub use body::ResponseBody;
pub use misbehaviour::{Affected, Misbehaviour};
pub use server::ApiServer;
pub(in crate::lab) use service::ClientService;
