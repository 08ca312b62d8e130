//! Reads the hub's audit log: who wrote what on profiles, and when.
//!
//! The log is that of kube-apiserver's log backend, JSON lines of `audit.k8s.io/v1` Events. Policy level `Metadata` for
//! `clusterprofiles` is enough to count writes; `Request` shows what was sent, and `RequestResponse` whether it changed
//! anything. Only events of stage `ResponseComplete` count, each request once.

mod body;
mod changes;
mod coverage;
mod events;
mod log;
#[cfg(test)]
mod tests;

pub use coverage::merge_into;
pub use log::{AuditLog, RequestsError, read_audit_log, read_audit_text};
