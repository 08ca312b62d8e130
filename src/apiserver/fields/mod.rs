//! Fields and their owners: merges, strategic merges, server-side apply.

pub(crate) mod apply;
pub(crate) mod field_set;
pub(crate) mod managed_fields;
pub(crate) mod merge;
pub(crate) mod strategic;
