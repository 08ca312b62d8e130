//! Compares the reported version with the member's.

use evidence::{Evidence, MemberPart};

use crate::{
    shared::member::{Comparison, Difference, vouches},
    subjects::{Finding, Findings},
    text::redacted,
    time::GRACE_SECONDS,
};

/// `version/matches-member`
///
/// The reported version is the one that the member's API server reports.
pub(in crate::rules) fn matches_member(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable("no profile of a member that was asked reports a Kubernetes version");
    let comparison = Comparison {
        part: MemberPart::Version,
        grace: GRACE_SECONDS,
        vouches,
        said: &|profile| {
            let version = profile.status.version.kubernetes.as_deref();
            version.filter(|version| !version.is_empty())
        },
        seen: &|look| look.version.as_deref(),
        agrees: &|said, seen, _| plain(said) == plain(seen),
        suits_silence: |_| false,
    };
    comparison.each(evidence, findings, |difference| {
        let Difference {
            profile, said, seen, ..
        } = difference;
        Finding::on(*profile, "the version differs from the member's")
            .at("status.version.kubernetes")
            .expected(redacted(seen))
            .observed(format!("{}, {}", redacted(said), difference.lasting()))
    });
}

/// Drops the leading `v`, which is optional.
fn plain(version: &str) -> &str {
    let version = version.trim();
    version.strip_prefix(['v', 'V']).unwrap_or(version)
}
