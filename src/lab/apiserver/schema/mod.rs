//! Structural schemas: what a CustomResourceDefinition says an object may look like, and what is done with it.

mod at;
mod cel;
mod cel_definitions;
mod defaults;
mod formats;
mod lists;
mod prune;
mod structural;
mod validate;

pub(super) use at::At;
pub(super) use cel::check_rules;
pub(super) use cel_definitions::judge_rules;
pub(super) use defaults::{apply_defaults, drop_nulls};
pub(super) use formats::is_known as is_known_format;
pub(super) use lists::{check_lists, list_key};
pub(super) use prune::prune;
pub(super) use structural::{Extra, ListType, Schema, Type};
pub(super) use validate::validate;
