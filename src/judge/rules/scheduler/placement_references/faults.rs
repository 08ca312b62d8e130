//! Faults of the references of one slice, reported together: a scheduler that errs often errs on all of them.

use evidence::{ObjectRef, api::PlacementDecision};

use super::naming::Named;
use crate::{
    subjects::{Finding, Findings},
    time::{Micros, SECOND, While, timestamp},
};

/// How many references a finding shows.
const SHOWN: usize = 5;

/// What is wrong with references, in the words of a finding.
pub(super) struct Words {
    pub(super) message: &'static str,
    pub(super) expected: String,
}

/// A fault of one reference.
struct Fault<'e> {
    slice: &'e PlacementDecision,
    index: usize,
    profile: String,
    /// For how long; none in a single look.
    lasted: Option<Lasted>,
    is_open: bool,
}

/// For how long a fault lasted.
#[derive(Clone, Copy)]
struct Lasted {
    length: Micros,
    since: Micros,
    /// How long it may last.
    grace: Micros,
}

/// The faults of one slice.
#[derive(Default)]
pub(super) struct Faults<'e>(Vec<Fault<'e>>);

impl<'e> Faults<'e> {
    /// Adds a reference that was at fault for longer than the grace.
    pub(super) fn add(&mut self, named: &Named<'e>, profile: String, when: &While, grace: Micros) {
        let stretches = when.stretches(grace);
        let longest = stretches.iter().max_by_key(|stretch| stretch.total);
        let is_open = when.is_open() && longest.is_some_and(|longest| when.ends_with(Some(longest)));
        let lasted = longest.map(|longest| Lasted {
            length: longest.total,
            since: longest.from,
            grace,
        });
        self.push(named, profile, lasted, is_open);
    }

    /// Adds a reference that was at fault when the run looked.
    pub(super) fn add_look(&mut self, named: &Named<'e>, profile: String) {
        self.push(named, profile, None, false);
    }

    fn push(&mut self, named: &Named<'e>, profile: String, lasted: Option<Lasted>, is_open: bool) {
        self.0.push(Fault {
            slice: named.slice,
            index: named.index,
            profile,
            lasted,
            is_open,
        });
    }

    /// Reports them as one finding on the slice; as a warning if all come from a single look.
    pub(super) fn report(self, findings: &mut Findings, words: &Words) {
        let is_look = self.0.iter().all(|fault| fault.lasted.is_none());
        if let Some(finding) = self.finding(words) {
            findings.report(if is_look { finding.advisory() } else { finding });
        }
    }

    /// Reports them as a warning.
    pub(super) fn report_as_hint(self, findings: &mut Findings, words: &Words) {
        if let Some(finding) = self.finding(words) {
            findings.report(finding.advisory());
        }
    }

    fn finding(mut self, words: &Words) -> Option<Finding> {
        self.0.sort_by_key(|fault| fault.index);
        let first = self.0.first()?;
        let shown: Vec<&str> = self.0.iter().take(SHOWN).map(|fault| &*fault.profile).collect();
        let mut observed = shown.join(", ");
        let more = self.0.len() - shown.len();
        if more > 0 {
            observed.push_str(&format!(" and {more} more"));
        }
        let lasted = self.0.iter().filter_map(|fault| fault.lasted);
        if let Some(longest) = lasted.max_by_key(|lasted| lasted.length) {
            let most = if self.0.len() > 1 { "up to " } else { "" };
            let is_open = self.0.iter().any(|fault| fault.is_open);
            let when = if is_open { " when the window ended" } else { "" };
            observed.push_str(&format!(
                "; for {most}{} s{when} (grace: {} s), since {}",
                longest.length / SECOND,
                longest.grace / SECOND,
                timestamp(longest.since)
            ));
        }
        let finding = Finding::on(ObjectRef::from(first.slice), words.message)
            .at(format!("decisions[{}].clusterProfileRef", first.index))
            .expected(&*words.expected)
            .observed(observed);
        Some(finding)
    }
}
