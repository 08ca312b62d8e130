//! Rules on the labels and plain fields of slices (KEP-5313 › Terminology).

mod credentials;
mod placement_key;
mod scheduler;
mod unknown;
mod workload;

pub(in crate::rules) use credentials::reason_is_public;
pub(in crate::rules) use placement_key::placement_key_usable;
pub(in crate::rules) use scheduler::{scheduler_named, scheduler_stable};
pub(in crate::rules) use unknown::no_unknown_multicluster_labels;
pub(in crate::rules) use workload::placement_key_matches_workload;
