//! The suite `version`: the Kubernetes versions in profiles (KEP-4322 › Status › Version).

mod reported;
mod upgrade;

pub(in crate::rules) use reported::{matches_member, reported, well_formed};
pub(in crate::rules) use upgrade::follows_upgrade;
