//! What rules are asked of: profiles, each with all of its lives.

use std::{borrow::Cow, cell::OnceCell};

use evidence::{Asked, Evidence, Kind, ProfileHistory, api::ClusterProfile};

use super::Findings;
use crate::{hash::HashMap, time::Timeline};

/// A profile: one namespace and name, which may be deleted and made again.
pub(crate) struct Profile<'e> {
    /// Its histories, at least one.
    pub(crate) lives: Vec<&'e ProfileHistory>,
    timeline: OnceCell<Timeline<'e, ClusterProfile>>,
}

impl<'e> Profile<'e> {
    fn of(lives: Vec<&'e ProfileHistory>) -> Self {
        Self {
            lives,
            timeline: OnceCell::new(),
        }
    }

    /// What it was over time, found when it is first asked for.
    pub(crate) fn timeline(&self, evidence: &'e Evidence) -> &Timeline<'e, ClusterProfile> {
        self.timeline.get_or_init(|| Timeline::of(evidence, &self.lives))
    }

    /// The life that was seen last.
    pub(crate) fn last_life(&self) -> &'e ProfileHistory {
        self.lives.last().expect("a profile has a life")
    }
}

/// The judged profiles that a rule is asked of, each by itself, with all that was seen beside profiles.
pub(crate) struct Profiles<'e> {
    evidence: &'e Evidence,
    histories: Cow<'e, [&'e ProfileHistory]>,
}

impl<'e> Profiles<'e> {
    /// All of them.
    pub(crate) fn all(evidence: &'e Evidence) -> Self {
        Self {
            evidence,
            histories: evidence.histories().collect(),
        }
    }

    /// Some of them. All lives of a profile are together.
    pub(crate) fn some(evidence: &'e Evidence, histories: &'e [&'e ProfileHistory]) -> Self {
        Self {
            evidence,
            histories: Cow::Borrowed(histories),
        }
    }

    /// All that was seen.
    pub(crate) fn evidence(&self) -> &'e Evidence {
        self.evidence
    }

    /// Their histories, deleted ones included.
    pub(crate) fn histories(&self) -> impl Iterator<Item = &'e ProfileHistory> {
        self.histories.iter().copied()
    }

    /// The last versions of those that still exist.
    pub(crate) fn inventory(&self) -> impl Iterator<Item = &'e ClusterProfile> {
        self.histories().filter_map(ProfileHistory::current)
    }
}

/// A namespace and a name.
pub(crate) type Name<'e> = (&'e str, &'e str);

/// The namespace and the name of a profile.
pub(crate) fn name(profile: &ClusterProfile) -> Name<'_> {
    (&profile.metadata.namespace, &profile.metadata.name)
}

/// The profiles of these histories, in the order of their first lives.
pub(crate) fn by_name<'e>(
    evidence: &Evidence,
    histories: impl Iterator<Item = &'e ProfileHistory>,
) -> Vec<Profile<'e>> {
    // Without a watch, each name is there once.
    if !matches!(evidence.asked(Kind::Timeline), Asked::Yes) {
        return histories.map(|life| Profile::of(vec![life])).collect();
    }
    let mut profiles: Vec<Profile<'e>> = Vec::new();
    let mut places: HashMap<Name, usize> = HashMap::default();
    for life in histories {
        let place = *places.entry(name(life.last())).or_insert(profiles.len());
        match profiles.get_mut(place) {
            Some(profile) => profile.lives.push(life),
            None => profiles.push(Profile::of(vec![life])),
        }
    }
    profiles
}

/// Records that no profile a rule looks at has a condition of that type. If others have it, this does not show that the
/// implementation never reports it.
pub(crate) fn without_condition(evidence: &Evidence, findings: &mut Findings, kind: &str, words: String) {
    let mut versions = evidence.profiles.iter().flat_map(|history| &history.versions);
    if versions.any(|version| version.object.condition(kind).is_some()) {
        findings.nothing_happened(words);
    } else {
        findings.not_applicable(words);
    }
}

/// Whether a condition exists with that status.
pub(crate) fn has_status(profile: &ClusterProfile, kind: &str, status: &str) -> bool {
    profile
        .condition(kind)
        .is_some_and(|condition| &*condition.status == status)
}
