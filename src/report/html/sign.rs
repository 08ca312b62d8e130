//! Signs: each verdict has a colour, a mark and a word, so that colour is never the only cue.

use judge::{Decision, Verdict};

/// How a verdict is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sign {
    /// The class that gives the colour.
    pub(crate) class: &'static str,
    /// The mark.
    pub(crate) mark: &'static str,
    /// The word.
    pub(crate) word: &'static str,
}

impl Sign {
    pub(crate) const fn new(class: &'static str, mark: &'static str, word: &'static str) -> Self {
        Self { class, mark, word }
    }
}

/// The worst that was found of a profile or a decision, the worst last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Worst {
    /// Nothing.
    #[default]
    Nothing,
    /// A violation that is waived.
    Waived,
    /// A violation that does not count.
    Warned,
    /// A violation that counts.
    Failed,
}

impl Worst {
    /// All of them, the worst first.
    pub(super) const ALL: [Worst; 4] = [Worst::Failed, Worst::Warned, Worst::Waived, Worst::Nothing];

    pub(super) fn sign(self) -> Sign {
        match self {
            Worst::Nothing => Sign::new("pass", "✓", "no finding"),
            Worst::Waived => of(Verdict::Waived),
            Worst::Warned => of(Verdict::Warn),
            Worst::Failed => of(Verdict::Fail),
        }
    }
}

/// The sign of a verdict.
pub(crate) fn of(verdict: Verdict) -> Sign {
    match verdict {
        Verdict::Pass => Sign::new("pass", "✓", "pass"),
        Verdict::Fail => Sign::new("fail", "✕", "fail"),
        Verdict::Warn => Sign::new("warn", "!", "warn"),
        Verdict::Waived => Sign::new("waived", "~", "waived"),
        Verdict::Inconclusive => Sign::new("doubt", "?", "inconclusive"),
        Verdict::NotApplicable => Sign::new("none", "–", "not applicable"),
        Verdict::Skipped => Sign::new("none", "·", "skipped"),
    }
}

/// The sign of the decision.
pub(crate) fn of_decision(decision: Decision) -> Sign {
    match decision {
        Decision::Conformant => Sign::new("pass", "✓", "conformant"),
        Decision::NoViolation => Sign::new("none", "–", "no violation"),
        Decision::NotConformant => Sign::new("fail", "✕", "not conformant"),
        Decision::Inconclusive => Sign::new("doubt", "?", "inconclusive"),
    }
}

/// How bad a verdict is: the worst has the lowest number.
pub(crate) fn rank(verdict: Verdict) -> usize {
    match verdict {
        Verdict::Fail => 0,
        Verdict::Inconclusive => 1,
        Verdict::Warn => 2,
        Verdict::Waived => 3,
        Verdict::Pass => 4,
        Verdict::NotApplicable => 5,
        Verdict::Skipped => 6,
    }
}
