//! The suite `version`: the Kubernetes versions in profiles (KEP-4322 › Status › Version).

mod member;
mod reported;
mod upgrade;

pub(in crate::rules) use member::matches_member;
pub(in crate::rules) use reported::{reported, well_formed};
pub(in crate::rules) use upgrade::follows_upgrade;
