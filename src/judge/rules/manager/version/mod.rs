//! The suite `version`: the Kubernetes versions in profiles (KEP-4322 › Status › Version).

mod form;
mod member;
mod reported;
mod upgrade;

use evidence::api::ClusterProfile;
pub(in crate::rules) use form::well_formed;
pub(in crate::rules) use member::matches_member;
pub(in crate::rules) use reported::reported;
pub(in crate::rules) use upgrade::follows_upgrade;

const PATH: &str = "status.version.kubernetes";

/// The version in a profile, if any.
fn reported_version(profile: &ClusterProfile) -> Option<&str> {
    let version = profile.status.version.kubernetes.as_deref();
    version.filter(|version| !version.is_empty())
}
