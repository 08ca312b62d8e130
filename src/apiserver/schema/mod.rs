//! Structural schemas: reads, checks and applies the schemas of CRDs.

mod formats;
mod rules;
mod structural;
pub(crate) mod structure;
mod validate;

pub(super) use rules::{check_rules, judge_rules};
pub(super) use structural::{Extra, JsonType, ListType, Schema, apply_defaults, drop_nulls, list_key, prune};
pub(super) use validate::{check_lists, validate};
