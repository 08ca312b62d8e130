//! What a write changes in an object.

use std::collections::BTreeSet;

use evidence::api::{ClusterProfile, PlacementDecision};

use crate::{engine::Judged, shared::changed_fields::changed_fields, text::redacted};

/// A kind of object with writes.
pub(crate) trait Written: Judged {
    /// Whether two versions have different statuses.
    fn has_other_status(&self, before: &Self) -> bool;

    /// The fields in which two versions differ.
    fn changed_fields(&self, before: &Self) -> BTreeSet<String>;
}

impl Written for ClusterProfile {
    fn has_other_status(&self, before: &Self) -> bool {
        self.status != before.status
    }

    fn changed_fields(&self, before: &Self) -> BTreeSet<String> {
        changed_fields(before, self)
    }
}

impl Written for PlacementDecision {
    /// A slice has no status.
    fn has_other_status(&self, _: &Self) -> bool {
        false
    }

    fn changed_fields(&self, before: &Self) -> BTreeSet<String> {
        let mut fields = BTreeSet::new();
        if self.decisions != before.decisions {
            fields.insert("decisions".to_owned());
        }
        if self.scheduler_name != before.scheduler_name {
            fields.insert("schedulerName".to_owned());
        }
        let (old, new) = (&before.metadata.labels, &self.metadata.labels);
        let keys = old.iter().chain(new.iter()).map(|(key, _)| key);
        let changed = keys.filter(|key| old.get(key) != new.get(key));
        fields.extend(changed.map(|key| format!("metadata.labels[{}]", redacted(key))));
        fields
    }
}
