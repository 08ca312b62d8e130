//! A fleet as one look at it would have shown it.

use evidence::{
    Asked, Evidence, FORMAT, Kind, Namespace, Origin, ProfileHistory, Version, Window, api::ClusterProfile,
};
use jiff::{Timestamp, ToSpan as _};

use super::fleet::NAMESPACES;

/// What one look at a hub with these profiles would have shown.
pub fn evidence(profiles: Vec<ClusterProfile>, now: Timestamp) -> Evidence {
    let until = now + 10.minutes();
    let mut evidence = Evidence::default();
    evidence.header.format = FORMAT.to_owned();
    evidence.header.window = Some(Window { from: until, until });
    evidence.header.asked = [Kind::Inventory, Kind::Namespaces, Kind::Writers]
        .map(|kind| (kind, Asked::Yes))
        .into();
    evidence.namespaces = NAMESPACES
        .map(|name| Namespace {
            name: name.to_owned(),
            ..Namespace::default()
        })
        .into();
    let history = |profile| ProfileHistory {
        origin: Origin::Listed,
        versions: vec![Version {
            at: Some(until),
            object: profile,
        }],
        deleted: None,
        deleted_version: None,
    };
    evidence.profiles = profiles.into_iter().map(history).collect();
    evidence
}
