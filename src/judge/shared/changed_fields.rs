//! The fields in which two versions of a profile differ, for findings about writes.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use evidence::api::{ClusterProfile, Labels};

use crate::text::redacted;

/// The paths of the fields in which two versions differ, in order.
pub(crate) fn changed_fields(before: &ClusterProfile, after: &ClusterProfile) -> BTreeSet<String> {
    let mut fields = BTreeSet::new();
    let (old, new) = (&before.metadata, &after.metadata);
    for (path, old, new) in [
        ("metadata.labels", &old.labels, &new.labels),
        ("metadata.annotations", &old.annotations, &new.annotations),
    ] {
        fields.extend(changed_labels(path, old, new));
    }
    if before.spec.display_name != after.spec.display_name {
        fields.insert("spec.displayName".to_owned());
    }
    if before.spec.cluster_manager != after.spec.cluster_manager {
        fields.insert("spec.clusterManager".to_owned());
    }
    let (old, new) = (&before.status, &after.status);
    if old.version != new.version {
        fields.insert("status.version".to_owned());
    }
    fields.extend(changed_items(
        "status.properties",
        &old.properties,
        &new.properties,
        |property| &property.name,
    ));
    fields.extend(changed_items(
        "status.conditions",
        &old.conditions,
        &new.conditions,
        |condition| &condition.kind,
    ));
    for (path, old, new) in [
        (
            "status.accessProviders",
            &old.access_providers,
            &new.access_providers,
        ),
        (
            "status.credentialProviders",
            &old.credential_providers,
            &new.credential_providers,
        ),
    ] {
        fields.extend(changed_items(path, old, new, |provider| &provider.name));
    }
    fields
}

fn changed_labels(path: &str, old: &Arc<Labels>, new: &Arc<Labels>) -> Vec<String> {
    if Arc::ptr_eq(old, new) {
        return Vec::new();
    }
    let keys = old.iter().chain(new.iter()).map(|(key, _)| key);
    let changed = keys.filter(|key| old.get(*key) != new.get(*key));
    changed.map(|key| format!("{path}[{}]", redacted(key))).collect()
}

/// The items of a list that are not in both versions alike, by their names.
fn changed_items<T: PartialEq>(
    path: &str,
    old: &Arc<[T]>,
    new: &Arc<[T]>,
    name: fn(&T) -> &str,
) -> Vec<String> {
    if Arc::ptr_eq(old, new) {
        return Vec::new();
    }
    let by_name = |items: &Arc<[T]>| -> BTreeMap<String, usize> {
        let items = items.iter().enumerate();
        items
            .map(|(place, item)| (name(item).to_owned(), place))
            .collect()
    };
    let (olds, news) = (by_name(old), by_name(new));
    let names: BTreeSet<&String> = olds.keys().chain(news.keys()).collect();
    let differ = |name: &&String| match (olds.get(*name), news.get(*name)) {
        (Some(before), Some(after)) => old[*before] != new[*after],
        _ => true,
    };
    let changed = names.into_iter().filter(differ);
    changed
        .map(|name| format!("{path}[{}]", redacted(name)))
        .collect()
}
