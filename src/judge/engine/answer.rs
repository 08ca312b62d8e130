//! What a rule function answers, and how evaluators call it.

use std::{fmt, ops::Range};

use super::prelude::*;

/// The most violations, and the most warnings, that are listed of one object: a value may have thousands of entries.
const MOST: usize = 20;

/// The answer of a rule function about one thing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    /// The rule does not apply to it.
    NotApplicable,
    Kept,
    /// The evidence hints at violations without proving them. Never empty.
    Warning(Vec<Finding>),
    /// The rule is violated. Never empty; may contain warnings as well.
    Broken(Vec<Finding>),
    /// The evidence does not decide.
    Unknown(Reason),
}

impl Answer {
    /// A violation.
    pub(crate) fn broken(finding: Finding) -> Self {
        Self::all([finding])
    }

    /// A warning, even for a MUST rule.
    pub(crate) fn warning(finding: Finding) -> Self {
        Self::Warning(vec![finding.advisory()])
    }

    /// The evidence does not decide.
    pub(crate) fn unknown(reason: impl Into<Reason>) -> Self {
        Self::Unknown(reason.into())
    }

    /// A violation if so, else kept.
    pub(crate) fn broken_if(is_broken: bool, finding: impl FnOnce() -> Finding) -> Self {
        if is_broken {
            Self::broken(finding())
        } else {
            Self::Kept
        }
    }

    /// All findings about one thing; kept if there are none.
    pub(crate) fn all(findings: impl IntoIterator<Item = Finding>) -> Self {
        let findings: Vec<Finding> = findings.into_iter().collect();
        if findings.is_empty() {
            Self::Kept
        } else if findings.iter().all(|finding| finding.advisory) {
            Self::Warning(findings)
        } else {
            Self::Broken(findings)
        }
    }

    /// The answers about the parts of a thing, merged; not applicable if there are none.
    pub(crate) fn each<T>(parts: impl IntoIterator<Item = T>, check: impl FnMut(T) -> Self) -> Self {
        let answers = parts.into_iter().map(check);
        answers.fold(Self::NotApplicable, Self::and)
    }

    /// Merges two answers: the first of broken, unknown, warning, kept, and not applicable counts.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            // Nearly all answers are one of these.
            (answer, Self::NotApplicable) | (Self::NotApplicable, answer) => answer,
            (answer, Self::Kept) | (Self::Kept, answer) => answer,
            (Self::Warning(mut warnings), Self::Warning(more)) => {
                warnings.extend(more);
                Self::Warning(warnings)
            }
            (
                Self::Broken(mut findings) | Self::Warning(mut findings),
                Self::Broken(more) | Self::Warning(more),
            ) => {
                findings.extend(more);
                Self::Broken(findings)
            }
            (broken @ Self::Broken(_), _) | (_, broken @ Self::Broken(_)) => broken,
            (unknown @ Self::Unknown(_), _) | (_, unknown @ Self::Unknown(_)) => unknown,
        }
    }

    /// Whether it is neither kept nor not applicable.
    pub(super) fn is_wrong(&self) -> bool {
        !matches!(self, Self::NotApplicable | Self::Kept)
    }

    /// Kept instead of not applicable; other answers are unchanged.
    pub(crate) fn or_kept(self) -> Self {
        match self {
            Self::NotApplicable => Self::Kept,
            other => other,
        }
    }

    /// Warnings instead of violations; other answers are unchanged.
    pub(crate) fn as_warning(&self) -> Self {
        match self {
            Self::Broken(findings) => {
                Self::Warning(findings.iter().cloned().map(Finding::advisory).collect())
            }
            other => other.clone(),
        }
    }

    /// The first violations and the first warnings alone.
    pub(super) fn shortened(self) -> Self {
        match self {
            Self::Warning(findings) | Self::Broken(findings) => {
                let (warnings, violations): (Vec<_>, Vec<_>) =
                    findings.into_iter().partition(|finding| finding.advisory);
                let violations = violations.into_iter().take(MOST);
                Self::all(violations.chain(warnings.into_iter().take(MOST)))
            }
            other => other,
        }
    }

    /// Names the object in the findings that name none.
    pub(super) fn on(mut self, object: impl Fn() -> ObjectRef) -> Self {
        if let Self::Warning(findings) | Self::Broken(findings) = &mut self {
            findings
                .iter_mut()
                .for_each(|finding| finding.name_object(&object));
        }
        self
    }

    /// The findings; none unless something is wrong.
    pub(crate) fn findings(&self) -> &[Finding] {
        match self {
            Self::Warning(findings) | Self::Broken(findings) => findings,
            Self::NotApplicable | Self::Kept | Self::Unknown(_) => &[],
        }
    }
}

impl Findings {
    /// Counts an answer about one thing. The findings in it name their object.
    pub(super) fn count(&mut self, answer: Answer) {
        match answer {
            Answer::NotApplicable => {}
            Answer::Kept => self.examine(),
            Answer::Unknown(reason) => self.cannot_tell(reason),
            Answer::Warning(found) | Answer::Broken(found) => {
                self.examine();
                found.into_iter().for_each(|finding| self.report(finding));
            }
        }
    }
}

/// A function of a rule, with what it is called on.
pub(crate) trait Evaluate: Send + Sync {
    /// Judges all that was observed.
    fn evaluate(&self, hub: &Hub, findings: &mut Findings);

    /// Itself, if it judges each object by itself.
    fn on_objects(&self) -> Option<&dyn EvaluateObjects> {
        None
    }

    /// Whether it says what interruptions of a watch hide.
    fn judges_around_gaps(&self) -> bool {
        true
    }

    /// Whether it judges what happens, so that the rule's file must say what did not happen if nothing is examined.
    fn judges_events(&self) -> bool {
        false
    }

    /// Whether it judges published objects, rather than what an implementation does.
    fn judges_published_objects(&self) -> bool {
        false
    }
}

/// A function of a rule that judges each object by itself.
pub(crate) trait EvaluateObjects {
    /// How many objects there are.
    fn count_objects(&self, hub: &Hub) -> usize;

    /// Judges the objects at these places.
    fn evaluate_objects(&self, hub: &Hub, places: Range<usize>, findings: &mut Findings);
}

/// An evaluator without further settings.
impl<F: Fn(&Hub, &mut Findings) + Send + Sync> Evaluate for F {
    fn evaluate(&self, hub: &Hub, findings: &mut Findings) {
        self(hub, findings);
    }
}

impl fmt::Debug for dyn Evaluate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Evaluate")
    }
}

/// A rule on the hub as a whole; one answer for each thing that was examined. Findings name their object. Each use says why
/// no other evaluator fits.
pub(crate) fn once(check: fn(&Hub) -> Vec<Answer>) -> impl Evaluate {
    move |hub: &Hub, findings: &mut Findings| {
        check(hub).into_iter().for_each(|answer| findings.count(answer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortened_answer_keeps_violations_behind_many_warnings() {
        let finding = |place: usize| Finding::at_path(format!("list[{place}]"), "not a string");
        let answers = Answer::each(0..100_000, |place| match place {
            99_999 => Answer::broken(finding(place)),
            _ => Answer::warning(finding(place)),
        });
        let shortened = answers.shortened();
        assert_eq!(shortened.findings().len(), MOST + 1);
        assert!(matches!(&shortened, Answer::Broken(findings) if !findings[0].advisory));
    }
}
