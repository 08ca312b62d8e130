//! Profiles after a restart of the manager.

use evidence::{
    DriverAction, Evidence, ObjectRef, ProfileHistory, Scenario,
    api::{ClusterProfile, names::CONDITION_JOINED},
};
use jiff::Timestamp;

use crate::{
    shared::{
        answer::{Span, alive, has_left, steps, to_the_second},
        held_against::is_held_against,
        same_cluster::{Relation, by_everything},
    },
    subjects::{Finding, Findings, has_status, sets::ClusterSets},
    text::{by, redacted},
    time::{Edge, Known, Seen, Timeline, timestamp},
    who::{Doing, Who, untouched_within},
};

/// `lifecycle/restart-keeps-profiles`
///
/// A restart of the manager neither deletes, recreates nor duplicates profiles.
///
/// The audit log is asked who did it, if there is one. Without one, the restart is the only known cause. Each deletion and
/// each second profile counts, however soon it is undone: consumers act on what they see.
pub(in crate::rules) fn restart_keeps_profiles(evidence: &Evidence, findings: &mut Findings) {
    let who = Who::of(evidence);
    for step in steps(evidence, findings, Scenario::Restart, DriverAction::Restart) {
        let span = Span::of(evidence, step);
        let restart = Restart {
            evidence,
            sets: ClusterSets::of(evidence),
            who: &who,
            newborns: span.newborns().collect(),
            span,
        };
        let untouched = untouched_within(evidence, restart.span.from, restart.span.looked);
        let there = untouched.filter_map(|history| {
            let profile = alive(history, restart.span.from)?;
            (!restart.has_left(profile, restart.span.from)).then_some((history, profile))
        });
        let there: Vec<(&ProfileHistory, &ClusterProfile)> = there.collect();
        if there.is_empty() {
            findings.cannot_tell(format!("there was no profile before {}", restart.span.did()));
            continue;
        }
        let found: Vec<Breach> = there
            .iter()
            .flat_map(
                |(history, profile)| match Loss::of(evidence, history, &restart.span) {
                    Some(loss) => restart.lost(profile, loss).into_iter().collect(),
                    None => restart.doubled(history, profile),
                },
            )
            .collect();
        match restart.span.doubt(None).filter(|_| found.is_empty()) {
            Some(doubt) => findings.cannot_tell(doubt),
            None => there.iter().for_each(|_| findings.examine()),
        }
        for breach in found {
            breach.report(&who, findings);
        }
    }
}

/// What happened to a profile after a restart.
struct Breach<'e> {
    finding: Finding,
    doing: Doing<'e>,
    /// When the watch showed it.
    seen: Timestamp,
    /// Whether it came after the restart began.
    is_after_restart: Known,
}

impl Breach<'_> {
    /// Reports it, unless it was not the restarted manager's doing, or the evidence does not tell whose.
    fn report(self, who: &Who<ClusterProfile>, findings: &mut Findings) {
        let Self { finding, doing, .. } = self;
        match self.is_after_restart {
            Known::No => {}
            Known::Unknown(_) if doing.hand.is_producer() != Known::No => findings.cannot_tell(format!(
                "{}: {}{}, or at another time: the watch may have told it late",
                finding.object.path(),
                finding.message,
                by(&doing.by)
            )),
            _ => {
                if is_held_against::<ClusterProfile>(&doing, &finding, who.is_logged(self.seen), findings) {
                    findings.report(finding);
                }
            }
        }
    }
}

/// The deletion of a profile. Finalizers may keep it for a while.
struct Loss<'e> {
    /// The profile when it was deleted.
    profile: &'e ClusterProfile,
    /// When the watch saw that.
    seen: Timestamp,
    /// When it was.
    at: Edge,
    /// The first version since the restart that called the member gone, with the one before it and when it was written.
    called_gone: Option<CalledGone<'e>>,
}

/// A step to a version, each with its arrival, and when it was.
struct CalledGone<'e> {
    before: (&'e ClusterProfile, Timestamp),
    after: (&'e ClusterProfile, Timestamp),
    at: Edge,
}

impl<'e> Loss<'e> {
    /// The first loss while the run looked for the effects of a restart.
    fn of(evidence: &'e Evidence, history: &'e ProfileHistory, span: &Span) -> Option<Self> {
        let is_going = |profile: &ClusterProfile| profile.metadata.deletion_timestamp.is_some();
        // When it stops looking, the run itself may remove its members.
        let is_within = |at: Timestamp| span.from <= at && at < span.looked;
        // Nearly all profiles are kept, so no timeline is made.
        let mut versions = history.versions.iter();
        let is_lost = history.deleted.is_some_and(is_within)
            || versions.any(|version| is_within(version.at) && is_going(&version.object));
        if !is_lost {
            return None;
        }
        let timeline = Timeline::of(evidence, &[history]);
        let mut last: Option<(&ClusterProfile, Timestamp)> = None;
        let mut called_gone = None;
        for run in timeline.runs() {
            let seen = timestamp(run.seen_at);
            let profile = match &run.seen {
                Seen::Nothing => continue,
                Seen::Absence => None,
                Seen::Version(version) => Some(&version.object),
            };
            if profile.is_none_or(is_going) && is_within(seen) {
                return Some(Self {
                    profile: profile.or(last.map(|(profile, _)| profile))?,
                    seen,
                    at: run.from,
                    called_gone,
                });
            }
            if let (Some(after), Some(before)) = (profile, last)
                && is_within(seen)
                && has_status(after, CONDITION_JOINED, "False")
            {
                called_gone.get_or_insert(CalledGone {
                    before,
                    after: (after, seen),
                    at: run.from,
                });
            }
            last = profile.map(|profile| (profile, seen));
        }
        None
    }
}

/// A restart of the manager, and what is asked of it.
struct Restart<'e, 'w> {
    evidence: &'e Evidence,
    sets: ClusterSets<'e>,
    who: &'w Who<'e, ClusterProfile>,
    span: Span<'e>,
    newborns: Vec<&'e ProfileHistory>,
}

impl<'e> Restart<'e, '_> {
    /// Whether the driver had made a profile's member leave by then, so that it may go.
    fn has_left(&self, profile: &ClusterProfile, by: Timestamp) -> bool {
        has_left(
            self.evidence,
            &profile.metadata.namespace,
            &profile.metadata.name,
            by,
        )
    }

    /// Whether something came after the restart began. The log may tell better than the watch.
    fn is_after(&self, at: Edge, doing: &Doing) -> Known {
        let at = doing.at.map_or(at, |logged| at.and(logged));
        at.is_before(self.span.from.as_microsecond()).not()
    }

    /// The same for what the watch showed at that time. Without a gap and a log that tell otherwise, the restart is the only
    /// known cause of what was seen after it.
    fn is_effect(&self, at: Edge, seen: Timestamp, doing: &Doing) -> Known {
        match self.is_after(at, doing) {
            Known::Unknown(_) if self.span.missed_before(None, seen).is_none() => Known::Yes,
            known => known,
        }
    }

    /// A profile that disappeared, unless its member had left, or had been called gone before the restart.
    fn lost(&self, before: &ClusterProfile, loss: Loss<'e>) -> Option<Breach<'e>> {
        let profile = loss.profile;
        if self.has_left(profile, loss.seen) {
            return None;
        }
        let mut heirs = self.newborns.iter().map(|newborn| newborn.last());
        let heir = heirs.find(|heir| {
            heir.metadata.name == profile.metadata.name
                && heir.metadata.namespace == profile.metadata.namespace
                || is_of_one(&self.sets, profile, heir)
        });
        if heir.is_none() && has_status(before, CONDITION_JOINED, "False") {
            return None;
        }
        let (message, observed) = match heir {
            Some(heir) => (
                "a profile was recreated when the manager restarted",
                format!(
                    "{} of {}",
                    redacted(&heir.metadata.uid),
                    ObjectRef::from(heir).path()
                ),
            ),
            None => (
                "a profile was deleted when the manager restarted",
                format!("deleted at {}", to_the_second(loss.seen)),
            ),
        };
        let finding = Finding::on(profile, message)
            .at("metadata.uid")
            .expected(format!(
                "{} as before {}",
                redacted(&profile.metadata.uid),
                self.span.did()
            ))
            .observed(observed);
        let doing = self.who.deletion(profile, loss.seen);
        let mut is_after_restart = self.is_effect(loss.at, loss.seen, &doing);
        // What the restarted manager itself called gone excuses nothing.
        if let (None, Some(called)) = (heir, loss.called_gone) {
            let calling = self.who.step(called.before, called.after);
            is_after_restart = is_after_restart.and(self.is_after(called.at, &calling));
        }
        Some(Breach {
            finding,
            doing,
            seen: loss.seen,
            is_after_restart,
        })
    }

    /// Second profiles beside one that was there.
    fn doubled(&self, history: &'e ProfileHistory, profile: &'e ClusterProfile) -> Vec<Breach<'e>> {
        let twins = self.newborns.iter().filter_map(|newborn| {
            let mut versions = newborn.versions.iter().map(|version| &version.object);
            let twin = versions.find(|twin| is_of_one(&self.sets, profile, twin))?;
            let seen = newborn.versions[0].at;
            if self.has_left(profile, seen) {
                return None;
            }
            let doing = self.who.creation(newborn);
            let finding = Finding::on(
                twin,
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
                redacted(&twin.metadata.name),
                ObjectRef::from(profile).path()
            ));
            Some(Breach {
                finding,
                is_after_restart: self.were_both(history, newborn, &doing),
                doing,
                seen,
            })
        });
        twins.collect()
    }

    /// Whether a second profile came after the restart, and was there at the same time as the first while the run looked.
    fn were_both(&self, history: &'e ProfileHistory, newborn: &'e ProfileHistory, creation: &Doing) -> Known {
        let [one, other] = [history, newborn].map(|life| Timeline::of(self.evidence, &[life]));
        let both = one.with(&other, |one, other| {
            [one, other]
                .iter()
                .all(|profile| profile.metadata.deletion_timestamp.is_none())
                && is_of_one(&self.sets, one, other)
        });
        let mut runs = other.runs().iter();
        let born = runs.find(|run| matches!(run.seen, Seen::Version(_)));
        let is_new = born.map_or(Known::No, |born| {
            self.is_effect(born.from, timestamp(born.seen_at), creation)
        });
        let from = self.span.from.as_microsecond();
        is_new.and(both.within(Edge::at(from), self.span.looked.as_microsecond() - from))
    }
}

/// Whether two profiles are of one manager and one cluster.
fn is_of_one<'a>(sets: &ClusterSets<'a>, one: &'a ClusterProfile, other: &'a ClusterProfile) -> bool {
    one.metadata.namespace == other.metadata.namespace
        && one.manager() == other.manager()
        && by_everything(sets, one, other) == Relation::Same
}
