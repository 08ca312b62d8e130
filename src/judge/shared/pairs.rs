//! Two profiles, compared over time: what holds of two is a state that lasts, as what holds of one.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{Asked, Evidence, Kind, Origin, api::ClusterProfile};

use crate::{
    shared::{
        clocks::{Age, GRACE, age, age_at},
        lasted::{Lasted, STILL_OPEN, describe, lasted, looked_on},
        same_cluster::{compares_the_same, note_uncertain},
    },
    subjects::{ByName, Finding, Findings, Name, Profile, name},
    time::{Micros, While},
};

/// Two profiles.
pub(crate) struct Pair<'e, 'p> {
    evidence: &'e Evidence,
    profiles: [&'p Profile<'e>; 2],
}

/// For how long something held of two profiles.
pub(crate) struct Held<'e> {
    held: While,
    pub(crate) lasted: Lasted,
    /// Whether it held from the first list to the end, so that it may be older.
    is_all_along: bool,
    /// How reports say that the runner stopped looking.
    ending: &'static str,
    /// Whether nobody saw one of them at the end.
    ends_unseen: bool,
    /// The profiles, as they were when the window ended.
    profiles: [&'e ClusterProfile; 2],
    /// The last versions of which it held.
    pub(crate) last: Option<(&'e ClusterProfile, &'e ClusterProfile)>,
}

impl<'e, 'p> Pair<'e, 'p> {
    pub(crate) fn new(evidence: &'e Evidence, one: &'p Profile<'e>, other: &'p Profile<'e>) -> Self {
        Self {
            evidence,
            profiles: [one, other],
        }
    }

    /// Whether something may ever have held of both: nearly all pairs never clash, and need no timeline.
    pub(crate) fn ever(&self, holds: impl Fn(&'e ClusterProfile, &'e ClusterProfile) -> bool) -> bool {
        let [ours, theirs] = self.profiles.map(versions);
        ours.iter()
            .any(|one| theirs.iter().any(|other| holds(one, other)))
    }

    /// When something held of both; none if it never did.
    pub(crate) fn while_(
        &self,
        holds: impl Fn(&'e ClusterProfile, &'e ClusterProfile) -> bool,
    ) -> Option<Held<'e>> {
        let [one, other] = self.profiles.map(|profile| profile.timeline(self.evidence));
        // Most versions differ in what no comparison reads.
        let [ours, theirs] = [one, other].map(|timeline| timeline.coalesced(compares_the_same));
        let held = ours.with(&theirs, holds);
        // What held at the last look held, though no time of it was seen.
        let until = match held.told().last() {
            _ if held.is_open() => Micros::MAX,
            Some((_, until)) => *until,
            None => return None,
        };
        let is_listed =
            |profile: &Profile| profile.lives.len() == 1 && profile.lives[0].origin != Origin::Created;
        let is_all_along =
            self.profiles.into_iter().all(is_listed) && held.fills(&one.seen().and(&other.seen()));
        let lasted = lasted(&held, || {
            let age_of = |profile: &Profile| {
                let life = profile.last_life();
                match held.last_told() {
                    Some(at) => age_at(self.evidence, life, at),
                    None => age(self.evidence, life),
                }
            };
            match self.profiles.map(age_of) {
                [one, other] if is_all_along => one.max(other),
                _ => Age::New,
            }
        });
        Some(Held {
            lasted,
            is_all_along: is_all_along && held.is_open(),
            ending: one.end_in_words(),
            ends_unseen: one.ends_unseen() || other.ends_unseen(),
            profiles: self.profiles.map(|profile| profile.last_life().last()),
            last: one.seen_before(until).zip(other.seen_before(until)),
            held,
        })
    }
}

impl Held<'_> {
    /// Whether it was open at the end, and the run looked on for such faults, or could not look.
    fn is_open(&self, evidence: &Evidence) -> bool {
        let is_watched = matches!(evidence.asked(Kind::Timeline), Asked::Yes);
        let is_held_against = self.ends_unseen || looked_on(evidence);
        is_watched && self.held.is_open() && is_held_against
    }

    /// Reports what lasted, notes what did not, and doubts what the evidence does not tell.
    pub(crate) fn judge(&self, evidence: &Evidence, finding: Finding, findings: &mut Findings) {
        match self.lasted {
            Lasted::Long => {
                let stretches = self.held.stretches(GRACE);
                let is_told = evidence.header.window.is_some() && !self.is_all_along && !stretches.is_empty();
                let is_to_the_end = self.held.is_open() && self.held.ends_with(stretches.last());
                let ending = if is_to_the_end {
                    self.ending
                } else {
                    ", and no more"
                };
                let observed = format!("{}; {}", finding.observed, describe(&stretches, false, ending));
                findings.report(if is_told {
                    finding.observed(observed)
                } else {
                    finding
                });
            }
            Lasted::New | Lasted::Untold(_) if self.is_open(evidence) => {
                for profile in self.profiles {
                    findings.wait_for(profile, STILL_OPEN);
                }
            }
            Lasted::Untold(reason) => findings.cannot_tell(reason),
            Lasted::Short | Lasted::New => {
                for (from, until) in self.held.told() {
                    findings.note_short(&finding, until.saturating_sub(*from));
                }
            }
        }
    }
}

/// The profiles that clash with others: of each, the clash that lasted.
pub(crate) struct Clashes<'e> {
    evidence: &'e Evidence,
    /// Nearly no fleet has any.
    by_name: Option<ByName<'e>>,
    found: BTreeMap<Name<'e>, (usize, Held<'e>, Finding)>,
    /// The pairs that were looked at.
    looked_at: BTreeSet<[Name<'e>; 2]>,
    /// The profiles that were not compared with all others.
    uncertain: BTreeSet<Name<'e>>,
}

impl<'e> Clashes<'e> {
    pub(crate) fn new(evidence: &'e Evidence) -> Self {
        Self {
            evidence,
            by_name: None,
            found: BTreeMap::new(),
            looked_at: BTreeSet::new(),
            uncertain: BTreeSet::new(),
        }
    }

    /// The evidence that they are of.
    pub(crate) fn evidence(&self) -> &'e Evidence {
        self.evidence
    }

    /// Looks at how long a profile clashed with one that came earlier, by any versions of both. `finding` is about the last
    /// versions that did; none if neither is judged. Returns whether the clash lasted.
    pub(crate) fn put(
        &mut self,
        place: usize,
        versions: [&'e ClusterProfile; 2],
        clash: impl Fn(&'e ClusterProfile, &'e ClusterProfile) -> bool,
        finding: impl Fn(&'e ClusterProfile, &'e ClusterProfile) -> Option<Finding>,
    ) -> bool {
        let names = versions.map(name);
        let [_, later] = names;
        if self.lasted(later) == Some(Lasted::Long) {
            return true;
        }
        // All versions of both are looked at together.
        if !self.looked_at.insert(names) {
            return false;
        }
        let by_name = self.by_name.get_or_insert_with(|| ByName::of(self.evidence));
        let [one, other] = versions.map(|version| by_name.profile(version));
        let pair = one
            .zip(other)
            .map(|(one, other)| Pair::new(self.evidence, one, other));
        let Some(held) = pair.and_then(|pair| pair.while_(clash)) else {
            return false;
        };
        let lasted = held.lasted;
        let finding = held.last.and_then(|(one, other)| finding(one, other));
        if let Some(finding) = finding
            && self.lasted(later) < Some(lasted)
        {
            self.found.insert(later, (place, held, finding));
        }
        lasted == Lasted::Long
    }

    fn lasted(&self, name: Name<'e>) -> Option<Lasted> {
        self.found.get(&name).map(|(_, held, _)| held.lasted)
    }

    /// Says that the profile of a version was not compared with all others.
    pub(crate) fn is_cut(&mut self, version: &'e ClusterProfile) {
        self.uncertain.insert(name(version));
    }

    /// Judges the clashes, in the order of their places.
    pub(crate) fn judge(mut self, findings: &mut Findings) {
        let found = &self.found;
        let is_found = |name: &Name| {
            found
                .get(name)
                .is_some_and(|(_, held, _)| held.lasted == Lasted::Long)
        };
        self.uncertain.retain(|name| !is_found(name));
        note_uncertain(self.uncertain.len(), findings);
        let mut found: Vec<_> = self.found.into_values().collect();
        found.sort_by_key(|(place, ..)| *place);
        for (_, held, finding) in found {
            held.judge(self.evidence, finding, findings);
        }
    }
}

/// Whether two versions are of two profiles.
pub(crate) fn is_other(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    name(one) != name(other)
}

/// Two profiles, one that is judged first; none if neither is.
pub(crate) fn judged_first<'e>(
    evidence: &Evidence,
    one: &'e ClusterProfile,
    other: &'e ClusterProfile,
) -> Option<[&'e ClusterProfile; 2]> {
    let [object, other] = if evidence.judges(one) {
        [one, other]
    } else {
        [other, one]
    };
    evidence.judges(object).then_some([object, other])
}

/// The versions of a profile that differ to rules that compare.
fn versions<'e>(profile: &Profile<'e>) -> Vec<&'e ClusterProfile> {
    let versions = profile.lives.iter().flat_map(|life| &life.versions);
    let mut versions: Vec<&ClusterProfile> = versions.map(|version| &version.object).collect();
    versions.dedup_by(|later, earlier| compares_the_same(earlier, later));
    versions
}
