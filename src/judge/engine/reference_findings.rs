//! Violations of the references of a decision, reported together: a scheduler often makes the same mistake in all of them.

use std::collections::BTreeMap;

use evidence::{ObjectRef, api::PlacementDecision};

use super::{named_profiles::ProfileName, unknowns::Unknowns};
use crate::{
    subjects::{Finding, Findings},
    text::redacted_field,
    time::{Micros, SECOND, timestamp},
    timeline::Intervals,
};

/// How many references a finding lists.
const LISTED: usize = 5;

/// For how long a violation lasted.
#[derive(Clone, Copy)]
pub(super) struct Lasted {
    length: Micros,
    since: Micros,
    grace: Micros,
    is_open: bool,
}

struct ReferenceViolation<'e> {
    slice: &'e PlacementDecision,
    index: usize,
    finding: Finding,
    /// None in a single list.
    lasted: Option<Lasted>,
}

/// Slice, message, and whether it is a warning: violations that have these in common are one finding.
type SameFinding<'e> = (&'e str, String, bool);

/// The violations of the references of one decision.
#[derive(Default)]
pub(super) struct ReferenceFindings<'e> {
    violations: BTreeMap<SameFinding<'e>, Vec<ReferenceViolation<'e>>>,
    unknowns: Unknowns,
    open: Vec<(ProfileName<'e>, &'e PlacementDecision)>,
}

impl Lasted {
    /// The longest stretch that was longer than the grace period.
    pub(super) fn of(wrong: &Intervals, grace: Micros) -> Option<Self> {
        let stretches = wrong.stretches(grace);
        let longest = stretches.iter().max_by_key(|stretch| stretch.total)?;
        let last = wrong.seen().last();
        Some(Self {
            length: longest.total,
            since: longest.from,
            grace,
            is_open: wrong.is_open() && last.is_some_and(|last| last.1 <= longest.until),
        })
    }
}

impl<'e> ReferenceFindings<'e> {
    /// Adds a violation of the entry at a place of a slice.
    pub(super) fn add(
        &mut self,
        slice: &'e PlacementDecision,
        index: usize,
        finding: Finding,
        lasted: Option<Lasted>,
    ) {
        let same = (&*slice.metadata.name, finding.message.clone(), finding.advisory);
        self.violations.entry(same).or_default().push(ReferenceViolation {
            slice,
            index,
            finding,
            lasted,
        });
    }

    pub(super) fn add_unknown(
        &mut self,
        name: ProfileName<'e>,
        slice: &PlacementDecision,
        reason: &'static str,
    ) {
        let (metadata, (namespace, name)) = (&slice.metadata, name);
        let slice = format!("slice {}/{}", metadata.namespace, metadata.name);
        let reference = format!("{slice}, which refers to ClusterProfile {namespace}/{name}");
        self.unknowns.add(redacted_field(&reference), reason);
    }

    /// Adds a violation that was open at the end, with the slices of the decision.
    pub(super) fn wait_for(
        &mut self,
        name: ProfileName<'e>,
        slices: impl Iterator<Item = &'e PlacementDecision>,
    ) {
        self.open.extend(slices.map(|slice| (name, slice)));
    }

    /// Reports one finding for each slice and message, and each reason for an unknown answer once.
    pub(super) fn report(self, findings: &mut Findings) {
        for violations in self.violations.into_values() {
            findings.report(together(violations));
        }
        for ((namespace, name), slice) in self.open {
            findings.wait_for_slice(&ObjectRef::from(slice));
            findings.wait_for_profile(namespace, name);
        }
        self.unknowns.report(findings);
    }
}

/// One finding for violations with one message.
fn together(mut violations: Vec<ReferenceViolation>) -> Finding {
    violations.sort_by_key(|violation| violation.index);
    let listed = violations.iter().take(LISTED);
    let listed: Vec<&str> = listed.map(|violation| &*violation.finding.observed).collect();
    let mut observed = listed.join(", ");
    let more = violations.len() - listed.len();
    if more > 0 {
        observed.push_str(&format!(" and {more} more"));
    }
    let lasted = violations.iter().filter_map(|violation| violation.lasted);
    if let Some(longest) = lasted.clone().max_by_key(|lasted| lasted.length) {
        let most = if violations.len() > 1 { "up to " } else { "" };
        let is_open = lasted.clone().any(|lasted| lasted.is_open);
        let when = if is_open { " when the window ended" } else { "" };
        observed.push_str(&format!(
            "; for {most}{} s{when} (grace: {} s), since {}",
            longest.length / SECOND,
            longest.grace / SECOND,
            timestamp(longest.since)
        ));
    }
    let first = &violations[0];
    let mut finding = first.finding.clone();
    finding.object = ObjectRef::from(first.slice);
    finding
        .at(format!("decisions[{}].clusterProfileRef", first.index))
        .observed(observed)
}
