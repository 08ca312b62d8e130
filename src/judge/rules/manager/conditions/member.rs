//! Compares ControlPlaneHealthy with the member (KEP-4322 › Conditions).

use std::collections::BTreeSet;

use evidence::{
    Evidence, Lease, Look, Member, MemberPart, Readyz,
    api::{Condition, names::CONDITION_HEALTHY},
};
use jiff::SignedDuration;

use crate::{
    shared::member::{Comparison, Difference, Doubts, Outcome, is_joined, pairs},
    subjects::{Finding, Findings, without_condition},
    text::redacted,
    time::GRACE_SECONDS,
};

/// Checks that only `/readyz` has. A server that fails these alone starts, stops, or waits for its caches.
const READYZ_ONLY: [&str; 4] = ["etcd-readiness", "informer-sync", "shutdown", "storage-readiness"];

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
        let leases = Leases::of(pair.member);
        let violation = Comparison {
            part: if pair.never_told(MemberPart::Readyz) {
                MemberPart::Readyz
            } else {
                MemberPart::Leases
            },
            grace: GRACE_SECONDS,
            vouches: is_joined,
            said: &|profile| profile.condition(CONDITION_HEALTHY),
            seen: &|look| health(look, &leases.renewed, is_down),
            agrees: &|said: &&Condition, seen: &Health, _| !claims_health(said) || seen.ailments.is_empty(),
            // If the member answers neither the runner nor the manager, the two agree.
            suits_silence: |said| !claims_health(said),
        };
        let hint = Comparison {
            seen: &|look| health(look, &leases.recent, |readyz| !readyz.ready),
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

/// The leases of a member by their age: one that nobody has renewed for long may be a leftover, such as of a control plane that
/// runs without leader election by now.
struct Leases<'m> {
    /// Those that were fresh at some time since the first look.
    renewed: BTreeSet<&'m str>,
    /// Those that were fresh at some time since a day before it: these give a hint.
    recent: BTreeSet<&'m str>,
}

impl<'m> Leases<'m> {
    fn of(member: &'m Member) -> Self {
        let first = member.looks.first().map(|look| look.from);
        let fresh_since = |before: SignedDuration| {
            let fresh = member.looks.iter().flat_map(move |look| {
                let since_first = first.map_or(SignedDuration::ZERO, |first| look.from.duration_since(first));
                let leases = look.leases.iter().flat_map(|leases| leases.iter());
                leases.filter(move |lease| {
                    let stale_for = lease.age_seconds.saturating_sub(lease.duration_seconds);
                    SignedDuration::from_secs(stale_for) <= since_first.saturating_add(before)
                })
            });
            fresh.map(|lease| lease.name.as_str()).collect()
        };
        Self {
            renewed: fresh_since(SignedDuration::ZERO),
            recent: fresh_since(SignedDuration::from_hours(24)),
        }
    }
}

/// The health of a member, whose API server is ill if its answer is. None if the answers are incomplete: an API server
/// that answers proves half of it while the leases are unreadable.
fn health(look: &Look, counted: &BTreeSet<&str>, is_ill: impl Fn(&Readyz) -> bool) -> Option<Health> {
    let readyz = look.readyz.as_ref()?;
    let mut ailments = Vec::new();
    if is_ill(readyz) {
        ailments.push(match readyz.failed.as_slice() {
            [] => "/readyz fails".to_owned(),
            failed => redacted(&format!("/readyz fails: {}", failed.join(", "))),
        });
    }
    let stale = |lease: &&Lease| lease.age_seconds > lease.duration_seconds && counted.contains(&*lease.name);
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
