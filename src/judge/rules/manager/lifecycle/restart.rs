//! Profiles after a restart of the manager.

mod kin;
mod loss;
mod twin;

use std::collections::BTreeSet;

use evidence::{
    DriverAction, Evidence, Origin, ProfileHistory, Scenario,
    api::{ClusterProfile, names::CONDITION_JOINED},
};
use jiff::Timestamp;

use self::{kin::Kin, loss::Loss};
use crate::{
    shared::{
        answer::{Span, alive, has_left, steps},
        held_against::is_held_against,
    },
    subjects::{Finding, Findings, Name, has_status, name, sets::ClusterSets},
    text::by,
    time::{Edge, Known, Why},
    who::{Doing, Hand, Touched, Who},
};

/// `lifecycle/restart-keeps-profiles`
///
/// A restart of the manager neither deletes, recreates nor duplicates profiles.
///
/// The audit log is asked who did it, if there is one. Without one, the restart is the only known cause. Each deletion and
/// each second profile counts, however soon it is undone: consumers act on what they see. A profile that somebody else deleted
/// and the manager created again is judged again.
pub(in crate::rules) fn restart_keeps_profiles(evidence: &Evidence, findings: &mut Findings) {
    let who = Who::of(evidence);
    for step in steps(evidence, findings, Scenario::Restart, DriverAction::Restart) {
        let span = Span::of(evidence, step);
        let lives = lives(evidence, &span);
        let there = lives
            .iter()
            .filter(|life| alive(life, span.from).is_some())
            .count();
        if there == 0 {
            findings.cannot_tell(format!("there was no profile before {}", span.did()));
            continue;
        }
        let sets = ClusterSets::of(evidence);
        let restart = Restart {
            evidence,
            who: &who,
            kin: Kin::of(&sets, lives, span.newborns()),
            sets,
            span,
        };
        let losses = (0..restart.kin.lives.len()).filter_map(|life| restart.lost(life));
        let found: Vec<Breach> = losses.chain(restart.doubled()).collect();
        match span.doubt(None).filter(|_| found.is_empty()) {
            Some(doubt) => findings.cannot_tell(doubt),
            None => (0..there).for_each(|_| findings.examine()),
        }
        restart.kin.note_uncertain(findings);
        for breach in found {
            breach.report(&who, findings);
        }
    }
}

/// The lives, at some time since a restart, of the profiles that were there before it and whose members had not left.
fn lives<'e>(evidence: &'e Evidence, span: &Span<'e>) -> Vec<&'e ProfileHistory> {
    let touched = Touched::of(evidence);
    let untouched = || touched.others_within(span.from, span.looked);
    let is_there = |life: &&ProfileHistory| {
        let profile = alive(life, span.from);
        profile.is_some_and(|profile| !has_left_by(evidence, profile, span.from))
    };
    let there = untouched().filter(is_there).map(|life| name(life.last()));
    let there: BTreeSet<Name> = there.collect();
    let lives = untouched().filter(|life| {
        let is_born = is_born(life, span);
        (is_born || alive(life, span.from).is_some()) && there.contains(&name(life.last()))
    });
    lives.collect()
}

/// Whether a profile appeared while the run looked for the effects of a restart.
fn is_born(life: &ProfileHistory, span: &Span) -> bool {
    let first = life.versions[0].received();
    life.origin != Origin::Listed && span.from <= first && first < span.looked
}

/// Whether the driver had made a profile's member leave by then, so that it may go. Where a `join` failed since, it may go or
/// stay.
fn has_left_by(evidence: &Evidence, profile: &ClusterProfile, by: Timestamp) -> bool {
    let (namespace, name) = name(profile);
    has_left(evidence, namespace, name, by) != Known::No
}

/// What happened to a profile after a restart.
struct Breach<'e> {
    finding: Finding,
    doing: Doing<'e>,
    /// When the watch showed it.
    seen: Timestamp,
    /// Whether it came after the restart began, and nothing excuses it.
    counts: Known,
}

impl Breach<'_> {
    /// Reports it, unless it was not the restarted manager's doing, or the evidence does not tell whose.
    fn report(self, who: &Who<ClusterProfile>, findings: &mut Findings) {
        let Self { finding, doing, .. } = self;
        match self.counts {
            Known::No => {}
            Known::Unknown(whys) if doing.hand.is_producer() != Known::No => findings.cannot_tell(format!(
                "{}: {}{}, {}",
                finding.object.path(),
                finding.message,
                by(&doing.by),
                if whys.contains(&Why::Hand) {
                    "but somebody else may have written whether its member is joined"
                } else {
                    "or at another time: the watch may have delivered it late"
                }
            )),
            _ => {
                if is_held_against::<ClusterProfile>(&doing, &finding, who.is_logged(self.seen), findings) {
                    findings.report(finding.done_by(&doing.by));
                }
            }
        }
    }
}

/// A restart of the manager, and what is asked of it.
struct Restart<'e, 'w> {
    evidence: &'e Evidence,
    sets: ClusterSets<'e>,
    who: &'w Who<'e, ClusterProfile>,
    span: Span<'e>,
    kin: Kin<'e>,
}

impl<'e> Restart<'e, '_> {
    /// Whether something came after the restart began.
    fn is_after(&self, at: Edge) -> Known {
        at.is_before(self.span.from.as_microsecond()).not()
    }

    /// The same for what the watch showed at that time. Without a gap, and a log or a stamp that tells the time, the restart
    /// is the only known cause of what was seen after it.
    fn is_effect(&self, at: Edge, is_told: bool, seen: Timestamp) -> Known {
        match self.is_after(at) {
            Known::Unknown(_) if !is_told && self.span.missed_before(None, seen).is_none() => Known::Yes,
            known => known,
        }
    }

    /// Whether a profile was to be kept when it was lost: what had been called gone before the restart may go, unless it was
    /// called joined again. What the restarted manager itself called gone excuses nothing.
    fn was_to_be_kept(&self, life: &ProfileHistory, loss: &Loss<'e>) -> Known {
        let is_gone = has_status(loss.before, CONDITION_JOINED, "False");
        let Some(turn) = &loss.turn else {
            let excuses = is_gone && !is_born(life, &self.span);
            return if excuses { Known::No } else { Known::Yes };
        };
        let turning = self.who.step(turn.before, turn.after);
        let is_after = self.is_after(turning.at.map_or(turn.at, |logged| turn.at.and(logged)));
        let is_managers = || match turning.hand {
            Hand::Producer { .. } => Known::Yes,
            // As with what was lost, there is no other known cause.
            Hand::Unknown if turning.by.is_empty() && !self.who.is_logged(turn.after.1) => Known::Yes,
            _ => Known::unknown(Why::Hand),
        };
        match (is_gone, is_after) {
            (true, is_after) => is_after.and(is_managers()),
            (false, Known::No) => Known::Yes,
            (false, _) => is_managers(),
        }
    }
}
