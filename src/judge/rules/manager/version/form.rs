//! The format of a Kubernetes version.

use semver::Version;

use super::{PATH, reported_version};
use crate::{
    shared::state::{State, each_state},
    subjects::{Finding, Findings, Profiles},
    text::redacted,
};

/// The version that an unstamped Kubernetes build reports: not the manager's fault.
const UNSTAMPED: &str = "v0.0.0-master+$Format:";

/// `version/well-formed`
///
/// Every reported version parses as a Kubernetes version.
pub(in crate::rules) fn well_formed(profiles: &Profiles, findings: &mut Findings) {
    findings.not_applicable("no profile reports a version");
    each_state(profiles, findings, State::default(), |profile| {
        let version = reported_version(profile)?;
        let mut faults = Vec::new();
        if read(version).is_none() && !version.starts_with(UNSTAMPED) {
            let wrong = Finding::on(profile, "version is not a Kubernetes version")
                .at(PATH)
                .expected("a version such as v1.34.1, 1.34.1, v1.32.4+k3s1 or v1.31.9-gke.1046000")
                .observed(redacted(version));
            faults.push(wrong.into());
        }
        Some(faults)
    });
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
