//! Objects as JSON: paths, names, metadata, errors.

pub(crate) mod field;
pub(crate) mod json;
pub(crate) mod meta;
pub(crate) mod names;
pub(crate) mod parts;
pub(crate) mod status;
