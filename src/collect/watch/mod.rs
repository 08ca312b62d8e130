//! Lists and watches: how the objects of a hub are read, and their histories kept.

pub(crate) mod backoff;
#[cfg(fuzzing)]
pub mod fuzzing;
pub(crate) mod lines;
pub(crate) mod list;
pub(crate) mod record;
pub(crate) mod timeline;
