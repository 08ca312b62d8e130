//! An in-process Kubernetes API server: exact in what it does, silent about what it does not.
//!
//! It serves Namespaces, Secrets, ConfigMaps, ServiceAccounts, Events (of both groups), Nodes, Leases, roles and their
//! bindings, CustomResourceDefinitions and whatever these define: get, list, watch, create, update, patches of every
//! kind, delete. Bodies may be JSON or, for the server's own kinds, protobuf; answers are JSON. No controller runs
//! beside it: no Namespace gets a ServiceAccount of its own, no Event grows too old. It is a [`tower::Service`], so the
//! same server answers in process, over a duplex pipe and over a socket. In process it runs under tokio's paused clock.
//!
//! A request goes through `service` (authentication by `auth`, authorization by `rbac`, misbehaviour, audit) and
//! `context` to one of the handlers (`read`, `watch`, `write`, `update`, `patch`, `delete`, `discovery`), which work on
//! `storage`. What is answered goes out in the `form` that the Accept header asks for.

mod about;
mod accepting;
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
mod form;
mod json;
mod known_fields;
mod managed_fields;
mod merge;
mod merge_errors;
mod meta;
mod metrics;
mod misbehaviour;
mod names;
mod openapi;
mod options;
mod parts;
mod patch;
mod placing;
mod rbac;
mod read;
mod request;
mod resource;
mod reviews;
mod scale;
mod schema;
mod selectors;
mod server;
mod service;
mod status;
mod storage;
mod strategic;
mod structure;
mod table;
mod tokens;
mod typed;
mod update;
mod value;
mod watch;
mod write;

#[cfg(test)]
mod tests;

pub use audit::AuditLevel;
pub use auth::{MASTERS, User};
pub use body::ResponseBody;
pub use misbehaviour::{Affected, Misbehaviour};
pub use rbac::Rule as AccessRule;
pub use server::ApiServer;
