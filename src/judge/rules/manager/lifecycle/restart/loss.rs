//! Profiles that a restart lost.

use evidence::{
    ObjectRef, ProfileHistory,
    api::{ClusterProfile, names::CONDITION_JOINED},
};
use jiff::Timestamp;

use super::{Breach, Restart, has_left_by};
use crate::{
    shared::answer::to_the_second,
    subjects::{Finding, has_status},
    text::redacted,
    time::{Edge, Known, Seen, Timeline, deletion_began, timestamp},
    who::Doing,
};

/// The deletion of a profile. Finalizers may keep it for a while.
pub(super) struct Loss<'e> {
    /// The profile before it was deleted.
    pub(super) before: &'e ClusterProfile,
    /// The profile when it was deleted.
    pub(super) profile: &'e ClusterProfile,
    /// When the watch saw that.
    pub(super) seen: Timestamp,
    /// When it was.
    pub(super) at: Edge,
    /// Whether a log or the hub's stamp tells when it was.
    is_told: bool,
    doing: Doing<'e>,
    /// The last time before that the member was called gone, or not gone any more.
    pub(super) turn: Option<Turn<'e>>,
}

/// A step to a version, each with its arrival, and when it was.
pub(super) struct Turn<'e> {
    pub(super) before: &'e ClusterProfile,
    pub(super) after: (&'e ClusterProfile, Timestamp),
    pub(super) at: Edge,
}

impl<'e> Restart<'e, '_> {
    /// How a life ended, if it did while the run looked for the effects of the restart.
    pub(super) fn loss(&self, life: &'e ProfileHistory) -> Option<Loss<'e>> {
        let is_going = |profile: &ClusterProfile| profile.metadata.deletion_timestamp.is_some();
        // When it stops looking, the run itself may remove its members.
        let is_within = |at: Timestamp| self.span.from <= at && at < self.span.looked;
        // Nearly all profiles are kept, so no timeline is made.
        if !life.went().is_some_and(|(_, at)| is_within(at)) {
            return None;
        }
        let timeline = Timeline::of(self.evidence, &[life]);
        let mut last: Option<&ClusterProfile> = None;
        let mut turn = None;
        for run in timeline.runs() {
            let seen = timestamp(run.seen_at);
            let profile = match &run.seen {
                Seen::Nothing => continue,
                Seen::Absence => None,
                Seen::Version(version) => Some(&version.object),
            };
            if let Some(after) = profile.filter(|profile| !is_going(profile)) {
                let is_gone = |profile| has_status(profile, CONDITION_JOINED, "False");
                if let Some(before) = last.filter(|before| is_gone(before) != is_gone(after)) {
                    turn = Some(Turn {
                        before,
                        after: (after, seen),
                        at: run.from,
                    });
                }
                last = Some(after);
                continue;
            }
            let profile = profile.or(last)?;
            let doing = self.who.deletion(profile, seen);
            let told = [doing.at, deletion_began(self.evidence, profile)];
            return Some(Loss {
                before: last.unwrap_or(profile),
                profile,
                seen,
                at: told.into_iter().flatten().fold(run.from, Edge::and),
                is_told: told.iter().any(Option::is_some),
                doing,
                turn,
            });
        }
        None
    }

    /// A profile that disappeared, unless its member had left, or had been called gone before the restart.
    pub(super) fn lost(&self, place: usize) -> Option<Breach<'e>> {
        let life = self.kin.lives[place];
        let loss = self.loss(life)?;
        let profile = loss.profile;
        if has_left_by(self.evidence, profile, loss.seen) {
            return None;
        }
        let mut counts = self.is_effect(loss.at, loss.is_told, loss.seen);
        let (message, observed) = match self.kin.heir(place) {
            Some(heir) => (
                "a profile was recreated when the manager restarted",
                format!(
                    "{} of {}",
                    redacted(&heir.last().metadata.uid),
                    ObjectRef::from(heir.last()).path()
                ),
            ),
            None => {
                if counts != Known::No {
                    counts = counts.and(self.was_to_be_kept(life, &loss));
                }
                (
                    "a profile was deleted when the manager restarted",
                    format!("deleted at {}", to_the_second(loss.seen)),
                )
            }
        };
        let finding = Finding::on(profile, message)
            .at("metadata.uid")
            .expected(format!(
                "{} as before {}",
                redacted(&profile.metadata.uid),
                self.span.did()
            ))
            .observed(observed);
        Some(Breach {
            finding,
            doing: loss.doing,
            seen: loss.seen,
            counts,
        })
    }
}
