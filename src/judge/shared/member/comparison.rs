//! How profiles are compared with their members.

use std::cell::LazyCell;

use evidence::{Evidence, Look, MemberPart, api::ClusterProfile};
use jiff::Timestamp;

use super::{
    doubts::Doubts,
    looks::{Looks, Moment, Sight},
    outcome::{Difference, Outcome},
    pair::{Pair, pairs, versions_in},
};
use crate::{
    subjects::{Finding, Findings},
    time::{Micros, SECOND, Timeline},
};

/// How profiles are compared with their members.
pub(crate) struct Comparison<'f, 'a, P, M> {
    /// The part of the member's answers.
    pub(crate) part: MemberPart,
    /// How long the two may differ, in seconds.
    pub(crate) grace: i64,
    /// Whether the manager vouches for a profile's content.
    pub(crate) vouches: fn(&ClusterProfile) -> bool,
    /// The value that a profile reports, if any.
    pub(crate) said: &'f dyn Fn(&'a ClusterProfile) -> Option<P>,
    /// The value in a look; none if it was unavailable.
    pub(crate) seen: &'f dyn Fn(&'a Look) -> Option<M>,
    /// Whether the reported value agrees with the seen one, given the one seen before: the value may have been in
    /// between.
    pub(crate) agrees: &'f dyn Fn(&P, &M, Option<&M>) -> bool,
    /// Whether the reported value agrees with a member that does not answer.
    pub(crate) suits_silence: fn(&P) -> bool,
}

impl<'a, P: Clone, M: Clone> Comparison<'_, 'a, P, M> {
    /// Compares all judged profiles with their members. `finding` describes one that differs.
    pub(crate) fn each(
        &self,
        evidence: &'a Evidence,
        findings: &mut Findings,
        finding: impl Fn(&Difference<'a, P, M>) -> Finding,
    ) {
        let mut doubts = Doubts::default();
        for pair in pairs(evidence, findings, &mut doubts) {
            match self.of(&pair) {
                Outcome::Agrees => findings.examine(),
                Outcome::Differs(difference) => {
                    findings.examine();
                    findings.report(finding(&difference));
                }
                outcome => self.doubt(evidence, &pair, &outcome, &mut doubts),
            }
        }
        doubts.tell(findings);
    }

    /// Records why a comparison has no result, if that matters.
    pub(crate) fn doubt(
        &self,
        evidence: &Evidence,
        pair: &Pair,
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
            Outcome::Hidden(why) => self.doubt(evidence, pair, why, doubts),
            Outcome::Agrees | Outcome::Differs(_) | Outcome::Unsaid => {}
        }
    }

    /// Compares one profile with its member.
    pub(crate) fn of(&self, pair: &Pair<'a>) -> Outcome<'a, P, M> {
        let mut looks = Looks::of(self, pair);
        let is_ever_said = LazyCell::new(|| self.is_ever_said(pair));
        for look in &pair.member.looks {
            let since = looks.last().map_or(look.from, |last| last.until);
            let sight = self.sight(pair.timeline(), look, since);
            looks.add(
                look,
                match sight {
                    Sight::Missed if !*is_ever_said => Sight::Unsaid,
                    sight => sight,
                },
            );
        }
        match looks.outcome() {
            Outcome::Unsaid
                if !self.was_seen(pair) && pair.current().is_some_and(|last| self.is_open(last)) =>
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

    /// Whether a profile says what only an answer of the member shows to be right.
    fn is_open(&self, profile: &'a ClusterProfile) -> bool {
        (self.vouches)(profile) && (self.said)(profile).is_some_and(|said| !(self.suits_silence)(&said))
    }

    fn is_ever_said(&self, pair: &Pair<'a>) -> bool {
        let lives = pair.profile.lives.iter();
        let mut versions = lives.flat_map(|life| &life.versions);
        versions.any(|version| self.is_said(&version.object)) && self.was_seen(pair)
    }

    /// What a look shows, and what the profile reported since the look before.
    fn sight(
        &self,
        timeline: &Timeline<'a, ClusterProfile>,
        look: &'a Look,
        since: Timestamp,
    ) -> Sight<'a, P, M> {
        let Some(versions) = versions_in(timeline, since.min(look.from), look.until) else {
            return Sight::Missed;
        };
        let Some(seen) = (self.seen)(look) else {
            return if versions.iter().any(|profile| self.is_open(profile)) {
                Sight::Unseen
            } else {
                Sight::Unsaid
            };
        };
        let stands = !versions.is_empty() && versions.iter().all(|profile| (self.vouches)(profile));
        let said: Option<Vec<P>> = versions.iter().map(|profile| (self.said)(profile)).collect();
        match said.filter(|_| stands) {
            Some(said) => Sight::Both(Moment {
                look,
                latest: look.until.as_microsecond(),
                seen,
                said,
            }),
            None => Sight::Unsaid,
        }
    }

    /// Whether any look has the part.
    fn was_seen(&self, pair: &Pair<'a>) -> bool {
        pair.member.looks.iter().any(|look| (self.seen)(look).is_some())
    }

    pub(super) fn grace(&self) -> Micros {
        self.grace * SECOND
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
