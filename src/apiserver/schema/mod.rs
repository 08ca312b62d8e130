//! Structural schemas: reads, checks and applies the schemas of CRDs.

mod at;
mod cel;
mod cel_check;
mod cel_cost;
mod cel_definitions;
mod cel_formats;
mod cel_functions;
mod cel_rule;
mod cel_types;
mod cel_urls;
pub(crate) mod embedded;
mod fit;
mod formats;
mod go_url;
pub(crate) mod known_fields;
mod structural;
pub(crate) mod structure;
mod validate;

pub(super) use at::{At, list_key};
pub(super) use cel::check_rules;
pub(super) use cel_definitions::{judge_expressions, judge_rules};
pub(super) use fit::{apply_defaults, drop_nulls, prune};
pub(super) use formats::is_known as is_known_format;
pub(super) use structural::{Extra, ListType, Schema, Type};
pub(super) use validate::{check_lists, validate};
