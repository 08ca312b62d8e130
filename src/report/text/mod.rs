//! Text that is safe and legible where it is shown.

pub(crate) mod difference;
pub mod escape;
pub(crate) mod number;
pub mod page;
pub mod yaml;
