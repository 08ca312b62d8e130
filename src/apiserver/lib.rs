#![doc = include_str!("README.md")]
//!
//! # Inside
//!
//! Each module is a layer. From the top:
//!
//! - `server` is the public face, and takes a request from its HTTP message to its handler.
//! - `verbs` are the handlers: most work on objects, `discovery` and `openapi` describe what is served.
//! - `context` is what a handler gets: the server's state, the user, the audit event.
//! - `about` knows the server's health, audit log and faults. `access` knows users and RBAC.
//! - `request` is a parsed request and its answer.
//! - `fields` tracks who owns which field.
//! - `store` keeps objects and their history, and knows their resources.
//! - `typed` knows built-in kinds, and `schema` the structural schemas of CRDs.
//! - `object` reads JSON.
//!
//! A module imports only those below it, and no file imports one that imports it.

mod about;
mod access;
mod clock;
mod context;
mod fields;
mod object;
mod request;
mod schema;
mod server;
mod store;
mod typed;
mod verbs;

#[cfg(test)]
extern crate self as apiserver;
#[cfg(test)]
#[path = "tests/service/mod.rs"]
mod service;

pub use about::{Affected, AuditLevel, Misbehaviour};
pub use access::{
    rbac::PolicyRule,
    user::{MASTERS, TOKEN_PREFIX, User, new_token},
};
pub use clock::ServerClock;
pub use request::ResponseBody;
pub use server::{
    api_server::{ApiServer, Backup},
    loopback::{Endpoint, Loopback, ServerIdentity, serve_tls},
};
