#![doc = include_str!("README.md")]
//!
//! # Inside
//!
//! `http` receives a request and `access` authenticates and authorizes it. `http::dispatch` calls its handler, most of them
//! in `verbs` and `about`. Handlers work on `store` through `state`, which holds what a server is made of. Below them,
//! `fields` tracks who owns which field, `schema` and `typed` decode and validate objects, and `object` reads JSON.
//! No file imports one that imports it, directly or by way of others.

mod about;
mod access;
mod clock;
mod fields;
mod http;
mod object;
mod schema;
mod server;
mod state;
mod store;
mod typed;
mod verbs;

pub use about::{
    audit_log::AuditLevel,
    misbehaviour::{Affected, Misbehaviour},
};
pub use access::{
    rbac::Rule as AccessRule,
    token::{TOKEN_PREFIX, new_token},
    user::{MASTERS, User},
};
pub use clock::Clock;
pub use http::{
    body::ResponseBody,
    loopback::{Endpoint, Loopback, serve_tls},
};
pub use server::ApiServer;
