//! Rules on the labels and plain fields of slices (KEP-5313 › Terminology).

mod credentials;
mod placement_key;
mod scheduler;
mod unknown;
mod workload;

pub(super) use credentials::reason_is_public;
pub(super) use placement_key::placement_key_usable;
pub(super) use scheduler::{scheduler_named, scheduler_stable};
pub(super) use unknown::no_unknown_multicluster_labels;
pub(super) use workload::placement_key_matches_workload;
