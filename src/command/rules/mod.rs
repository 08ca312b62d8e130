//! Lists and explains the rules.

pub mod explain;
pub mod ledger;
pub mod list;
pub mod rule;
