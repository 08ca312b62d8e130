//! What is done to objects: read, watch, write, update, patch, delete.

pub(crate) mod delete;
pub(crate) mod family;
pub(crate) mod options;
pub(crate) mod patch;
pub(crate) mod read;
pub(crate) mod selectors;
pub(crate) mod table;
pub(crate) mod update;
pub(crate) mod watch;
pub(crate) mod write;
