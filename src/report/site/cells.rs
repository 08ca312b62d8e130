//! Cells: what one report says of one rule, with the way to its findings.

use judge::Verdict;

use super::{board::Version, signs, submission::Told};
use crate::{
    html::sign::Sign,
    text::number::{count, thousands},
};

/// A cell of a matrix.
pub(super) struct Cell {
    pub(super) sign: Sign,
    /// The report, the sign and what was counted.
    pub(super) title: String,
    /// Where its findings are, from the board's root.
    pub(super) href: String,
}

impl Cell {
    /// What that report says of that rule; none where it does not have it.
    pub(super) fn of(version: &Version, rule: &str) -> Option<Self> {
        let told = version.told.get(rule)?;
        let submission = &version.submission;
        let (fitness, judged) = (submission.fitness(), submission.judged(rule));
        let sign = signs::of(fitness, told.verdict(), judged);
        let refutation = signs::refutation(fitness, told.verdict(), judged);
        Some(Self {
            sign,
            title: format!(
                "{}: {}{}",
                version.name,
                refutation.as_deref().unwrap_or(sign.word),
                extent(told)
                    .map(|extent| format!(", {extent}"))
                    .unwrap_or_default()
            ),
            href: version.findings(rule),
        })
    }
}

/// What was counted, where something was found.
pub(super) fn extent(told: &Told) -> Option<String> {
    let Told::Entry(entry) = told else {
        return None;
    };
    let parts = [
        (entry.violations, "finding"),
        (entry.hints, "hint"),
        (entry.waived, "waived"),
        (entry.examined, "examined"),
    ];
    let is_told = |(number, what): &(usize, &str)| {
        *number > 0 && (*what != "examined" || entry.verdict != Verdict::Skipped)
    };
    let told: Vec<String> = parts
        .into_iter()
        .filter(is_told)
        .map(|(number, what)| match what {
            "finding" | "hint" => count(number, what),
            _ => format!("{} {what}", thousands(number)),
        })
        .collect();
    (!told.is_empty()).then(|| told.join(", "))
}
