//! The rules on cluster managers.

pub(super) mod access;
pub(super) mod access_content;
pub(super) mod clusters;
pub(super) mod clustersets;
pub(super) mod conditions;
pub(super) mod consumers;
pub(super) mod identity;
pub(super) mod kubeconfigs;
pub(super) mod lifecycle;
pub(super) mod members;
pub(super) mod outages;
pub(super) mod properties;
pub(super) mod updates;
