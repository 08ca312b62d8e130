//! The audit log: where events go, and how much they contain.

use std::{fs::File, io::Write};

use serde::Serialize;
use serde_json::Value;

/// How much audit events contain about writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum AuditLevel {
    /// User, verb, object and status code.
    #[default]
    Metadata,
    /// The sent object, too. Never for Secrets.
    Request,
    /// The answered object, too. Never for Secrets.
    RequestResponse,
}

/// The audit log.
#[derive(Debug, Default)]
pub(crate) struct AuditLog {
    pub(crate) level: AuditLevel,
    /// Events in memory.
    pub(crate) kept: Vec<Value>,
    /// Events are not kept in memory.
    is_sent: bool,
    /// The file for events, one a line. None drops them.
    file: Option<File>,
}

impl AuditLog {
    /// Writes events to a file from now on, or drops them, instead of keeping them.
    pub(crate) fn send_to(&mut self, file: Option<File>) {
        self.kept.clear();
        self.is_sent = true;
        self.file = file;
    }

    pub(crate) fn push(&mut self, event: &Value) {
        if let Some(file) = &mut self.file {
            // A failing log does not fail the request.
            let _ = file.write_all(format!("{event}\n").as_bytes());
        } else if !self.is_sent {
            self.kept.push(event.clone());
        }
    }
}
