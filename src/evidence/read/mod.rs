//! Reads what others wrote: within bounds, and without quoting a value.

pub(crate) mod files;
pub(crate) mod input;
pub mod lenient;
pub mod user_file;
