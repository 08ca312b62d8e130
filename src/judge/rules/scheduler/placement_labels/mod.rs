//! Rules on the labels and plain fields of slices (KEP-5313 › Terminology).

mod credentials;
mod scheduler;
mod unknown;

pub(in crate::rules) use credentials::reason_is_public;
pub(in crate::rules) use scheduler::{scheduler_named, scheduler_stable};
pub(in crate::rules) use unknown::no_unknown_multicluster_labels;
