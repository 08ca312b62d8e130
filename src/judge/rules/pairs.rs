//! Two profiles, compared over time: what holds of two is a state that lasts, as what holds of one.

use evidence::{Evidence, Origin, api::ClusterProfile};

use super::{
    clocks::{Age, GRACE, age},
    finding::{Finding, Findings},
    lasted::{Lasted, describe, lasted},
};
use crate::{subjects::Profile, time::While};

/// Two profiles.
pub(super) struct Pair<'e, 'p> {
    evidence: &'e Evidence,
    profiles: [&'p Profile<'e>; 2],
}

/// For how long something held of two profiles.
pub(super) struct Held<'e> {
    held: While,
    pub(super) lasted: Lasted,
    /// Whether it held from the first list to the end, so that it may be older.
    is_all_along: bool,
    /// The last versions of which it held.
    pub(super) last: Option<(&'e ClusterProfile, &'e ClusterProfile)>,
}

impl<'e, 'p> Pair<'e, 'p> {
    pub(super) fn new(evidence: &'e Evidence, one: &'p Profile<'e>, other: &'p Profile<'e>) -> Self {
        Self {
            evidence,
            profiles: [one, other],
        }
    }

    /// When something held of both; none if it never did.
    pub(super) fn while_(
        &self,
        holds: impl Fn(&'e ClusterProfile, &'e ClusterProfile) -> bool,
    ) -> Option<Held<'e>> {
        let [ours, theirs] = self.profiles.map(versions);
        let pairs = || {
            ours.iter()
                .flat_map(|one| theirs.iter().map(move |other| (*one, *other)))
        };
        // Nearly all pairs never clash, and need no timeline.
        if !pairs().any(|(one, other)| holds(one, other)) {
            return None;
        }
        let [one, other] = self.profiles.map(|profile| profile.timeline(self.evidence));
        let held = one.with(&other, &holds);
        if held.told().is_empty() {
            return None;
        }
        let is_listed =
            |profile: &Profile| profile.lives.len() == 1 && profile.lives[0].origin != Origin::Created;
        let is_all_along =
            self.profiles.into_iter().all(is_listed) && pairs().all(|(one, other)| holds(one, other));
        let lasted = lasted(&held, || {
            match self
                .profiles
                .map(|profile| age(self.evidence, profile.last_life()))
            {
                [one, other] if is_all_along => one.max(other),
                _ => Age::New,
            }
        });
        let until = held.told().last().map_or(0, |(_, until)| *until);
        Some(Held {
            lasted,
            is_all_along: is_all_along && held.is_open(),
            last: one.seen_before(until).zip(other.seen_before(until)),
            held,
        })
    }

    /// Reports what lasted, notes what did not, and doubts what the evidence does not tell.
    pub(super) fn judge(&self, held: &Held, finding: Finding, findings: &mut Findings) {
        match held.lasted {
            Lasted::Long => {
                let stretches = held.held.stretches(GRACE);
                let is_watched = self.evidence.header.window.is_some();
                findings.report(if held.is_all_along || !is_watched || stretches.is_empty() {
                    finding
                } else {
                    let ending = if held.held.is_open() {
                        ", when the window ended"
                    } else {
                        ", then mended"
                    };
                    let observed = format!(
                        "{}; wrong for {}",
                        finding.observed,
                        describe(&stretches, false, ending)
                    );
                    finding.observed(observed)
                });
            }
            Lasted::Untold(reason) => findings.cannot_tell(reason),
            Lasted::Short | Lasted::New => {
                for (from, until) in held.held.told() {
                    findings.note_short(&finding, until.saturating_sub(*from));
                }
            }
        }
    }
}

/// The versions of a profile that were seen.
fn versions<'e>(profile: &Profile<'e>) -> Vec<&'e ClusterProfile> {
    let versions = profile.lives.iter().flat_map(|life| &life.versions);
    versions.map(|version| &version.object).collect()
}
