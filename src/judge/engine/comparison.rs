//! Which values of a profile the samples of its member contradict, and for how long.

use std::collections::BTreeSet;

use evidence::{Reason, Tracked, api::ClusterProfile};

use super::Answer;
use crate::{
    subjects::{Finding, Findings, Length},
    time::{Micros, SECOND, timestamp},
};

/// What one sample shows.
pub(super) struct ComparedSample<'e> {
    /// When the member was asked.
    pub(super) from: Micros,
    /// When the last answer came.
    pub(super) until: Micros,
    /// The profile at that time.
    pub(super) profile: Option<&'e ClusterProfile>,
    /// What it contradicts of all versions of the profile since the sample before.
    pub(super) answer: Answer,
}

/// What a sample contradicts of two versions: only what both report.
pub(super) fn of_both(before: Answer, after: Answer) -> Answer {
    match (before, after) {
        (Answer::NotApplicable, _) | (_, Answer::NotApplicable) => Answer::NotApplicable,
        (Answer::Kept, _) | (_, Answer::Kept) => Answer::Kept,
        (unknown @ Answer::Unknown(_), _) | (_, unknown @ Answer::Unknown(_)) => unknown,
        (before, after) => {
            let is_same = |old: &Finding, new: &Finding| old.path == new.path && old.observed == new.observed;
            let is_in_both = |new: &&Finding| before.findings().iter().any(|old| is_same(old, new));
            Answer::all(after.findings().iter().filter(is_in_both).cloned())
        }
    }
}

impl ComparedSample<'_> {
    fn is_unknown(&self) -> bool {
        matches!(self.answer, Answer::Unknown(_))
    }
}

/// All samples of one member, compared with its profile.
pub(super) struct Comparisons<'e> {
    pub(super) all: Vec<ComparedSample<'e>>,
    pub(super) grace: Micros,
}

/// Successive samples, from the first to the last one.
#[derive(Clone, Copy)]
struct Run {
    first: usize,
    last: usize,
}

impl<'e> Comparisons<'e> {
    /// Whether the member answered in any sample that the rule applies to.
    pub(super) fn is_examined(&self) -> bool {
        let mut answers = self.all.iter().map(|sample| &sample.answer);
        answers.any(|answer| !matches!(answer, Answer::NotApplicable | Answer::Unknown(_)))
    }

    /// Reports each violation, and returns why there may be others.
    pub(super) fn judge(&self, findings: &mut Findings) -> Vec<Reason> {
        let all = self.all.iter().flat_map(|sample| sample.answer.findings());
        let paths: BTreeSet<&str> = all.map(|finding| &*finding.path).collect();
        let mut reasons: Vec<Reason> = paths
            .into_iter()
            .filter_map(|path| self.judge_path(path, findings))
            .collect();
        reasons.extend(self.unanswered());
        reasons
    }

    fn judge_path(&self, path: &str, findings: &mut Findings) -> Option<Reason> {
        let violations = self.runs(path, |finding| !finding.advisory);
        if let Some(run) = violations.iter().rfind(|run| self.is_too_long(run)) {
            self.report(path, *run, false, findings);
            return None;
        }
        let wrong = self.runs(path, |_| true);
        if let Some(run) = wrong.iter().rfind(|run| self.is_too_long(run)) {
            self.report(path, *run, true, findings);
        }
        let may_be_longer = violations.iter().any(|run| self.may_be_too_long(path, *run));
        may_be_longer.then(|| self.too_short().into())
    }

    /// The finding of a sample at a path.
    fn at(&self, place: usize, path: &str) -> Option<&Finding> {
        let mut all = self.all[place].answer.findings().iter();
        all.find(|finding| finding.path == path)
    }

    /// The runs of samples that contradict one value.
    fn runs(&self, path: &str, counts: fn(&Finding) -> bool) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        let mut value: Option<&str> = None;
        for place in 0..self.all.len() {
            let finding = self.at(place, path).filter(|finding| counts(finding));
            let observed = finding.map(|finding| &*finding.observed);
            match runs.last_mut() {
                Some(run) if observed.is_some() && observed == value => run.last = place,
                _ if observed.is_some() => runs.push(Run {
                    first: place,
                    last: place,
                }),
                _ => {}
            }
            value = observed;
        }
        runs
    }

    fn is_too_long(&self, run: &Run) -> bool {
        self.length(run) > self.grace
    }

    /// For how long the profile was certainly wrong.
    fn length(&self, run: &Run) -> Micros {
        self.all[run.last].from - self.all[run.first].until
    }

    /// Whether the violation may have lasted for longer: it is open at the end, or the samples around it have no answer.
    fn may_be_too_long(&self, path: &str, run: Run) -> bool {
        let value = self.at(run.first, path).map(|finding| &finding.observed);
        let may_be_wrong = |place: &usize| {
            let is_same = || self.at(*place, path).map(|finding| &finding.observed) == value;
            self.all[*place].is_unknown() || is_same()
        };
        let first = (0..run.first)
            .rev()
            .take_while(may_be_wrong)
            .last()
            .unwrap_or(run.first);
        let last = (run.last + 1..self.all.len())
            .take_while(may_be_wrong)
            .last()
            .unwrap_or(run.last);
        let is_open = last + 1 == self.all.len();
        let is_unanswered = first < run.first || last > run.last;
        is_open || (is_unanswered && self.all[last].until - self.all[first].from > self.grace)
    }

    /// Why the member may have differed while it did not answer: for longer than the grace period, or in all samples.
    fn unanswered(&self) -> Option<Reason> {
        let mut since: Option<Micros> = None;
        let mut reason = None;
        for sample in &self.all {
            let Answer::Unknown(why) = &sample.answer else {
                since = None;
                continue;
            };
            let since = *since.get_or_insert(sample.from);
            if sample.until - since > self.grace {
                reason = Some(why.clone());
            }
        }
        match &self.all.first()?.answer {
            Answer::Unknown(why) if self.all.iter().all(ComparedSample::is_unknown) => {
                reason.or(Some(why.clone()))
            }
            _ => reason,
        }
    }

    /// Reports what the last sample of a run contradicts.
    fn report(&self, path: &str, run: Run, is_warning: bool, findings: &mut Findings) {
        let mut places = (run.first..=run.last).rev();
        let place = places.find(|place| {
            self.at(*place, path)
                .is_some_and(|finding| finding.advisory == is_warning)
        });
        let place = place.unwrap_or(run.last);
        let Some(finding) = self.at(place, path) else {
            return;
        };
        let mut finding = finding.clone();
        if let Some(profile) = self.all[place].profile {
            finding.object = profile.object_ref();
        }
        let observed = format!(
            "{}, for at least {} since {} (grace: {})",
            finding.observed,
            Length(self.length(&run)),
            timestamp(self.all[run.first].until),
            Length(self.grace),
        );
        findings.report(finding.observed(observed));
    }

    fn too_short(&self) -> String {
        let minutes = self.grace / (60 * SECOND);
        format!(
            "it differs from its member, which was not watched without a break for longer than the grace period of \
             {minutes} min: observe for at least {} min",
            minutes + 1
        )
    }
}
