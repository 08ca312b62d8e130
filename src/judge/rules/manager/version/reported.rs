//! The reported version: its format, and the member's.

use evidence::{
    MemberPart,
    api::{
        ClusterProfile,
        names::{CONDITION_HEALTHY, CONDITION_JOINED},
    },
};
use semver::Version;

use crate::{
    engine::{Answer, Hub, Sample},
    subjects::{Finding, has_status},
    text::{ABSENT, redacted},
};

const PATH: &str = "status.version.kubernetes";

/// The version that an unstamped Kubernetes build reports: not the manager's fault.
const UNSTAMPED: &str = "v0.0.0-master+$Format:";

/// `version/reported`
///
/// The profile of a joined and healthy member has a Kubernetes version.
pub(in crate::rules) fn reported(profile: &ClusterProfile, _: &Hub) -> Answer {
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

/// `version/well-formed`
///
/// The reported version is a semantic version, with or without a leading `v`.
pub(in crate::rules) fn well_formed(profile: &ClusterProfile, _: &Hub) -> Answer {
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
fn reported_version(profile: &ClusterProfile) -> Option<&str> {
    let version = profile.status.version.kubernetes.as_deref();
    version.filter(|version| !version.is_empty())
}

/// Parses a version as API servers report it: an optional `v`, then a semantic version. Vendors append to it with `-`
/// or `+`.
fn read(text: &str) -> Option<Version> {
    Version::parse(text.strip_prefix('v').unwrap_or(text)).ok()
}

/// `version/matches-member`
///
/// The reported version is the one that the member's API server reports.
pub(in crate::rules) fn matches_member(profile: &ClusterProfile, sample: &Sample, _: &Hub) -> Answer {
    let Some(reported) = reported_version(profile) else {
        return Answer::NotApplicable;
    };
    let Some(actual) = sample.answers.version.as_deref() else {
        return sample.lacks(MemberPart::Version);
    };
    Answer::broken_if(without_v(reported) != without_v(actual), || {
        Finding::at_path(PATH, "the version differs from the member's")
            .expected(redacted(actual))
            .observed(redacted(reported))
    })
}

/// Drops the leading `v`, which is optional.
fn without_v(version: &str) -> &str {
    version.strip_prefix('v').unwrap_or(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_vendors_build_is_read() {
        for version in [
            "v1.34.1",
            "1.28.0",
            "v1.32.4+k3s1",
            "v1.31.9-gke.1046000",
            "v1.33.6-eks-113cf36",
            "v1.30.4+rke2r1",
            "v1.29.6+aba1e8d",
            "v1.20.0+01ab7fd",
            "v1.28.3-aliyun.1",
            "v1.29.3-r1-29.0.7",
            "v1.24.17-2+40f71c8e58ee6b",
            "v1.27.6+vmware.3-fips.1",
            "v1.35.0-alpha.0.123+8dd3e1a96f2d27-dirty",
        ] {
            assert!(read(version).is_some(), "{version}");
        }
        let version = read("v1.31.9-gke.1046000").expect("a version");
        assert_eq!((version.major, version.minor, version.patch), (1, 31, 9));
    }

    #[test]
    fn what_is_no_version_is_not() {
        for text in [
            "",
            "v",
            "1.30+",
            "v1.30",
            "1",
            "v1.30.x",
            "vv1.30.1",
            "V1.30.1",
            "v 1.30.1",
            "v1.30.1 ",
            "v1.30.1.2",
            "v1.030.1",
            "v1.30.1+",
            "v1.30.1_k3s1",
            "Kubernetes v1.30.1",
            "latest",
            "unknown",
        ] {
            assert!(read(text).is_none(), "{text}");
        }
    }
}
