//! The signs of cells: those of the HTML report, and three for what a report only says.

use judge::{Decision, Verdict};

use crate::{
    html::sign::{self, Sign},
    submitted::Fitness,
};

/// A pass that no evidence proves.
const CLAIMED: Sign = Sign::new("claimed", "○", "pass, not verified");
/// A pass of a report that does not hold.
const DOUBTED: Sign = Sign::new("claimed", "○", "pass, in a report that does not hold");
/// Evidence that says otherwise.
const REFUTED: Sign = Sign::new("refuted", "≠", "the evidence says otherwise");
/// Nothing.
const UNTOLD: Sign = Sign::new("none", "·", "not listed, in a report that contradicts itself");

/// Every sign of a cell, for the legend.
pub(super) fn legend() -> Vec<Sign> {
    let mut signs: Vec<Sign> = Verdict::ALL.into_iter().map(sign::of).collect();
    signs.extend([Sign::new("claimed", "○", "pass, not verified"), REFUTED]);
    signs
}

/// The sign of what a report says of a rule, where its evidence says so (`judged`) or is not there.
pub(super) fn of(fitness: Fitness, told: Option<Verdict>, judged: Option<Verdict>) -> Sign {
    let Some(told) = told else {
        return UNTOLD;
    };
    match fitness {
        Fitness::Holds => sign::of(told),
        Fitness::DoesNotHold if judged.is_some_and(|judged| judged != told) => REFUTED,
        Fitness::NotVerified if told == Verdict::Pass => CLAIMED,
        Fitness::DoesNotHold if told == Verdict::Pass => DOUBTED,
        Fitness::NotVerified | Fitness::DoesNotHold => sign::of(told),
    }
}

/// The sign of the decision, as far as it is proven.
pub(super) fn of_decision(fitness: Fitness, decision: Decision) -> Sign {
    match (fitness, decision) {
        (Fitness::Holds, decision) => sign::of_decision(decision),
        (Fitness::NotVerified, Decision::NotConformant) => sign::of_decision(decision),
        (Fitness::NotVerified, _) => Sign::new("claimed", "○", "not verified"),
        (Fitness::DoesNotHold, _) => Sign::new("refuted", "≠", "does not hold"),
    }
}

/// What the report and its evidence say of a rule, where they differ.
pub(super) fn refutation(fitness: Fitness, told: Option<Verdict>, judged: Option<Verdict>) -> Option<String> {
    let (told, judged) = told.zip(judged)?;
    (fitness == Fitness::DoesNotHold && told != judged).then(|| {
        format!(
            "the report says {}, its evidence {}",
            sign::of(told).word,
            sign::of(judged).word
        )
    })
}
