//! Lists and explains the rules.

pub mod explain;
mod ledger;
pub mod list;
