//! Evaluates a function on each sample of a member, with the profile at that time.
//!
//! A violation is a run of successive samples that contradict one value of the profile for longer than the grace period.
//! A sample contradicts only what all versions since the sample before it report. Warnings have runs of their own.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use evidence::{
    ClusterProperty, Evidence, Kind, Lease, Look, Member, MemberPart, Reason, api::ClusterProfile,
};
use jiff::Timestamp;

use super::{
    Answer, Evaluate, Hub,
    comparison::{ComparedSample, Comparisons, of_both},
    is_joined, is_reachable,
    judged::{JudgedObject, is_any},
    state::GRACE,
};
use crate::{
    reasons::NO_MEMBER_ASKED,
    subjects::{Findings, Unknowns},
    time::{Micros, end, why_missed},
};

/// A rule on the samples of members.
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

    /// Compares a profile with all samples of its member.
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
        let mut versions = object.lives.iter().flat_map(|life| &life.versions);
        versions.any(|version| self.without_answers(hub, &version.object, member) != Answer::NotApplicable)
    }

    /// The answer without any answer of the member.
    fn without_answers(&self, hub: &Hub, profile: &ClusterProfile, member: &SampledMember) -> Answer {
        let sample = Look::without_answers(Timestamp::MIN, BTreeMap::new());
        self.answer(hub, profile, &member.sample(&sample))
    }

    fn judge<'e>(
        &self,
        hub: &Hub<'e>,
        object: &JudgedObject<'e, ClusterProfile>,
        member: &SampledMember<'e>,
        findings: &mut Findings,
    ) -> Vec<Reason> {
        if member.member.looks.is_empty() {
            let current = object.current();
            let answer = current.map(|profile| self.without_answers(hub, profile, member));
            return match answer {
                Some(Answer::Unknown(reason)) => vec![reason],
                _ => Vec::new(),
            };
        }
        let comparisons = self.compare(hub, object, member);
        if comparisons.is_examined() {
            findings.examine();
        }
        comparisons.judge(findings)
    }
}

/// The reason if the watch missed the profile.
const MISSED: &str = "the watch was interrupted while the member was sampled";

/// The samples that began before the end of the watch, and ended before the run's first write to the profile.
fn judged_samples<'e>(
    object: &JudgedObject<'e, ClusterProfile>,
    member: &'e Member,
    end: Micros,
) -> impl Iterator<Item = &'e Look> {
    let touch = object.first_touch.unwrap_or(Micros::MAX);
    let samples = member.looks.iter();
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
        let mut unknowns = Unknowns::default();
        let mut members: HashMap<(&str, &str), &Member> = HashMap::new();
        for member in &evidence.members {
            let (namespace, name) = (&*member.profile.namespace, &*member.profile.name);
            if evidence.histories_named(namespace, name).next().is_none() {
                unknowns.add(
                    &member.profile,
                    "a kubeconfig of its member was given, but there is no such profile",
                );
            }
            members.insert((namespace, name), member);
        }
        for object in hub.profiles() {
            if let Some(member) = members.get(&object.name()) {
                let sampled = SampledMember::of(evidence, member);
                for reason in self.judge(hub, object, &sampled, findings) {
                    unknowns.add(&member.profile, reason.to_string());
                }
            }
        }
        unknowns.report(findings);
    }
}

/// A member that the run accessed.
pub(super) struct SampledMember<'e> {
    pub(super) member: &'e Member,
    /// The components whose lease was fresh at some time since the first sample.
    renewing: BTreeSet<&'e str>,
    /// Why it never answered.
    silence: &'e str,
}

/// What a member answered at one time.
pub(crate) struct Sample<'s> {
    /// Its answers.
    pub(crate) answers: &'s Look,
    member: &'s SampledMember<'s>,
}

impl<'e> SampledMember<'e> {
    pub(super) fn of(evidence: &'e Evidence, member: &'e Member) -> Self {
        let reason = why_missed(evidence, Kind::Members, &member.profile);
        Self {
            member,
            renewing: renewing(member),
            silence: reason.unwrap_or("it was not asked"),
        }
    }

    pub(super) fn sample<'s>(&'s self, answers: &'s Look) -> Sample<'s> {
        Sample {
            answers,
            member: self,
        }
    }
}

/// The components whose lease was fresh at some time since the first sample. A lease that is stale all the time may be
/// a leftover.
fn renewing(member: &Member) -> BTreeSet<&str> {
    let mut components = BTreeSet::new();
    let Some(first) = member.looks.first() else {
        return components;
    };
    for answers in &member.looks {
        let since_first = answers.from.duration_since(first.from).as_secs();
        let leases = answers.leases.as_deref().unwrap_or_default().iter();
        let fresh =
            leases.filter(|lease| lease.age_seconds.saturating_sub(lease.duration_seconds) <= since_first);
        components.extend(fresh.map(|lease| &*lease.name));
    }
    components
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

    /// The answer about each ClusterProperty of the member.
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
