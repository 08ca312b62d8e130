//! The rules on consumers. Most are rows of expectations, without a function.

pub(super) mod expectations;
pub(super) mod hub;
pub(super) mod plugin;
