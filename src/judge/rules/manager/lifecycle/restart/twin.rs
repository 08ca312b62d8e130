//! Second profiles that a restart brought.

use evidence::{ObjectRef, ProfileHistory, api::ClusterProfile};

use super::{Breach, Loss, Restart, has_left_by, kin::is_of_one};
use crate::{
    subjects::Finding,
    text::redacted,
    time::{Edge, Known, Seen, Timeline, timestamp},
    who::Doing,
};

impl<'e> Restart<'e, '_> {
    /// Second profiles beside one of the same member: each once.
    pub(super) fn doubled(&self) -> impl Iterator<Item = Breach<'e>> {
        self.kin.twins().filter_map(|(newborn, lives)| {
            let lives = lives.iter().map(|life| self.kin.lives[*life]);
            let breaches = lives.filter_map(|life| self.twin(life, newborn));
            breaches.max_by_key(|breach| match breach.counts {
                Known::Yes => 2,
                Known::Unknown(_) => 1,
                Known::No => 0,
            })
        })
    }

    /// A second profile beside a life of a profile, unless the member had left.
    fn twin(&self, life: &'e ProfileHistory, newborn: &'e ProfileHistory) -> Option<Breach<'e>> {
        let profile = life.last();
        let seen = newborn.versions[0].received();
        if has_left_by(self.evidence, profile, seen) {
            return None;
        }
        let doing = self.who.creation(newborn);
        let finding = Finding::on(
            newborn.last(),
            "a second profile of a member appeared when the manager restarted",
        )
        .at("metadata.name")
        .expected(format!(
            "{} alone, as before {}",
            redacted(&profile.metadata.name),
            self.span.did()
        ))
        .observed(format!(
            "{}, beside {}",
            redacted(&newborn.last().metadata.name),
            ObjectRef::from(profile).path()
        ));
        Some(Breach {
            finding,
            counts: self.were_both(life, newborn, &doing),
            doing,
            seen,
        })
    }

    /// Whether a second profile came after the restart, and was there at the same time as the first while the run looked.
    fn were_both(&self, life: &'e ProfileHistory, newborn: &'e ProfileHistory, creation: &Doing) -> Known {
        let loss = self.loss(life);
        let went = loss.as_ref().map(|loss| loss.at);
        let one = self.as_told(life, loss);
        let other = self.as_told(newborn, self.loss(newborn));
        let other = match creation.at {
            Some(at) => other.narrowed(newborn.versions[0].received().as_microsecond(), at),
            None => other,
        };
        let mut runs = other.runs().iter();
        let Some(born) = runs.find(|run| matches!(run.seen, Seen::Version(_))) else {
            return Known::No;
        };
        if went.is_some_and(|went| went.latest <= born.from.earliest) {
            return Known::No;
        }
        let is_new = self.is_effect(born.from, creation.at.is_some(), timestamp(born.seen_at));
        let both = one.with(&other, |one, other| {
            let are_live = [one, other]
                .iter()
                .all(|profile| profile.metadata.deletion_timestamp.is_none());
            are_live && is_of_one(&self.sets, one, other)
        });
        let from = self.span.from.as_microsecond();
        is_new.and(both.within(Edge::at(from), self.span.looked.as_microsecond() - from))
    }

    /// What a life was over time, with what is known of when it was lost.
    fn as_told(&self, life: &'e ProfileHistory, loss: Option<Loss>) -> Timeline<'e, ClusterProfile> {
        let timeline = Timeline::of(self.evidence, &[life]);
        match loss {
            Some(loss) => timeline.narrowed(loss.seen.as_microsecond(), loss.at),
            None => timeline,
        }
    }
}
