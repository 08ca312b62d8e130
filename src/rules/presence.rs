//! What a manager has to fill in, and may take a moment for.

use super::{Finding, Findings};
use crate::{api::ClusterProfile, evidence::Evidence};

/// Each profile in scope has something. A profile that lacks it is not held to it while it is new or going; where
/// that leaves no profile to judge, it is too early to tell.
pub(super) fn each_has(
    evidence: &Evidence,
    findings: &mut Findings,
    has: impl Fn(&ClusterProfile) -> bool,
    missing: impl Fn(&ClusterProfile) -> Finding,
) {
    let mut excused = false;
    for profile in evidence.inventory() {
        if has(profile) {
            findings.examine();
        } else if evidence.is_settled(profile) {
            findings.examine();
            findings.report(missing(profile));
        } else {
            excused = true;
        }
    }
    if excused && findings.examined == 0 {
        findings
            .cannot_tell("too early to tell: no profile has been there for longer than the grace of 2 min");
    }
}
