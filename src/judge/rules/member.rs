//! Compares what a profile reports with what its member reports.
//!
//! Both the manager and the runner see a change some time after it happened, so a single snapshot cannot prove a
//! mismatch. A profile is wrong if, for longer than a grace period, it never agreed with any of an unbroken series of
//! looks at the member. A shorter series proves nothing. A gap in what the watch saw of the profile breaks a series.

use std::{cell::LazyCell, collections::HashMap, fmt::Display};

use evidence::{
    Evidence, Kind, Look, Member, MemberPart, Origin, ProfileHistory,
    api::{
        ClusterProfile,
        names::{CONDITION_HEALTHY, CONDITION_JOINED},
    },
};
use jiff::{SignedDuration, Timestamp};

use super::{
    finding::{Finding, Findings},
    write_time::missed_within,
};
use crate::reasons::NO_MEMBER_ASKED;

/// A judged profile and its member.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a> {
    evidence: &'a Evidence,
    /// The profile, which may be deleted.
    pub(super) history: &'a ProfileHistory,
    /// The looks at its member.
    pub(super) member: &'a Member,
}

/// How profiles are compared with their members.
pub(super) struct Comparison<'f, 'a, P, M> {
    /// The part of the member's answers.
    pub(super) part: MemberPart,
    /// How long the two may differ, in seconds.
    pub(super) grace: i64,
    /// Whether the manager vouches for a profile's content.
    pub(super) vouches: fn(&ClusterProfile) -> bool,
    /// The value that a profile reports, if any.
    pub(super) said: &'f dyn Fn(&'a ClusterProfile) -> Option<P>,
    /// The value in a look; none if it was unavailable.
    pub(super) seen: &'f dyn Fn(&'a Look) -> Option<M>,
    /// Whether the reported value agrees with the seen one, given the one seen before: the value may have been in
    /// between.
    pub(super) agrees: &'f dyn Fn(&P, &M, Option<&M>) -> bool,
}

/// The outcome of a comparison.
pub(super) enum Outcome<'a, P, M> {
    /// The profile was never wrong for longer than the grace.
    Agrees,
    /// The profile was wrong for longer than the grace.
    Differs(Difference<'a, P, M>),
    /// The two differ, but the looks cover less time than the grace.
    TooShort,
    /// The watch missed what the profile reported whenever the member was asked.
    Missed,
    /// The profile reports a value, and the member was unavailable.
    Unseen,
    /// There is nothing to compare.
    Unsaid,
}

/// A profile that was wrong for longer than the grace.
pub(super) struct Difference<'a, P, M> {
    /// The profile, in the last version that was wrong.
    pub(super) profile: &'a ClusterProfile,
    /// The value that it reports.
    pub(super) said: P,
    /// The value that the member reports.
    pub(super) seen: M,
    /// Minimum time for which it was wrong, in seconds.
    pub(super) seconds: i64,
}

/// The value seen by one look, and the values that the profile reported since the look before.
struct Moment<'a, P, M> {
    look: &'a Look,
    seen: M,
    profile: &'a ClusterProfile,
    said: Vec<P>,
}

/// Members that a rule cannot judge: each cause once, with the first member.
#[derive(Default)]
pub(super) struct Doubts(Vec<Doubt>);

struct Doubt {
    first: String,
    cause: String,
    count: usize,
}

/// The judged profiles with a member. Notes the members without a profile.
pub(super) fn pairs<'a>(
    evidence: &'a Evidence,
    findings: &mut Findings,
    doubts: &mut Doubts,
) -> Vec<Pair<'a>> {
    if evidence.members.is_empty() {
        findings.not_asked(NO_MEMBER_ASKED);
    }
    let mut members: HashMap<(&str, &str), &Member> = HashMap::new();
    for member in &evidence.members {
        let (namespace, name) = (&member.profile.namespace, &member.profile.name);
        if evidence.histories_named(namespace, name).next().is_none() {
            doubts.add(
                &member.profile,
                "a kubeconfig of its member was given, but there is no such profile",
            );
        }
        members.insert((namespace, name), member);
    }
    let pair = |history: &'a ProfileHistory| {
        let metadata = &history.last().metadata;
        let member = members.get(&(&*metadata.namespace, &*metadata.name))?;
        Some(Pair {
            evidence,
            history,
            member,
        })
    };
    evidence.histories().filter_map(pair).collect()
}

/// Whether the profile says that the member is joined. If not, the manager does not maintain the status.
pub(super) fn is_joined(profile: &ClusterProfile) -> bool {
    let joined = profile.condition(CONDITION_JOINED);
    profile.metadata.deletion_timestamp.is_none() && joined.is_none_or(|joined| &*joined.status == "True")
}

/// Whether the manager also claims to reach a healthy member: otherwise the status may be stale.
pub(super) fn vouches(profile: &ClusterProfile) -> bool {
    let healthy = profile.condition(CONDITION_HEALTHY);
    is_joined(profile) && healthy.is_none_or(|healthy| &*healthy.status == "True")
}

impl Pair<'_> {
    /// Whether a part of the member's answers was never available.
    pub(super) fn never_told(self, part: MemberPart) -> bool {
        !self.member.looks.iter().any(|look| look.has(part))
    }

    /// Why a part of the member's answers was unavailable.
    fn reason(self, evidence: &Evidence, part: MemberPart) -> String {
        let missing = self.member.looks.iter().rev();
        let missing = missing.filter_map(|look| look.missing.get(&part)).next();
        if let Some(missing) = missing {
            return format!("its {} could not be read: {missing}", part.name());
        }
        let profile = &self.member.profile;
        let mut gaps = evidence.gaps(Kind::Members);
        let gap = gaps.find(|gap| {
            let object = gap.object.as_ref();
            object.is_some_and(|object| object.name == profile.name && object.namespace == profile.namespace)
        });
        gap.map_or_else(|| "it was not asked".to_owned(), |gap| gap.reason.clone())
    }
}

/// The versions of a profile that existed at some time of a span.
pub(super) fn in_force(history: &ProfileHistory, from: Timestamp, until: Timestamp) -> Vec<&ClusterProfile> {
    // A version may exist for a moment before the runner sees it.
    let latest = until
        .saturating_add(SignedDuration::from_secs(1))
        .unwrap_or(until);
    if history.deleted.is_some_and(|deleted| deleted <= latest) {
        return Vec::new();
    }
    let was_there_before = history.origin == Origin::Listed;
    let known = history
        .versions
        .iter()
        .enumerate()
        .filter(|(index, version)| version.at <= latest || (*index == 0 && was_there_before));
    let next = |index: usize| history.versions.get(index + 1);
    known
        .filter(|(index, _)| next(*index).is_none_or(|next| next.at > from))
        .map(|(_, version)| &version.object)
        .collect()
}

/// What is in doubt if the watch missed how a profile was when its member was called.
pub(super) const MISSED: &str = "the watch was interrupted when its member was called";

/// Whether the watch may have missed how a profile was at that time.
pub(super) fn was_missed(evidence: &Evidence, history: &ProfileHistory, at: Timestamp) -> bool {
    was_missed_within(evidence, history, at, at)
}

/// Whether the watch may have missed a version of a profile that existed at some time of a span.
fn was_missed_within(
    evidence: &Evidence,
    history: &ProfileHistory,
    from: Timestamp,
    until: Timestamp,
) -> bool {
    missed_within(evidence, history.last(), from, until).is_some()
}

/// Whether the manager vouched for all of these profiles at that time, as far as the watch tells.
pub(super) fn stood<'a>(
    evidence: &Evidence,
    histories: impl IntoIterator<Item = &'a ProfileHistory>,
    at: Timestamp,
    stands: fn(&ClusterProfile) -> bool,
) -> bool {
    let mut versions = Vec::new();
    for history in histories {
        if was_missed(evidence, history, at) {
            return false;
        }
        versions.extend(in_force(history, at, at));
    }
    !versions.is_empty() && versions.into_iter().all(stands)
}

impl<'a, P: Clone, M: Clone> Comparison<'_, 'a, P, M> {
    /// Compares all judged profiles with their members. `finding` describes one that differs.
    pub(super) fn each(
        &self,
        evidence: &'a Evidence,
        findings: &mut Findings,
        finding: impl Fn(&Difference<'a, P, M>) -> Finding,
    ) {
        let mut doubts = Doubts::default();
        for pair in pairs(evidence, findings, &mut doubts) {
            match self.of(pair) {
                Outcome::Agrees => findings.examine(),
                Outcome::Differs(difference) => {
                    findings.examine();
                    findings.report(finding(&difference));
                }
                outcome => self.doubt(evidence, pair, &outcome, &mut doubts),
            }
        }
        doubts.tell(findings);
    }

    /// Records why a comparison has no result, if that matters.
    pub(super) fn doubt(
        &self,
        evidence: &Evidence,
        pair: Pair,
        outcome: &Outcome<P, M>,
        doubts: &mut Doubts,
    ) {
        match outcome {
            Outcome::TooShort => doubts.add(&pair.member.profile, &self.too_short()),
            Outcome::Missed => doubts.add(
                &pair.member.profile,
                "the watch missed what its profile said while it was asked",
            ),
            Outcome::Unseen => doubts.add_missing(evidence, pair, self.part),
            Outcome::Agrees | Outcome::Differs(_) | Outcome::Unsaid => {}
        }
    }

    /// Compares one profile with its member.
    pub(super) fn of(&self, pair: Pair<'a>) -> Outcome<'a, P, M> {
        let mut outcome = Outcome::Unsaid;
        let is_ever_said = LazyCell::new(|| self.is_ever_said(pair));
        // The values without a break, and the index from which the two have differed.
        let (mut stretch, mut begin) = (Vec::new(), 0);
        for look in &pair.member.looks {
            let since = stretch
                .last()
                .map_or(look.from, |moment: &Moment<'a, P, M>| moment.look.until);
            let from = since.min(look.from);
            let is_missed = was_missed_within(pair.evidence, pair.history, from, look.until);
            if is_missed && *is_ever_said {
                outcome.becomes(Outcome::Missed);
            }
            let moment = self.moment(pair.history, look, since);
            let Some(moment) = moment.filter(|_| !is_missed) else {
                stretch.clear();
                begin = 0;
                continue;
            };
            stretch.push(moment);
            let last = stretch.len() - 1;
            if let Some(agreed) = (begin..=last)
                .rev()
                .find(|other| self.agree(&stretch, *other, last))
            {
                begin = agreed + 1;
            }
            let Some(first) = stretch.get(begin) else {
                outcome.becomes(Outcome::Agrees);
                continue;
            };
            let seconds = look.from.duration_since(first.look.until).as_secs();
            let moment = &stretch[last];
            outcome.becomes(match (seconds >= self.grace, begin) {
                (true, _) => Outcome::Differs(Difference {
                    profile: moment.profile,
                    said: moment.said[moment.said.len() - 1].clone(),
                    seen: moment.seen.clone(),
                    seconds,
                }),
                (false, 0) => Outcome::TooShort,
                (false, _) => Outcome::Agrees,
            });
        }
        match outcome {
            Outcome::Unsaid
                if !self.was_seen(pair) && pair.history.current().is_some_and(|last| self.is_said(last)) =>
            {
                Outcome::Unseen
            }
            outcome => outcome,
        }
    }

    /// Whether the manager vouches for a value in a profile.
    fn is_said(&self, profile: &'a ClusterProfile) -> bool {
        (self.vouches)(profile) && (self.said)(profile).is_some()
    }

    fn is_ever_said(&self, pair: Pair<'a>) -> bool {
        let mut versions = pair.history.versions.iter();
        versions.any(|version| self.is_said(&version.object)) && self.was_seen(pair)
    }

    /// The value in a look, and the values that the profile reported since the look before; none if the manager did
    /// not vouch throughout, or a part is unknown.
    fn moment(
        &self,
        history: &'a ProfileHistory,
        look: &'a Look,
        since: Timestamp,
    ) -> Option<Moment<'a, P, M>> {
        let versions = in_force(history, since.min(look.from), look.until);
        let stands = versions.iter().all(|profile| (self.vouches)(profile));
        Some(Moment {
            look,
            seen: (self.seen)(look).filter(|_| stands)?,
            profile: versions.last().copied()?,
            said: versions
                .iter()
                .map(|profile| (self.said)(profile))
                .collect::<Option<_>>()?,
        })
    }

    /// Whether the value reported at one of two moments agrees with the one seen at the other.
    fn agree(&self, stretch: &[Moment<P, M>], one: usize, other: usize) -> bool {
        let said_at = |said: usize, seen: usize| {
            let before = seen.checked_sub(1).map(|before| &stretch[before].seen);
            let mut all = stretch[said].said.iter();
            all.any(|said| (self.agrees)(said, &stretch[seen].seen, before))
        };
        said_at(one, other) || said_at(other, one)
    }

    /// Whether any look has the part.
    fn was_seen(&self, pair: Pair<'a>) -> bool {
        pair.member.looks.iter().any(|look| (self.seen)(look).is_some())
    }

    fn too_short(&self) -> String {
        let minutes = self.grace / 60;
        format!(
            "it differs from its member, which was not watched without a break for longer than the grace period of \
             {minutes} min: observe for at least {} min",
            minutes + 1
        )
    }
}

impl<P, M> Outcome<'_, P, M> {
    /// Merges a later outcome: an earlier difference persists, and so does an earlier agreement.
    fn becomes(&mut self, later: Self) {
        let weight = |outcome: &Self| match outcome {
            Outcome::Unsaid | Outcome::Unseen => 0,
            Outcome::Missed => 1,
            Outcome::TooShort => 2,
            Outcome::Agrees => 3,
            Outcome::Differs(_) => 4,
        };
        if weight(&later) >= weight(self) {
            *self = later;
        }
    }
}

impl Doubts {
    /// Records that a rule cannot judge an object.
    pub(super) fn add(&mut self, object: impl Display, cause: &str) {
        match self.0.iter_mut().find(|doubt| doubt.cause == cause) {
            Some(doubt) => doubt.count += 1,
            None => self.0.push(Doubt {
                first: object.to_string(),
                cause: cause.to_owned(),
                count: 1,
            }),
        }
    }

    /// Records that a rule cannot judge a member, as that part was unavailable.
    pub(super) fn add_missing(&mut self, evidence: &Evidence, pair: Pair, part: MemberPart) {
        self.add(&pair.member.profile, &pair.reason(evidence, part));
    }

    /// Reports each doubt as inconclusive.
    pub(super) fn tell(self, findings: &mut Findings) {
        for Doubt { first, cause, count } in self.0 {
            match count {
                1 => findings.cannot_tell(format!("{first}: {cause}")),
                _ => findings.cannot_tell(format!("{first} and {} more: {cause}", count - 1)),
            }
        }
    }
}
