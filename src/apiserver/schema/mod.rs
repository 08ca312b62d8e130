//! Structural schemas: reads, checks and applies the schemas of CRDs.

mod at;
mod fit;
mod formats;
mod rules;
mod structural;
pub(crate) mod structure;
mod validate;

pub(super) use at::list_key;
pub(super) use fit::{apply_defaults, drop_nulls, prune};
pub(super) use rules::{check_rules, judge_rules};
pub(super) use structural::{Extra, ListType, Schema, Type};
pub(super) use validate::{check_lists, validate};
