//! Compares ControlPlaneHealthy with the member (KEP-4322 › Conditions).

use std::collections::BTreeMap;

use evidence::{
    Evidence, Lease, Look, Member, MemberPart, Readyz,
    api::{Condition, names::CONDITION_HEALTHY},
};

use crate::{
    shared::member::{Comparison, Difference, Doubts, Outcome, is_joined, pairs},
    subjects::{Finding, Findings, without_condition},
    text::redacted,
    time::GRACE_SECONDS,
};

/// Checks that only `/readyz` has. A server that fails these alone starts, stops, or waits for its caches.
const READYZ_ONLY: [&str; 4] = ["etcd-readiness", "informer-sync", "shutdown", "storage-readiness"];

/// A lease that had been stale for longer when the run began is a leftover.
const DAY_SECONDS: i64 = 24 * 60 * 60;

/// `conditions/healthy-agrees-with-member`
///
/// ControlPlaneHealthy agrees with the member's `/readyz` and control plane leases.
///
/// Only True while a part of the control plane is down is a violation. All else is a hint: the documents list `/healthz`,
/// so an API server may be healthy and not ready, and a manager may see more than `/readyz` and leases show.
pub(in crate::rules) fn healthy_agrees_with_member(evidence: &Evidence, findings: &mut Findings) {
    let words = format!("no profile of a joined member that answered has the condition {CONDITION_HEALTHY}");
    without_condition(evidence, findings, CONDITION_HEALTHY, words);
    let mut doubts = Doubts::default();
    for pair in pairs(evidence, findings, &mut doubts) {
        let stale_before = stale_before(pair.member);
        // One that was stale all along may be a leftover, such as of a control plane without leader election: it gives a hint.
        let health_of = |look: &Look, most: i64, is_ill: fn(&Readyz) -> bool| {
            let counts = |lease: &Lease| {
                stale_before
                    .get(&*lease.name)
                    .is_some_and(|before| *before <= most)
            };
            health(look, counts, is_ill)
        };
        let violation = Comparison {
            part: if pair.never_told(MemberPart::Readyz) {
                MemberPart::Readyz
            } else {
                MemberPart::Leases
            },
            grace: GRACE_SECONDS,
            vouches: is_joined,
            said: &|profile| profile.condition(CONDITION_HEALTHY),
            seen: &|look| health_of(look, 0, is_down),
            agrees: &|said: &&Condition, seen: &Health, _| !claims_health(said) || seen.ailments.is_empty(),
            // If the member answers neither the runner nor the manager, the two agree.
            suits_silence: |said| !claims_health(said),
        };
        let hint = Comparison {
            seen: &|look| health_of(look, DAY_SECONDS, |readyz| !readyz.ready),
            agrees: &|said: &&Condition, seen: &Health, _| claims_health(said) == seen.ailments.is_empty(),
            ..violation
        };
        let violated = violation.of(&pair);
        if let Outcome::Differs(difference) = &violated {
            findings.examine();
            findings.report(finding(
                difference,
                "the control plane is reported as healthy, but is not",
            ));
            continue;
        }
        match hint.of(&pair) {
            Outcome::Agrees => findings.examine(),
            Outcome::Differs(difference) => {
                findings.examine();
                let message = if claims_health(difference.said) {
                    "the control plane is reported as healthy, but a part of it may not be"
                } else {
                    "the control plane is healthy, but not reported as healthy"
                };
                findings.report(finding(&difference, message).advisory());
                violation.doubt(evidence, &pair, &violated, &mut doubts);
            }
            outcome => hint.doubt(evidence, &pair, &outcome, &mut doubts),
        }
    }
    doubts.tell(findings);
}

/// Whether a check of the API server fails that `/healthz` has, too.
fn is_down(readyz: &Readyz) -> bool {
    let mut failed = readyz.failed.iter();
    !readyz.ready && failed.any(|check| !READYZ_ONLY.contains(&check.as_str()))
}

/// The health that a member reports.
#[derive(Clone)]
struct Health {
    /// Descriptions of what is wrong; empty if healthy.
    ailments: Vec<String>,
}

/// For how many seconds each lease had been stale when the run first looked at the member; not positive if the lease was fresh
/// at some time since.
fn stale_before(member: &Member) -> BTreeMap<&str, i64> {
    let mut least: BTreeMap<&str, i64> = BTreeMap::new();
    let Some(first) = member.looks.first() else {
        return least;
    };
    for look in &member.looks {
        let since_first = look.from.duration_since(first.from).as_secs();
        for lease in look.leases.iter().flat_map(|leases| leases.iter()) {
            let stale = lease.age_seconds.saturating_sub(lease.duration_seconds);
            let before = stale.saturating_sub(since_first);
            let known = least.entry(&lease.name).or_insert(before);
            *known = before.min(*known);
        }
    }
    least
}

/// The health of a member, whose API server is ill if its answer is. None if the answers are incomplete: an API server
/// that answers proves half of it while the leases are unreadable. Of stale leases, those that count tell of an ailment.
fn health(look: &Look, counts: impl Fn(&Lease) -> bool, is_ill: impl Fn(&Readyz) -> bool) -> Option<Health> {
    let readyz = look.readyz.as_ref()?;
    let mut ailments = Vec::new();
    if is_ill(readyz) {
        ailments.push(match readyz.failed.as_slice() {
            [] => "/readyz fails".to_owned(),
            failed => redacted(&format!("/readyz fails: {}", failed.join(", "))),
        });
    }
    let stale = |lease: &&Lease| lease.age_seconds > lease.duration_seconds && counts(lease);
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

fn finding(difference: &Difference<&Condition, Health>, message: &str) -> Finding {
    let Difference {
        profile, said, seen, ..
    } = difference;
    let expected = match seen.ailments.as_slice() {
        [] => "True: /readyz passes and the leases of the control plane are fresh".to_owned(),
        ailments => format!("False or Unknown: {}", ailments.join("; ")),
    };
    Finding::on(*profile, message)
        .at(format!("status.conditions[{CONDITION_HEALTHY}].status"))
        .expected(expected)
        .observed(format!("{}, {}", redacted(&said.status), difference.lasting()))
}
