//! Where audit events go, and how much they tell.

use std::{fs::File, io::Write};

use serde::Serialize;
use serde_json::Value;

/// How much the audit log tells of a request that writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum AuditLevel {
    /// Who did what to which object, and the answer's code.
    #[default]
    Metadata,
    /// Also the object that was sent. Never for Secrets.
    Request,
    /// Also the object that was answered. Never for Secrets.
    RequestResponse,
}

/// Where events go, and how much they tell.
#[derive(Debug, Default)]
pub(crate) struct AuditLog {
    pub(crate) level: AuditLevel,
    /// Those that were remembered.
    pub(crate) kept: Vec<Value>,
    /// They are not remembered.
    is_sent: bool,
    /// Where they are sent, one a line: there, or nowhere.
    file: Option<File>,
}

impl AuditLog {
    /// Lets events go there from now on, instead of remembering them.
    pub(crate) fn send_to(&mut self, file: Option<File>) {
        self.kept.clear();
        self.is_sent = true;
        self.file = file;
    }

    pub(super) fn push(&mut self, event: &Value) {
        if let Some(file) = &mut self.file {
            // A log that cannot be written is no reason to answer otherwise.
            let _ = file.write_all(format!("{event}\n").as_bytes());
        } else if !self.is_sent {
            self.kept.push(event.clone());
        }
    }
}
