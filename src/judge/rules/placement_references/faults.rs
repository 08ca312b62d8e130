//! Faults of the references of one slice, reported together: a scheduler that errs often errs on all of them.

use evidence::{ObjectRef, api::PlacementDecision};

use super::{naming::Named, spans::Span};
use crate::rules::{
    finding::{Finding, Findings},
    write_time::{LATE, Micros, SECOND},
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
    /// How long it lasted; none in a single look.
    length: Option<Micros>,
    is_open: bool,
}

/// The faults of one slice.
#[derive(Default)]
pub(super) struct Faults<'e>(Vec<Fault<'e>>);

/// What to make of a stretch of time in which a reference was at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// It passed in time.
    Passed,
    /// It may have been longer than what the run saw of it.
    Unsure,
    /// It was longer than the grace.
    Violation,
}

/// A stretch of time in which a reference was at fault, as far as the run saw.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    /// The span.
    pub(super) span: Span,
    /// Whether it began before the run saw it: at the first sight of the slice, or in a gap.
    pub(super) is_older: bool,
    /// Whether it lasted when the run stopped looking, or when a gap began.
    pub(super) is_open: bool,
}

impl Stretch {
    /// Weighs it against the grace. A watch may deliver late what began or ended it.
    fn weigh(&self, grace: Micros) -> Weight {
        if self.length() > grace + LATE {
            Weight::Violation
        } else if self.is_older || self.is_open {
            Weight::Unsure
        } else {
            Weight::Passed
        }
    }

    /// The gravest of several stretches of one reference, and of those the longest.
    pub(super) fn gravest(stretches: &[Self], grace: Micros) -> Option<(Weight, &Self)> {
        let weighed = stretches.iter().map(|stretch| (stretch.weigh(grace), stretch));
        weighed.max_by_key(|(weight, stretch)| (*weight, stretch.length()))
    }

    fn length(&self) -> Micros {
        self.span.1 - self.span.0
    }
}

impl<'e> Faults<'e> {
    /// Adds a reference that was at fault for longer than the grace.
    pub(super) fn add(&mut self, named: &Named<'e>, profile: String, stretch: &Stretch) {
        self.push(named, profile, Some(stretch.length()), stretch.is_open);
    }

    /// Adds a reference that was at fault when the run looked.
    pub(super) fn add_look(&mut self, named: &Named<'e>, profile: String) {
        self.push(named, profile, None, false);
    }

    fn push(&mut self, named: &Named<'e>, profile: String, length: Option<Micros>, is_open: bool) {
        self.0.push(Fault {
            slice: named.slice,
            index: named.index,
            profile,
            length,
            is_open,
        });
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reports them as one finding on the slice; as a warning if all come from a single look.
    pub(super) fn report(mut self, findings: &mut Findings, words: &Words) {
        self.0.sort_by_key(|fault| fault.index);
        let Some(first) = self.0.first() else {
            return;
        };
        let shown: Vec<&str> = self.0.iter().take(SHOWN).map(|fault| &*fault.profile).collect();
        let mut observed = shown.join(", ");
        let more = self.0.len() - shown.len();
        if more > 0 {
            observed.push_str(&format!(" and {more} more"));
        }
        let longest = self.0.iter().filter_map(|fault| fault.length).max();
        if let Some(length) = longest {
            let most = if self.0.len() > 1 { "up to " } else { "" };
            let is_open = self.0.iter().any(|fault| fault.is_open);
            let when = if is_open { " when the window ended" } else { "" };
            observed.push_str(&format!("; for {most}{} s{when}", length / SECOND));
        }
        let finding = Finding::on(ObjectRef::from(first.slice), words.message)
            .at(format!("decisions[{}].clusterProfileRef", first.index))
            .expected(&*words.expected)
            .observed(observed);
        findings.report(if longest.is_some() {
            finding
        } else {
            finding.advisory()
        });
    }
}
