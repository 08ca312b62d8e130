//! A write that the hub has answered.

use evidence::{Request, api::ObjectKind};
use jiff::Timestamp;

/// A write, with what tells whether it changed anything.
pub(super) struct Answered {
    /// The kind of the object that it wrote.
    pub(super) kind: ObjectKind,
    /// When the hub had answered.
    pub(super) done: Timestamp,
    pub(super) request: Request,
    /// The resourceVersion that the request was based upon.
    pub(super) based_on: Option<String>,
}
