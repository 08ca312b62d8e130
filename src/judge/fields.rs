//! The fields of profiles, for findings about writes.

use std::collections::{BTreeMap, BTreeSet};

use evidence::api::{ClusterProfile, Labels};

use crate::text::redacted;

/// Whether a field of an object belongs to its status.
pub(crate) fn is_status(field: &str) -> bool {
    field == "status" || field.starts_with("status.")
}

/// The paths of the fields in which two versions differ, in order.
pub(crate) fn changed_fields(before: &ClusterProfile, after: &ClusterProfile) -> BTreeSet<String> {
    let (old, new) = (&before.metadata, &after.metadata);
    let mut fields = changed_labels("metadata.labels", &old.labels, &new.labels);
    fields.extend(changed_labels(
        "metadata.annotations",
        &old.annotations,
        &new.annotations,
    ));
    let (old, new) = (&before.status, &after.status);
    let singles = [
        (
            "spec.displayName",
            before.spec.display_name == after.spec.display_name,
        ),
        (
            "spec.clusterManager",
            before.spec.cluster_manager == after.spec.cluster_manager,
        ),
        ("status.version", old.version == new.version),
    ];
    let changed = singles.into_iter().filter(|(_, is_same)| !is_same);
    fields.extend(changed.map(|(path, _)| path.to_owned()));
    let (properties, conditions) = ("status.properties", "status.conditions");
    fields.extend(changed_items(
        properties,
        &old.properties,
        &new.properties,
        |item| &item.name,
    ));
    fields.extend(changed_items(
        conditions,
        &old.conditions,
        &new.conditions,
        |item| &item.kind,
    ));
    let (access, deprecated) = ("status.accessProviders", "status.credentialProviders");
    let (one, other) = (&old.access_providers, &new.access_providers);
    fields.extend(changed_items(access, one, other, |item| &item.name));
    let (one, other) = (&old.credential_providers, &new.credential_providers);
    fields.extend(changed_items(deprecated, one, other, |item| &item.name));
    fields
}

fn changed_labels(path: &str, old: &Labels, new: &Labels) -> BTreeSet<String> {
    let keys = old.iter().chain(new.iter()).map(|(key, _)| key);
    let changed = keys.filter(|key| old.get(*key) != new.get(*key));
    changed.map(|key| format!("{path}[{}]", redacted(key))).collect()
}

/// The items of a list that are not in both versions alike, by their names.
fn changed_items<T: PartialEq>(path: &str, old: &[T], new: &[T], name: fn(&T) -> &str) -> Vec<String> {
    let by_name =
        |items| -> BTreeMap<&str, &T> { <[T]>::iter(items).map(|item| (name(item), item)).collect() };
    let (olds, news) = (by_name(old), by_name(new));
    let names: BTreeSet<&str> = olds.keys().chain(news.keys()).copied().collect();
    let changed = names.into_iter().filter(|name| olds.get(name) != news.get(name));
    changed
        .map(|name| format!("{path}[{}]", redacted(name)))
        .collect()
}
