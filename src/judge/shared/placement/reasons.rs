//! Why a scheduler may drop a cluster for a time: its profile says so.

use std::collections::HashMap;

use evidence::{
    Asked, Evidence, Kind, ProfileHistory, Version,
    api::{ClusterProfile, ClusterProfileReference, names},
};

use crate::{
    shared::clocks::GRACE,
    time::{Micros, missed, timestamp},
};

/// Whether a cluster's profile shows why the cluster was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The profile was absent or unhealthy, or it changed.
    Seen,
    /// The profile was there all the time, healthy and the same.
    None,
    /// The profile was not seen for all that time.
    Unknown,
}

/// The profiles by namespace and name.
pub(crate) struct Profiles<'e> {
    evidence: &'e Evidence,
    histories: HashMap<(&'e str, &'e str), Vec<&'e ProfileHistory>>,
}

impl<'e> Profiles<'e> {
    /// Those of all managers: a scheduler may select any.
    pub(crate) fn of(evidence: &'e Evidence) -> Self {
        let mut histories: HashMap<_, Vec<&ProfileHistory>> = HashMap::new();
        for history in &evidence.profiles {
            let metadata = &history.last().metadata;
            let name = (&*metadata.namespace, &*metadata.name);
            histories.entry(name).or_default().push(history);
        }
        Self { evidence, histories }
    }

    /// Whether there was a reason to drop a cluster for the time from `left` to `back`. A scheduler needs time to react,
    /// so the default grace before counts too.
    pub(crate) fn reason(&self, cluster: &ClusterProfileReference, left: Micros, back: Micros) -> Reason {
        let evidence = self.evidence;
        let Some(histories) = self.histories.get(&(&*cluster.namespace, &*cluster.name)) else {
            let is_absent = evidence.is_whole(Kind::Inventory) && evidence.unreadable.is_empty();
            return if is_absent { Reason::Seen } else { Reason::Unknown };
        };
        let from = left.saturating_sub(GRACE);
        let is_within = |at: Micros| (from..=back).contains(&at);
        let mut is_alive = false;
        for history in histories {
            let begun = history.versions[0].received().as_microsecond();
            let ended = history.deleted.map_or(Micros::MAX, |at| at.as_microsecond());
            if begun > back || ended < from {
                continue;
            }
            let is_listed = history.origin == evidence::Origin::Listed;
            if (!is_listed && is_within(begun)) || is_within(ended) {
                return Reason::Seen;
            }
            is_alive = true;
            let lived = |version: &&Version, until: Micros| {
                version.received().as_microsecond() <= back && until >= from && is_unhealthy(&version.object)
            };
            let mut versions = history.versions.iter().enumerate();
            let is_ill = versions.any(|(number, version)| {
                let next = history.versions.get(number + 1);
                lived(
                    &version,
                    next.map_or(ended, |next| next.received().as_microsecond()),
                )
            });
            // One change may drop the cluster, but it takes another one to select it again.
            let changes = history.steps().filter(|(before, after)| {
                is_within(after.received().as_microsecond()) && differ(&before.object, &after.object)
            });
            let has_changed = changes.take(2).count() > 1;
            if is_ill || has_changed {
                return Reason::Seen;
            }
        }
        let is_known = *evidence.asked(Kind::Timeline) == Asked::Yes
            && missed::<ClusterProfile>(
                evidence,
                Some((&cluster.namespace, &cluster.name)),
                timestamp(from),
                timestamp(back),
            )
            .is_none();
        match (is_known, is_alive) {
            (false, _) => Reason::Unknown,
            (true, true) => Reason::None,
            (true, false) => Reason::Seen,
        }
    }
}

/// Whether a condition of the profile speaks against its cluster. An absent one does not.
fn is_unhealthy(profile: &ClusterProfile) -> bool {
    [names::CONDITION_JOINED, names::CONDITION_HEALTHY]
        .iter()
        .filter_map(|kind| profile.condition(kind))
        .any(|condition| &*condition.status != "True")
}

/// Whether a change of a profile may change what a scheduler selects.
fn differ(before: &ClusterProfile, after: &ClusterProfile) -> bool {
    let conditions = |profile: &ClusterProfile| -> Vec<(String, String)> {
        let conditions = profile.status.conditions.iter();
        conditions
            .map(|condition| (condition.kind.to_string(), condition.status.to_string()))
            .collect()
    };
    let properties = |profile: &ClusterProfile| -> Vec<(String, String)> {
        let properties = profile.status.properties.iter();
        properties
            .map(|property| (property.name.to_string(), property.value.to_string()))
            .collect()
    };
    before.metadata.labels != after.metadata.labels
        || before.metadata.deletion_timestamp != after.metadata.deletion_timestamp
        || before.spec != after.spec
        || before.status.version != after.status.version
        || conditions(before) != conditions(after)
        || properties(before) != properties(after)
}
