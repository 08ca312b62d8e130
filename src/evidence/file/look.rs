//! The difference between two looks at a member.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::change::{Part, differing, part, replace};
use crate::{ClusterProperty, Lease, Look, Member, MemberPart, Readyz, Reason};

/// A later look, as its difference from the look before.
#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct LookChange {
    #[schemars(with = "crate::json_schema::Time")]
    from: Timestamp,
    #[schemars(with = "crate::json_schema::Time")]
    until: Timestamp,
    #[serde(default, deserialize_with = "part", skip_serializing_if = "Option::is_none")]
    version: Part<Option<Arc<str>>>,
    #[serde(default, deserialize_with = "part", skip_serializing_if = "Option::is_none")]
    readyz: Part<Option<Arc<Readyz>>>,
    #[serde(default, deserialize_with = "part", skip_serializing_if = "Option::is_none")]
    leases: Part<Option<Arc<[Lease]>>>,
    #[serde(default, deserialize_with = "part", skip_serializing_if = "Option::is_none")]
    nodes: Part<Option<u64>>,
    #[serde(default, deserialize_with = "part", skip_serializing_if = "Option::is_none")]
    custom_resource_groups: Part<Option<Arc<BTreeSet<String>>>>,
    #[serde(default, deserialize_with = "part", skip_serializing_if = "Option::is_none")]
    cluster_properties: Part<Option<Arc<[ClusterProperty]>>>,
    #[serde(default, deserialize_with = "part", skip_serializing_if = "Option::is_none")]
    missing: Part<Arc<BTreeMap<MemberPart, Reason>>>,
}

/// A member with its first look, if it has one, and the later ones.
pub(super) fn first_and_later(member: &Member) -> (Member, impl Iterator<Item = LookChange>) {
    let Member { profile, way, looks } = member;
    let first = Member {
        profile: profile.clone(),
        way: way.clone(),
        looks: looks.iter().take(1).cloned().collect(),
    };
    let later = looks
        .windows(2)
        .map(|pair| LookChange::between(&pair[0], &pair[1]));
    (first, later)
}

impl LookChange {
    fn between(previous: &Look, next: &Look) -> Self {
        // Destructured without `..`, so that a new field cannot be forgotten here.
        let Look {
            from,
            until,
            version,
            readyz,
            leases,
            nodes,
            custom_resource_groups,
            cluster_properties,
            missing,
        } = next;
        Self {
            from: *from,
            until: *until,
            version: differing(&previous.version, version),
            readyz: differing(&previous.readyz, readyz),
            leases: differing(&previous.leases, leases),
            nodes: differing(&previous.nodes, nodes),
            custom_resource_groups: differing(&previous.custom_resource_groups, custom_resource_groups),
            cluster_properties: differing(&previous.cluster_properties, cluster_properties),
            missing: differing(&previous.missing, missing),
        }
    }

    /// Adds the look to those of its member; `None` if the member has none before it.
    pub fn add_to(self, member: &mut Member) -> Option<()> {
        let mut next = member.looks.last()?.clone();
        next.from = self.from;
        next.until = self.until;
        replace(&mut next.version, self.version);
        replace(&mut next.readyz, self.readyz);
        replace(&mut next.leases, self.leases);
        replace(&mut next.nodes, self.nodes);
        replace(&mut next.custom_resource_groups, self.custom_resource_groups);
        replace(&mut next.cluster_properties, self.cluster_properties);
        replace(&mut next.missing, self.missing);
        next.share_with(&member.looks);
        member.looks.push(next);
        Some(())
    }
}
