//! The verbs: read, watch, write, update, patch, delete; and resources that are not stored.

pub(crate) mod crd_controller;
pub(crate) mod delete;
pub(crate) mod discovery;
mod openapi;
pub(crate) mod options;
pub(crate) mod patch;
pub(crate) mod placing;
pub(crate) mod read;
pub(crate) mod reviews;
pub(crate) mod selectors;
pub(crate) mod strategy;
pub(crate) mod table;
pub(crate) mod update;
pub(crate) mod watch;
pub(crate) mod write;
