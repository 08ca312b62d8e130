//! What a profile says of its member, beside what the member says of itself.
//!
//! A manager learns of a change a while after it took place, and so does the runner. So a profile is not held to one
//! look: what it says has to have been so within a grace before, as far as the looks tell. That it was not is known
//! only where looks without a break between them go back that far; fewer tell nothing.

use std::{collections::HashMap, fmt::Display};

use jiff::{SignedDuration, Timestamp};

use super::{Finding, Findings};
use crate::{
    api::{
        ClusterProfile,
        names::{CONDITION_HEALTHY, CONDITION_JOINED},
    },
    evidence::{Evidence, Kind, Look, Member, MemberPart, Origin, ProfileHistory},
};

/// A profile that is judged, and the member that it describes.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a> {
    /// The profile, which may be gone.
    pub(super) history: &'a ProfileHistory,
    /// What its member said.
    pub(super) member: &'a Member,
}

/// How what profiles say is compared with what their members say.
pub(super) struct Comparison<'f, 'a, P, M> {
    /// The part that members are asked for.
    pub(super) part: MemberPart,
    /// For how long the two may differ, in seconds.
    pub(super) grace: i64,
    /// Whether the manager stands for what a profile says.
    pub(super) vouches: fn(&ClusterProfile) -> bool,
    /// What a profile says; none: nothing.
    pub(super) said: &'f dyn Fn(&'a ClusterProfile) -> Option<P>,
    /// What a look has seen; none where it could not be had.
    pub(super) seen: &'f dyn Fn(&'a Look) -> Option<M>,
    /// Whether what is said agrees with what was seen, given what was seen before: it may have been so in between.
    pub(super) agrees: &'f dyn Fn(&P, &M, Option<&M>) -> bool,
}

/// What came of a comparison.
pub(super) enum Outcome<'a, P, M> {
    /// The profile was never wrong for longer than the grace.
    Agrees,
    /// It was.
    Differs(Difference<'a, P, M>),
    /// The two differ, but the looks do not go back for as long as the grace.
    TooShort,
    /// The profile says something, and the member could not be asked.
    Unseen,
    /// There is nothing to compare.
    Unsaid,
}

/// A profile that says what has not been so for longer than the grace.
pub(super) struct Difference<'a, P, M> {
    /// The profile, in the last version that was wrong.
    pub(super) profile: &'a ClusterProfile,
    /// What it says.
    pub(super) said: P,
    /// What the member says.
    pub(super) seen: M,
    /// For how long at least it has been wrong, in seconds.
    pub(super) seconds: i64,
}

/// For those members that a rule cannot tell of: each cause once, with the first of them.
#[derive(Default)]
pub(super) struct Doubts(Vec<Doubt>);

struct Doubt {
    first: String,
    cause: String,
    count: usize,
}

/// Why no rule on members has anything to say where none was asked.
const NOT_ASKED: &str = "no way to a member of a profile was given: add `--members FILE`";

/// The judged profiles whose members were to be asked. Notes the members that belong to no profile.
pub(super) fn pairs<'a>(
    evidence: &'a Evidence,
    findings: &mut Findings,
    doubts: &mut Doubts,
) -> Vec<Pair<'a>> {
    if evidence.members.is_empty() {
        findings.not_asked(NOT_ASKED);
    }
    let mut members: HashMap<(&str, &str), &Member> = HashMap::new();
    for member in &evidence.members {
        let (namespace, name) = (&member.profile.namespace, &member.profile.name);
        if evidence.histories_named(namespace, name).next().is_none() {
            doubts.add(
                &member.profile,
                "a way to its member was given, but there is no such profile",
            );
        }
        members.insert((namespace, name), member);
    }
    let pair = |history: &'a ProfileHistory| {
        let metadata = &history.last().metadata;
        let member = members.get(&(&*metadata.namespace, &*metadata.name))?;
        Some(Pair { history, member })
    };
    evidence.histories().filter_map(pair).collect()
}

/// Whether the member is under the manager's care, as far as the profile tells: where it is not, nobody keeps the rest
/// of the status as it should be.
pub(super) fn is_joined(profile: &ClusterProfile) -> bool {
    let joined = profile.condition(CONDITION_JOINED);
    profile.metadata.deletion_timestamp.is_none() && joined.is_none_or(|joined| &*joined.status == "True")
}

/// Whether the manager also claims to reach a healthy member: what it says of another one may be of old.
pub(super) fn vouches(profile: &ClusterProfile) -> bool {
    let healthy = profile.condition(CONDITION_HEALTHY);
    is_joined(profile) && healthy.is_none_or(|healthy| &*healthy.status == "True")
}

impl Pair<'_> {
    /// Whether a part of what the member was asked for could never be had.
    pub(super) fn never_told(self, part: MemberPart) -> bool {
        !self.member.looks.iter().any(|look| look.has(part))
    }

    /// Why a part of what the member was asked for could not be had.
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

/// The versions of a profile that were there at some time of a span.
pub(super) fn in_force(history: &ProfileHistory, from: Timestamp, until: Timestamp) -> Vec<&ClusterProfile> {
    // A version may have been there for a moment before the runner saw it.
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
        .map(|(_, version)| &version.profile)
        .collect()
}

impl<'a, P, M: Clone> Comparison<'_, 'a, P, M> {
    /// Compares all judged profiles with their members. `finding` tells of one that differs.
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

    /// Notes why a comparison has told nothing, where that matters.
    pub(super) fn doubt(
        &self,
        evidence: &Evidence,
        pair: Pair,
        outcome: &Outcome<P, M>,
        doubts: &mut Doubts,
    ) {
        match outcome {
            Outcome::TooShort => doubts.add(&pair.member.profile, &self.too_short()),
            Outcome::Unseen => doubts.add_missing(evidence, pair, self.part),
            Outcome::Agrees | Outcome::Differs(_) | Outcome::Unsaid => {}
        }
    }

    /// Compares one profile with its member.
    pub(super) fn of(&self, pair: Pair<'a>) -> Outcome<'a, P, M> {
        let mut outcome = Outcome::Unsaid;
        // What was seen without a break up to the present look.
        let mut stretch: Vec<(&Look, M)> = Vec::new();
        for look in &pair.member.looks {
            let versions = in_force(pair.history, look.from, look.until);
            let stands = !versions.is_empty() && versions.iter().all(|profile| (self.vouches)(profile));
            let Some(seen) = (self.seen)(look).filter(|_| stands) else {
                stretch.clear();
                continue;
            };
            stretch.push((look, seen.clone()));
            let said: Option<Vec<P>> = versions.iter().map(|profile| (self.said)(profile)).collect();
            let (Some(mut said), Some(profile)) = (said, versions.last()) else {
                continue;
            };
            let Some(last) = said.pop() else { continue };
            if said.iter().chain([&last]).any(|said| self.was_so(said, &stretch)) {
                outcome.becomes(Outcome::Agrees);
                continue;
            }
            let seconds = look.from.duration_since(stretch[0].0.until).as_secs();
            outcome.becomes(match seconds >= self.grace {
                true => Outcome::Differs(Difference {
                    profile,
                    said: last,
                    seen,
                    seconds,
                }),
                false => Outcome::TooShort,
            });
        }
        let says = |profile: &&'a ClusterProfile| (self.vouches)(profile) && (self.said)(profile).is_some();
        match outcome {
            Outcome::Unsaid if !self.was_seen(pair) && pair.history.current().filter(says).is_some() => {
                Outcome::Unseen
            }
            outcome => outcome,
        }
    }

    /// Whether any look has the part.
    fn was_seen(&self, pair: Pair<'a>) -> bool {
        pair.member.looks.iter().any(|look| (self.seen)(look).is_some())
    }

    /// Whether it was so at any time within the grace before the last look, as far as was seen.
    fn was_so(&self, said: &P, stretch: &[(&Look, M)]) -> bool {
        let Some((last, _)) = stretch.last() else {
            return false;
        };
        let lately = |look: &Look| last.from.duration_since(look.until).as_secs() <= self.grace;
        let mut latest = (0..stretch.len())
            .rev()
            .take_while(|index| lately(stretch[*index].0));
        latest.any(|index| {
            let before = index.checked_sub(1).map(|index| &stretch[index].1);
            (self.agrees)(said, &stretch[index].1, before)
        })
    }

    fn too_short(&self) -> String {
        let minutes = self.grace / 60;
        format!(
            "it differs from its member, which was not watched for longer than the grace of {minutes} min without a \
             break (`--observe {}m`)",
            minutes + 1
        )
    }
}

impl<P, M> Outcome<'_, P, M> {
    /// Takes what a later look has told into account: a difference that was found stays found, and so does that the
    /// profile was right once.
    fn becomes(&mut self, later: Self) {
        let weight = |outcome: &Self| match outcome {
            Outcome::Unsaid | Outcome::Unseen => 0,
            Outcome::TooShort => 1,
            Outcome::Agrees => 2,
            Outcome::Differs(_) => 3,
        };
        if weight(&later) >= weight(self) {
            *self = later;
        }
    }
}

impl Doubts {
    /// Notes that a rule cannot tell of that object.
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

    /// Notes that a rule cannot tell of a member, as that part of it could not be had.
    pub(super) fn add_missing(&mut self, evidence: &Evidence, pair: Pair, part: MemberPart) {
        self.add(&pair.member.profile, &pair.reason(evidence, part));
    }

    /// Says so.
    pub(super) fn tell(self, findings: &mut Findings) {
        for Doubt { first, cause, count } in self.0 {
            match count {
                1 => findings.cannot_tell(format!("{first}: {cause}")),
                _ => findings.cannot_tell(format!("{first} and {} more: {cause}", count - 1)),
            }
        }
    }
}
