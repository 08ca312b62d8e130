//! Structural schemas: reads, checks and applies the schemas of CRDs.

mod at;
pub(crate) mod embedded;
mod fit;
mod formats;
pub(crate) mod known_fields;
mod rules;
mod structural;
pub(crate) mod structure;
mod validate;

pub(super) use at::{At, list_key};
pub(super) use fit::{apply_defaults, drop_nulls, prune};
pub(super) use formats::is_known as is_known_format;
pub(super) use rules::{check_rules, judge_rules};
pub(super) use structural::{Extra, ListType, Schema, Type};
pub(super) use validate::{check_lists, validate};
