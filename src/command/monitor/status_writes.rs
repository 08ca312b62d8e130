//! Counts the status writes that are seen.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{Evidence, api::ClusterProfile};
use jiff::Timestamp;

use super::figures::{Labels, Owner, add};

/// The status writes that were seen since the process began.
#[derive(Clone, Debug, Default)]
pub struct StatusWrites {
    /// How many each owner's profiles got.
    pub by_owner: BTreeMap<Owner, u64>,
    /// Those of owners that found no room.
    pub dropped: u64,
    /// Until when they are counted.
    until: Option<Timestamp>,
}

impl StatusWrites {
    /// Counts those that came since the last time. If the window has followed, owners are forgotten that have no profile
    /// in it, so that series do not become more and more.
    pub fn count(&mut self, evidence: &Evidence, whole: bool) {
        let mut labels = Labels::default();
        if whole && !self.by_owner.is_empty() {
            let histories = evidence.histories();
            let present: BTreeSet<Owner> = histories.map(|history| labels.owner_of(history.last())).collect();
            self.by_owner.retain(|owner, _| present.contains(owner));
        }
        let after = self.until;
        let is_new = |at: Timestamp| after.is_none_or(|after| at > after);
        for history in evidence.histories() {
            let versions = &history.versions;
            let first = versions
                .partition_point(|version| !is_new(version.received()))
                .max(1);
            let pairs = versions.get(first - 1..).unwrap_or_default().windows(2);
            let writes = pairs
                .filter(|pair| status_differs(&pair[0].object, &pair[1].object))
                .count();
            if let (Some(last), 1..) = (versions.last(), writes) {
                let owner = labels.owner_of(&last.object);
                if !add(&mut self.by_owner, owner, |count| *count += writes as u64) {
                    self.dropped += writes as u64;
                }
            }
            self.until = self.until.max(versions.last().and_then(|version| version.at));
        }
    }
}

fn status_differs(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    one.status != other.status
}

#[cfg(test)]
mod tests {
    use evidence::{History, Origin, Version};
    use serde_json::json;

    use super::*;

    /// Evidence of a profile of each manager, whose status was written once.
    fn written(managers: std::ops::Range<usize>) -> Evidence {
        let version = |number: usize, second: i64| {
            let profile = json!({
                "metadata": {"name": format!("p{number}"), "namespace": "fleet"},
                "spec": {"clusterManager": {"name": format!("m{number}")}},
                "status": {"version": {"kubernetes": format!("v1.{second}")}},
            });
            Version {
                at: Some(Timestamp::from_second(second).expect("a time")),
                object: serde_json::from_value(profile).expect("a profile"),
            }
        };
        let first = managers.start as i64;
        let histories = managers.map(|number| History {
            origin: Origin::Created,
            versions: vec![version(number, first), version(number, first + 1)],
            deleted: None,
        });
        Evidence {
            profiles: histories.collect(),
            ..Evidence::default()
        }
    }

    #[test]
    fn owners_that_are_gone_leave_room_for_others() {
        let mut writes = StatusWrites::default();
        writes.count(&written(0..1005), true);
        assert_eq!((writes.by_owner.len(), writes.dropped), (1000, 5));
        // Until the window follows, all are known.
        writes.count(&written(2000..2010), false);
        assert_eq!((writes.by_owner.len(), writes.dropped), (1000, 15));
        writes.count(&written(3000..3010), true);
        assert_eq!((writes.by_owner.len(), writes.dropped), (10, 15));
    }
}
