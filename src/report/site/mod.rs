//! The board: a static site that compares implementations by their submitted reports.
//!
//! Reports and evidence are other people's. Their text is shown escaped and shortened, and the names of files are
//! [slugs](slug) that we make. No page needs a network or a script to be read. What does not follow from evidence is
//! never shown as a pass.

mod board;
mod cells;
mod comment;
mod edition;
mod frame;
mod implementation;
mod matrix;
mod rule;
mod signs;
mod slug;
mod submission;
#[cfg(test)]
mod tests;
mod todo;
mod version;
mod write;

pub use board::{Board, Unreadable};
pub use comment::comment;
pub use submission::{RunPage, Signature, Submission};
