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
