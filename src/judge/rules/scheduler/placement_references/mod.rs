//! Rules on the profiles that decisions refer to (KEP-5313 › Relationship to other SIG-Multicluster APIs).

mod alive;
mod names;
mod resolve;

pub(in crate::rules) use alive::selected_is_alive;
pub(in crate::rules) use names::name_valid;
pub(in crate::rules) use resolve::{REFERENCE_GRACE, resolve, resolve_across_time};
