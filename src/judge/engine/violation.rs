//! Judges how long each violation lasted.

use std::rc::Rc;

use super::{
    author::{author_of_moment, not_begun_by_other_clients},
    prelude::*,
};
use crate::{
    subjects::Length,
    text::ABSENT,
    time::Stretch,
    timeline::{Intervals, Moment},
};

/// The answers about an object, or about objects that share a key, over time.
pub(super) struct Violations<'v, 'e, T> {
    pub(super) hub: &'v Hub<'e>,
    pub(super) timeline: &'v Timeline<'e, T>,
    pub(super) histories: &'v [&'e History<T>],
    pub(super) answers: &'v [Rc<Answer>],
    /// Whether a version of an object matters to the rule.
    pub(super) is_member: &'v dyn Fn(&Version<T>) -> bool,
    /// How long a violation may last; 0 if it must not occur at all.
    pub(super) grace: Micros,
    /// Up to this length, a violation that begins or ends during the watch is a warning only.
    pub(super) sure_after: Micros,
    /// Whether a new object needs no remark, since implementations fill the field later.
    pub(super) is_filled_later: bool,
    /// Whether a violation counts that another client's change began.
    pub(super) counts_any_author: bool,
}

impl<T: Judged> Violations<'_, '_, T> {
    /// Reports each violation that lasted, and why others may have.
    pub(super) fn judge(&self, findings: &mut Findings) {
        // What surely began after the window does not count.
        let answers = &self.answers[..self.timeline.count_begun()];
        let all_findings = answers.iter().flat_map(|answer| answer.findings());
        let identities: BTreeSet<&str> = all_findings.map(Finding::identity).collect();
        for identity in identities {
            self.judge_violation(identity, findings);
        }
        let reasons: BTreeSet<&Reason> = answers.iter().filter_map(|answer| why_unknown(answer)).collect();
        for reason in reasons {
            let holds = |place: usize| why_unknown(&self.answers[place]) == Some(reason);
            let intervals = self.timeline.intervals(holds);
            if self.lasts(&intervals) != Certainty::No {
                findings.cannot_tell(reason.clone());
            }
        }
    }

    fn judge_violation(&self, identity: &str, findings: &mut Findings) {
        let counts = self.counting_moments(identity);
        let is_broken =
            |place: usize| counts[place] && self.at(place, identity).any(|finding| !finding.advisory);
        let is_wrong = |place: usize| counts[place] && self.at(place, identity).next().is_some();
        let violations = self.intervals(identity, is_broken);
        match self.lasts(&violations) {
            Certainty::Yes => {
                let is_sure = self.sure_after == 0
                    || violations.longer_than(self.sure_after) == Certainty::Yes
                    || self.is_all_along(&is_broken);
                return self.report(identity, &violations, &is_broken, is_sure, findings);
            }
            Certainty::Unknown(reason) => {
                findings.cannot_tell(reason);
                if violations.goes_on() {
                    self.wait(findings);
                }
                return;
            }
            Certainty::No => {}
        }
        let wrong = self.intervals(identity, is_wrong);
        match self.lasts(&wrong) {
            Certainty::Yes => self.report(identity, &wrong, &is_wrong, true, findings),
            Certainty::Unknown(_) | Certainty::No => self.note_short(identity, &wrong, findings),
        }
    }

    /// When a field was wrong. The server timestamps of the first list date a wrong value, but not a missing one: the removal
    /// of a field leaves no timestamp.
    fn intervals(&self, identity: &str, holds: impl Fn(usize) -> bool) -> Intervals {
        let intervals = self.timeline.intervals(holds);
        let first = self.first_observation();
        let mut findings = self.at(first, identity);
        let is_absent = findings.any(|finding| finding.observed.starts_with(ABSENT));
        if is_absent && self.timeline.is_watched() {
            intervals.unknown_before(self.timeline.moments()[first].seen_at)
        } else {
            intervals
        }
    }

    /// Whether something was so whenever the objects were observed. The objects of a list arrive one after the other.
    fn is_all_along(&self, holds: &dyn Fn(usize) -> bool) -> bool {
        let moments = self.timeline.moments();
        let has_length = |place: usize| {
            let next = moments.get(place + 1);
            next.is_none_or(|next| next.seen_at > moments[place].seen_at)
        };
        let mut places = 0..moments.len();
        places.all(|place| holds(place) || !moments[place].is_observed() || !has_length(place))
    }

    fn lasts(&self, intervals: &Intervals) -> Certainty {
        match self.grace {
            0 if !intervals.arrival_spans().is_empty() => Certainty::Yes,
            0 => Certainty::No,
            grace => intervals.longer_than(grace),
        }
    }

    /// The moments with a violation that counts: no other client is known to have begun it.
    fn counting_moments(&self, identity: &str) -> Vec<bool> {
        let path = |place: usize| self.at(place, identity).next().map(|finding| &*finding.path);
        not_begun_by_other_clients(
            self.answers.len(),
            |place| path(place).is_some(),
            |place| {
                !self.counts_any_author && path(place).is_some_and(|path| self.has_other_author(place, path))
            },
        )
    }

    /// Whether the run or another client is known to have begun the violation of a field at a moment.
    fn has_other_author(&self, place: usize, path: &str) -> bool {
        let attribution = author_of_moment(self.hub, self.timeline, place, path, self.is_member);
        attribution.is_some_and(|attribution| attribution.is_other_client())
    }

    fn at(&self, place: usize, identity: &str) -> impl Iterator<Item = &Finding> {
        let findings = self.answers[place].findings().iter();
        findings.filter(move |finding| finding.identity() == identity)
    }

    /// Reports what is wrong at the last moment of the last stretch that was longer than the grace period.
    fn report(
        &self,
        identity: &str,
        intervals: &Intervals,
        holds: &dyn Fn(usize) -> bool,
        is_sure: bool,
        findings: &mut Findings,
    ) {
        let stretches = intervals.stretches(self.grace);
        let last = stretches.last();
        let is_within = |place: &usize| {
            let seen_at = self.timeline.moments()[*place].seen_at;
            last.is_none_or(|last| (last.from..last.until.max(last.from + 1)).contains(&seen_at))
        };
        let wrong: Vec<usize> = (0..self.answers.len()).filter(|place| holds(*place)).collect();
        let within: Vec<usize> = wrong.iter().copied().filter(is_within).collect();
        let places = if within.is_empty() { &wrong } else { &within };
        let (Some(first), Some(place)) = (places.first(), places.last()) else {
            return;
        };
        let span = self.span(*first, *place, &stretches);
        for finding in self.at(*place, identity) {
            let mut finding = self.on_object(finding, *place);
            if let Some(span) = &span {
                let observed = format!("{}; {span}", finding.observed);
                finding = finding.observed(observed);
            }
            findings.report(if is_sure { finding } else { finding.advisory() });
        }
    }

    /// A finding that names its object: the first one of the moment, unless it names another.
    fn on_object(&self, finding: &Finding, place: usize) -> Finding {
        let mut finding = finding.clone();
        if let Some([version, ..]) = self.timeline.objects(place) {
            finding.name_object(|| version.object.object_ref());
        }
        finding
    }

    /// From when until when a violation lasted, in words; none if it was there all the time, or is judged by one version.
    fn span(&self, first: usize, last: usize, stretches: &[Stretch]) -> Option<String> {
        let moments = self.timeline.moments();
        let is_all_along = first == self.first_observation() && last + 1 == moments.len();
        if stretches.is_empty() || self.grace == 0 || !self.timeline.is_watched() || is_all_along {
            return None;
        }
        let is_begin_observed = first > 0 && moments[first - 1].is_observed();
        let bound = if is_begin_observed { "" } else { "at least " };
        let is_terminating = |version: &&Version<T>| version.object.is_terminating();
        let next = (last + 1 < moments.len()).then(|| self.timeline.objects(last + 1));
        let ending = match next {
            None => self.timeline.end_in_words(),
            Some(None) => ", when the watch was interrupted",
            Some(Some(objects)) if objects.is_empty() || objects.iter().any(is_terminating) => {
                ", when the profile was deleted"
            }
            Some(Some(_)) => ", then fixed",
        };
        Some(describe(stretches, bound, self.grace, ending))
    }

    fn first_observation(&self) -> usize {
        let moments = self.timeline.moments();
        moments.iter().position(Moment::is_observed).unwrap_or_default()
    }

    /// Remarks that a violation lasted no longer than the grace period.
    fn note_short(&self, identity: &str, intervals: &Intervals, findings: &mut Findings) {
        if self.is_filled_later {
            return;
        }
        let longest = intervals
            .arrival_spans()
            .iter()
            .map(|(from, until)| until - from)
            .max();
        let wrong = (0..self.answers.len()).find_map(|place| Some((place, self.at(place, identity).next()?)));
        let (Some(length), Some((place, finding))) = (longest, wrong) else {
            return;
        };
        let finding = self.on_object(finding, place);
        let length = if self.timeline.is_watched() { length } else { 0 };
        findings.note_short(&finding, length, self.grace);
    }

    /// Asks the run to watch on for all objects that exist, since a change of any one may end the violation.
    fn wait(&self, findings: &mut Findings) {
        let objects = self.histories.iter().filter_map(|history| history.current());
        objects.for_each(|object| object.wait_for(findings));
    }
}

fn why_unknown(answer: &Answer) -> Option<&Reason> {
    match answer {
        Answer::Unknown(reason) => Some(reason),
        _ => None,
    }
}

/// From when until when something lasted for longer than a grace period: the last of its stretches. Empty without any.
pub(super) fn describe(stretches: &[Stretch], bound: &str, grace: Micros, ending: &str) -> String {
    let Some(stretch) = stretches.last() else {
        return String::new();
    };
    let again = match stretch.times {
        1 => String::new(),
        times => format!(" in all, {times} times"),
    };
    let last = match stretches.len() {
        1 => String::new(),
        times => format!(", the last of {times} times"),
    };
    let (length, grace) = (Length(stretch.total), Length(grace));
    let (from, until) = (timestamp(stretch.from), timestamp(stretch.until));
    format!("wrong for {bound}{length}{again} (grace: {grace}), from {from} until {until}{ending}{last}")
}
