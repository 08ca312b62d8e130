//! Evaluates a function on each sample of a member, with the profile at that time.
//!
//! A violation is a run of successive samples that contradict one value of the profile for longer than the grace period.
//! A sample contradicts only what all versions since the sample before it report. Warnings have runs of their own.

use std::ops::Range;

use evidence::{ClusterProperty, Lease, Member, MemberPart, MemberSample};

use super::{is_joined, is_reachable, judged::is_any, prelude::*, state::GRACE};
use crate::{reasons::NO_MEMBER_ASKED, subjects::Length, time::why_missed};

pub(crate) struct MemberRule {
    check: fn(&ClusterProfile, &Sample, &Hub) -> Answer,
    /// How long a profile and its member may differ.
    grace: Micros,
    /// Whether the manager maintains what the rule is about.
    is_maintained: fn(&ClusterProfile) -> bool,
    /// If any version of the run has this, a rule that judged nothing may still apply: nothing happened.
    nothing_happened: Option<NothingHappened>,
}

/// What a version must have, and what did not happen then.
type NothingHappened = (fn(&ClusterProfile) -> bool, &'static str);

/// A rule on each sample of a member, with a grace period of 2 min. Called while the profile reports the member as joined
/// and healthy, or does not report that.
pub(crate) fn member(check: fn(&ClusterProfile, &Sample, &Hub) -> Answer) -> MemberRule {
    MemberRule {
        check,
        grace: GRACE,
        is_maintained: is_reachable,
        nothing_happened: None,
    }
}

impl MemberRule {
    pub(crate) fn grace(self, grace: Micros) -> Self {
        Self { grace, ..self }
    }

    /// Called while the member is joined, healthy or not.
    pub(crate) fn while_joined(mut self) -> Self {
        self.is_maintained = is_joined;
        self
    }

    /// If any version of the run has this, the rule applies: nothing happened that it judges, in these words.
    pub(crate) fn nothing_happened_if_any(
        mut self,
        has: fn(&ClusterProfile) -> bool,
        words: &'static str,
    ) -> Self {
        self.nothing_happened = Some((has, words));
        self
    }

    fn answer(&self, hub: &Hub, profile: &ClusterProfile, sample: &Sample) -> Answer {
        if (self.is_maintained)(profile) {
            (self.check)(profile, sample, hub).shortened()
        } else {
            Answer::NotApplicable
        }
    }

    fn compare<'e>(
        &self,
        hub: &Hub<'e>,
        object: &JudgedObject<'e, ClusterProfile>,
        member: &SampledMember<'e>,
    ) -> Comparisons<'e> {
        let timeline = object.timeline(hub);
        let end = end(hub.evidence).unwrap_or(Micros::MAX);
        let mut all: Vec<ComparedSample<'e>> = Vec::new();
        for answers in judged_samples(object, member.member, end) {
            let (from, until) = (answers.from.as_microsecond(), answers.until.as_microsecond());
            let since = all.last().map_or(from, |before| before.until.min(from));
            let (profile, answer) = match timeline.during(since, until.min(end)) {
                Ok(versions) => {
                    let sample = member.sample(answers);
                    let mut profiles = versions.into_iter().flatten().map(|version| &version.object);
                    let answers = profiles.clone().map(|profile| self.answer(hub, profile, &sample));
                    let answer = answers.reduce(of_both).unwrap_or(Answer::NotApplicable);
                    (profiles.next_back(), answer)
                }
                Err(_) if self.may_apply(hub, object, member) => (None, Answer::Unknown(MISSED.into())),
                Err(_) => (None, Answer::NotApplicable),
            };
            all.push(ComparedSample {
                from,
                until,
                profile,
                answer,
            });
        }
        Comparisons {
            all,
            grace: self.grace,
        }
    }

    /// Whether a version needs the member's answers.
    fn may_apply<'e>(
        &self,
        hub: &Hub<'e>,
        object: &JudgedObject<'e, ClusterProfile>,
        member: &SampledMember<'e>,
    ) -> bool {
        let mut profiles = object.histories.iter().flat_map(|history| history.objects());
        profiles.any(|profile| self.without_answers(hub, profile, member) != Answer::NotApplicable)
    }

    fn without_answers(&self, hub: &Hub, profile: &ClusterProfile, member: &SampledMember) -> Answer {
        let sample = MemberSample::without_answers(Timestamp::MIN, BTreeMap::new());
        self.answer(hub, profile, &member.sample(&sample))
    }

    fn judge<'e>(
        &self,
        hub: &Hub<'e>,
        object: &JudgedObject<'e, ClusterProfile>,
        member: &SampledMember<'e>,
        findings: &mut Findings,
    ) {
        if member.member.samples.is_empty() {
            let current = object.current();
            let answer = current.map(|profile| self.without_answers(hub, profile, member));
            if let Some(Answer::Unknown(reason)) = answer {
                findings.cannot_tell_of(&member.member.profile, reason);
            }
            return;
        }
        let comparisons = self.compare(hub, object, member);
        if comparisons.is_examined() {
            findings.examine();
        }
        for reason in comparisons.judge(findings) {
            findings.cannot_tell_of(&member.member.profile, reason);
        }
    }
}

/// The reason if the watch missed the profile.
const MISSED: &str = "the watch was interrupted while the member was sampled";

/// The samples that began before the end of the watch, and ended before the run's first write to the profile.
fn judged_samples<'e>(
    object: &JudgedObject<'e, ClusterProfile>,
    member: &'e Member,
    end: Micros,
) -> impl Iterator<Item = &'e MemberSample> {
    let touch = object.first_touch.unwrap_or(Micros::MAX);
    let samples = member.samples.iter();
    samples.filter(move |sample| sample.from.as_microsecond() <= end && sample.until.as_microsecond() < touch)
}

impl Evaluate for MemberRule {
    fn evaluate(&self, hub: &Hub, findings: &mut Findings) {
        let evidence = hub.evidence;
        if let Some((has, words)) = self.nothing_happened
            && is_any(evidence, has)
        {
            findings.nothing_happened(words);
        }
        if evidence.members.is_empty() {
            findings.not_asked(NO_MEMBER_ASKED);
        }
        let mut members: HashMap<(&str, &str), &Member> = HashMap::default();
        for member in &evidence.members {
            let (namespace, name) = (&*member.profile.namespace, &*member.profile.name);
            if evidence.histories_named(namespace, name).next().is_none() {
                findings.cannot_tell_of(
                    &member.profile,
                    "a kubeconfig of its member was given, but there is no such profile",
                );
            }
            members.insert((namespace, name), member);
        }
        for object in hub.profiles() {
            if let Some(member) = members.get(&object.name()) {
                self.judge(hub, object, &SampledMember::of(evidence, member), findings);
            }
        }
    }
}

struct ComparedSample<'e> {
    /// When the member was asked.
    from: Micros,
    /// When the last answer came.
    until: Micros,
    profile: Option<&'e ClusterProfile>,
    /// What it contradicts of all versions of the profile since the sample before.
    answer: Answer,
}

/// What a sample contradicts of two versions: only what both report.
fn of_both(before: Answer, after: Answer) -> Answer {
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
struct Comparisons<'e> {
    all: Vec<ComparedSample<'e>>,
    grace: Micros,
}

impl<'e> Comparisons<'e> {
    /// Whether the member answered in any sample that the rule applies to.
    fn is_examined(&self) -> bool {
        let mut answers = self.all.iter().map(|sample| &sample.answer);
        answers.any(|answer| !matches!(answer, Answer::NotApplicable | Answer::Unknown(_)))
    }

    /// Reports each violation, and returns why there may be others.
    fn judge(&self, findings: &mut Findings) -> Vec<Reason> {
        let all = self.all.iter().flat_map(|sample| sample.answer.findings());
        let paths: BTreeSet<&str> = all.map(|finding| &*finding.path).collect();
        let of_paths = paths
            .into_iter()
            .filter_map(|path| self.judge_path(path, findings));
        of_paths.chain(self.unanswered()).collect()
    }

    fn judge_path(&self, path: &str, findings: &mut Findings) -> Option<Reason> {
        let violations = self.runs(path, |finding| !finding.advisory);
        if let Some(run) = violations.iter().rfind(|run| self.is_too_long(run)) {
            self.report(path, run, false, findings);
            return None;
        }
        let wrong = self.runs(path, |_| true);
        if let Some(run) = wrong.iter().rfind(|run| self.is_too_long(run)) {
            self.report(path, run, true, findings);
        }
        let may_be_longer = violations.iter().any(|run| self.may_be_too_long(path, run));
        may_be_longer.then(|| self.too_short().into())
    }

    fn at(&self, place: usize, path: &str) -> Option<&Finding> {
        let mut all = self.all[place].answer.findings().iter();
        all.find(|finding| finding.path == path)
    }

    /// The runs of successive samples that contradict one value.
    fn runs(&self, path: &str, counts: fn(&Finding) -> bool) -> Vec<Range<usize>> {
        let observed = |place: usize| {
            let finding = self.at(place, path).filter(|finding| counts(finding));
            finding.map(|finding| &*finding.observed)
        };
        let observed: Vec<Option<&str>> = (0..self.all.len()).map(observed).collect();
        let mut first = 0;
        let runs = observed.chunk_by(|one, next| one == next).filter_map(|run| {
            let places = first..first + run.len();
            first = places.end;
            run[0].map(|_| places)
        });
        runs.collect()
    }

    fn is_too_long(&self, run: &Range<usize>) -> bool {
        self.length(run) > self.grace
    }

    /// For how long the profile was certainly wrong.
    fn length(&self, run: &Range<usize>) -> Micros {
        self.all[run.end - 1].from - self.all[run.start].until
    }

    /// Whether the violation may have lasted for longer: it is open at the end, or the samples around it have no answer.
    fn may_be_too_long(&self, path: &str, run: &Range<usize>) -> bool {
        let value = self.at(run.start, path).map(|finding| &finding.observed);
        let may_be_wrong = |place: &usize| {
            let is_same = || self.at(*place, path).map(|finding| &finding.observed) == value;
            self.all[*place].is_unknown() || is_same()
        };
        let before = (0..run.start).rev().take_while(may_be_wrong).count();
        let after = (run.end..self.all.len()).take_while(may_be_wrong).count();
        let (first, end) = (run.start - before, run.end + after);
        let is_open = end == self.all.len();
        let is_unanswered = before + after > 0;
        is_open || (is_unanswered && self.all[end - 1].until - self.all[first].from > self.grace)
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
    fn report(&self, path: &str, run: &Range<usize>, is_warning: bool, findings: &mut Findings) {
        let is_reported = |place: &usize| {
            let finding = self.at(*place, path);
            finding.is_some_and(|finding| finding.advisory == is_warning)
        };
        let place = run.clone().rfind(is_reported).unwrap_or(run.end - 1);
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
            Length(self.length(run)),
            timestamp(self.all[run.start].until),
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

/// A member that the run accessed.
struct SampledMember<'e> {
    member: &'e Member,
    /// The components whose lease was fresh at some time since the first sample.
    renewing: BTreeSet<&'e str>,
    /// Why it never answered.
    silence: &'e str,
}

/// What a member answered at one time.
pub(crate) struct Sample<'s> {
    pub(crate) answers: &'s MemberSample,
    member: &'s SampledMember<'s>,
}

impl<'e> SampledMember<'e> {
    fn of(evidence: &'e Evidence, member: &'e Member) -> Self {
        let reason = why_missed(evidence, Kind::Members, &member.profile);
        Self {
            member,
            renewing: renewing(member),
            silence: reason.unwrap_or("it was not asked"),
        }
    }

    fn sample<'s>(&'s self, answers: &'s MemberSample) -> Sample<'s> {
        Sample {
            answers,
            member: self,
        }
    }
}

/// The components whose lease was fresh at some time since the first sample. A lease that is stale all the time may be
/// a leftover.
fn renewing(member: &Member) -> BTreeSet<&str> {
    let names = member.samples.iter().flat_map(|answers| {
        let since_first = answers.from.duration_since(member.samples[0].from).as_secs();
        let leases = answers.leases.as_deref().unwrap_or_default().iter();
        let fresh = leases
            .filter(move |lease| lease.age_seconds.saturating_sub(lease.duration_seconds) <= since_first);
        fresh.map(|lease| &*lease.name)
    });
    names.collect()
}

impl Sample<'_> {
    /// The answer of a rule that needs a part that the member did not answer.
    pub(crate) fn lacks(&self, part: MemberPart) -> Answer {
        let reason = match self.answers.missing.get(&part) {
            Some(reason) => format!("its {} could not be read: {reason}", part.name()),
            None => self.member.silence.to_owned(),
        };
        Answer::Unknown(reason.into())
    }

    pub(crate) fn each_cluster_property(&self, check: impl FnMut(&ClusterProperty) -> Answer) -> Answer {
        match &self.answers.cluster_properties {
            Some(properties) => Answer::each(properties.iter(), check),
            None => self.lacks(MemberPart::ClusterProperties),
        }
    }

    /// The leases that are stale, of components that renewed theirs before.
    pub(crate) fn stale_leases(&self) -> impl Iterator<Item = &Lease> {
        let leases = self.answers.leases.as_deref().unwrap_or_default().iter();
        leases.filter(|lease| {
            lease.age_seconds > lease.duration_seconds && self.member.renewing.contains(&*lease.name)
        })
    }
}
