//! Reads what others wrote: within bounds, and without quoting a value.

pub(crate) mod bounded;
pub(crate) mod input;
pub mod json_list;
pub mod lenient;
pub(crate) mod limits;
pub(crate) mod open;
pub mod user_file;
