//! A run in one archive, to be attached to an issue: the reports, the evidence without credentials, what hooks printed, and
//! the command that judges it again. Packing is the caller's.

mod files;
mod hooks;
mod readme;
#[cfg(test)]
mod tests;

pub use files::{FOLDER, File, files};
