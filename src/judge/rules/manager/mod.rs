//! The suites of rules on cluster managers, by what they write into profiles and how.

pub(super) mod access;
pub(super) mod clustersets;
pub(super) mod conditions;
pub(super) mod consumers;
pub(super) mod identity;
pub(super) mod lifecycle;
pub(super) mod properties;
pub(super) mod updates;
pub(super) mod version;
