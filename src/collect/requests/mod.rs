//! Reads the hub's audit log: who wrote what on profiles, and when.
//!
//! The log is that of kube-apiserver's log backend, JSON lines of `audit.k8s.io/v1` Events, or of EventLists as its
//! webhook backend sends them. Policy level `Metadata` for `clusterprofiles` is enough to count writes; `Request` tells
//! what was sent, and `RequestResponse` whether it changed anything. Only events of stage `ResponseComplete` count, each
//! request once.

mod answered;
mod body;
mod changes;
mod coverage;
mod error;
mod event;
mod events;
mod files;
mod lines;
mod log;
mod merge;
mod reading;
mod sample;
#[cfg(test)]
mod tests;

pub use error::RequestsError;
pub use log::{AuditLog, read_audit_log, read_audit_text};
pub use merge::merge_into;
pub use sample::{AuditSample, sample_audit_log};
