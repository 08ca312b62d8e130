//! The formats of a report, one module each.

pub mod badge;
pub mod github;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod terminal;
