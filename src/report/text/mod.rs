//! Text that is safe and legible where it is shown.

pub mod escape;
pub(crate) mod field_path;
pub(crate) mod json_escape;
pub(crate) mod number;
pub mod page;
pub mod yaml;
