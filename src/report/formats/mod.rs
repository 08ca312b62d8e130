//! What a run writes, one file for each format.

pub mod badge;
pub(crate) mod format;
pub mod github;
pub mod json;
pub mod junit;
pub mod markdown;
mod markdown_story;
pub mod terminal;
pub mod trials;
