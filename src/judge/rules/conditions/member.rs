//! Compares ControlPlaneHealthy with the member (KEP-4322 › Conditions).

use evidence::{
    Evidence, GRACE_SECONDS, Lease, Look, MemberPart,
    api::{Condition, names::CONDITION_HEALTHY},
};

use crate::{
    shared::member::{Comparison, Difference, Doubts, Outcome, is_joined, pairs},
    subjects::{Finding, Findings},
    text::redacted,
};

/// `conditions/healthy-agrees-with-member`
///
/// ControlPlaneHealthy agrees with the member's `/readyz` and control plane leases.
pub(in crate::rules) fn healthy_agrees_with_member(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable("no profile whose member was asked reports ControlPlaneHealthy");
    let mut doubts = Doubts::default();
    for pair in pairs(evidence, findings, &mut doubts) {
        let comparison = Comparison {
            part: if pair.never_told(MemberPart::Readyz) {
                MemberPart::Readyz
            } else {
                MemberPart::Leases
            },
            grace: GRACE_SECONDS,
            vouches: is_joined,
            said: &|profile| profile.condition(CONDITION_HEALTHY),
            seen: &health,
            agrees: &|said, seen, _| claims_health(said) == seen.ailments.is_empty(),
            // If the member answers neither the runner nor the manager, the two agree.
            suits_silence: |said| !claims_health(said),
        };
        match comparison.of(&pair) {
            Outcome::Agrees => findings.examine(),
            Outcome::Differs(difference) => {
                findings.examine();
                findings.report(finding(&difference));
            }
            outcome => comparison.doubt(evidence, &pair, &outcome, &mut doubts),
        }
    }
    doubts.tell(findings);
}

/// The health that a member reports.
#[derive(Clone)]
struct Health {
    /// Descriptions of what is wrong; empty if healthy.
    ailments: Vec<String>,
}

/// Returns none if the answers are incomplete: readiness proves half of it while the leases are unreadable.
fn health(look: &Look) -> Option<Health> {
    let readyz = look.readyz.as_ref()?;
    let mut ailments = Vec::new();
    if !readyz.ready {
        ailments.push(match readyz.failed.as_slice() {
            [] => "/readyz fails".to_owned(),
            failed => redacted(&format!("/readyz fails: {}", failed.join(", "))),
        });
    }
    let stale = |lease: &&Lease| lease.age_seconds > lease.duration_seconds;
    let leases = look.leases.as_deref();
    for Lease {
        name, age_seconds, ..
    } in leases.unwrap_or_default().iter().filter(stale)
    {
        ailments.push(redacted(&format!(
            "{name} has not renewed its lease for {age_seconds} s"
        )));
    }
    (leases.is_some() || !ailments.is_empty()).then_some(Health { ailments })
}

fn claims_health(condition: &Condition) -> bool {
    &*condition.status == "True"
}

fn finding(difference: &Difference<&Condition, Health>) -> Finding {
    let Difference {
        profile,
        said,
        seen,
        seconds,
    } = difference;
    let finding = |message: &str| {
        Finding::on(*profile, message)
            .at(format!("status.conditions[{CONDITION_HEALTHY}].status"))
            .observed(format!("{}, for at least {seconds} s", redacted(&said.status)))
    };
    if claims_health(said) {
        return finding("the control plane is reported as healthy, but is not")
            .expected(format!("False or Unknown: {}", seen.ailments.join("; ")));
    }
    let finding = finding("the control plane is healthy, but not reported as healthy")
        .expected("True: /readyz passes and the leases of the control plane are fresh");
    match &*said.status {
        // The runner may reach a member that the manager cannot reach.
        "Unknown" => finding.advisory(),
        _ => finding,
    }
}
