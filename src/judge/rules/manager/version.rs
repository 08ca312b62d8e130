//! The suite `version`: the Kubernetes versions in profiles (KEP-4322 › Status › Version).

use semver::Version;

use crate::rules::prelude::*;

const PATH: &str = "status.version.kubernetes";

/// The version that an unstamped Kubernetes build reports: not the manager's fault.
const UNSTAMPED: &str = "v0.0.0-master+$Format:";

/// `version/reported`: the profile of a joined and healthy member has a Kubernetes version.
pub(crate) fn reported(profile: &ClusterProfile, _: &Hub) -> Answer {
    let is_true = |condition| has_status(profile, condition, "True");
    if !is_true(CONDITION_JOINED) || !is_true(CONDITION_HEALTHY) {
        return Answer::NotApplicable;
    }
    Answer::broken_if(reported_version(profile).is_none(), || {
        Finding::at_path(PATH, "profile of a healthy member has no Kubernetes version")
            .expected("the version that the member's API server reports, such as v1.34.1")
            .observed(ABSENT)
    })
}

/// `version/well-formed`: the reported version is a semantic version, with or without a leading `v`.
pub(crate) fn well_formed(profile: &ClusterProfile, _: &Hub) -> Answer {
    let Some(version) = reported_version(profile) else {
        return Answer::NotApplicable;
    };
    let is_well_formed = read(version).is_some() || version.starts_with(UNSTAMPED);
    Answer::broken_if(!is_well_formed, || {
        Finding::at_path(PATH, "version is not a Kubernetes version")
            .expected("a version such as v1.34.1, 1.34.1, v1.32.4+k3s1 or v1.31.9-gke.1046000")
            .observed(redacted(version))
    })
}

/// The version in a profile; none if it is empty.
pub(super) fn reported_version(profile: &ClusterProfile) -> Option<&str> {
    let version = profile.status.version.kubernetes.as_deref();
    version.filter(|version| !version.is_empty())
}

/// Parses a version as API servers report it: an optional `v`, then a semantic version. Vendors append to it with `-`
/// or `+`.
fn read(text: &str) -> Option<Version> {
    Version::parse(text.strip_prefix('v').unwrap_or(text)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_vendors_are_read() {
        let versions = "v1.34.1 1.28.0 v1.32.4+k3s1 v1.31.9-gke.1046000 v1.33.6-eks-113cf36 v1.30.4+rke2r1 \
                        v1.29.6+aba1e8d v1.20.0+01ab7fd v1.28.3-aliyun.1 v1.29.3-r1-29.0.7 v1.24.17-2+40f71c8e58ee6b \
                        v1.27.6+vmware.3-fips.1 v1.35.0-alpha.0.123+8dd3e1a96f2d27-dirty";
        for version in versions.split_whitespace() {
            assert!(read(version).is_some(), "{version}");
        }
        let version = read("v1.31.9-gke.1046000").expect("a version");
        assert_eq!((version.major, version.minor, version.patch), (1, 31, 9));
    }

    #[test]
    fn other_texts_are_refused() {
        let texts = "|v|1.30+|v1.30|1|v1.30.x|vv1.30.1|V1.30.1|v 1.30.1|v1.30.1 |v1.30.1.2|v1.030.1|v1.30.1+|\
                     v1.30.1_k3s1|Kubernetes v1.30.1|latest|unknown";
        for text in texts.split('|') {
            assert!(read(text).is_none(), "{text}");
        }
    }
}
