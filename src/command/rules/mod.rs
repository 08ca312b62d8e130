//! Lists and explains the rules.

pub mod explain;
pub mod list;
