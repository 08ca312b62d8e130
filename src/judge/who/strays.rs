//! Profiles that a judged cluster manager made and labelled, but that name another manager.

use evidence::{
    Evidence, ProfileHistory,
    api::{ClusterProfile, names},
};

use super::publisher::publishers_of;

/// The profiles out of scope that carry the judged manager's label and are its work, as evidence of their own; none if
/// there are none. A manager that mislabels its own profile with another one's name is not that one: it takes proof.
pub(crate) fn strays(evidence: &Evidence) -> Option<Evidence> {
    let judged = evidence.header.scope.cluster_manager.as_deref()?;
    let claimed = &evidence.header.claim.cluster_manager;
    if claimed.field_managers.is_empty() {
        return None;
    }
    let is_claimed = |profile: &ClusterProfile| {
        let publishers = publishers_of(profile);
        !publishers.is_empty() && publishers.iter().all(|name| claimed.has_field_manager(name))
    };
    let is_stray = |history: &&ProfileHistory| {
        let metadata = &history.last().metadata;
        let mut versions = history.versions.iter().map(|version| &version.object);
        versions.any(|profile| profile.label(names::LABEL_MANAGER) == Some(judged))
            && !history.last().manager().is_empty()
            && !evidence.header.scope.holds(history.last())
            && evidence.header.scope.holds_namespace(&metadata.namespace)
            && !evidence.is_touched(&metadata.namespace, &metadata.name)
            && is_claimed(history.last())
    };
    let profiles: Vec<ProfileHistory> = evidence.profiles.iter().filter(is_stray).cloned().collect();
    if profiles.is_empty() {
        return None;
    }
    let mut header = evidence.header.clone();
    header.scope.cluster_manager = None;
    Some(Evidence {
        header,
        gaps: evidence.gaps.clone(),
        unreadable: evidence.unreadable.clone(),
        namespaces: evidence.namespaces.clone(),
        profiles,
        ..Evidence::default()
    })
}
