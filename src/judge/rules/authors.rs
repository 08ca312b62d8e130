//! Finds who changed or deleted an object.

use std::collections::BTreeSet;

use evidence::{Evidence, ObjectRef, Request, Tracked, api::Writer};

use super::{
    logged::Judged,
    text::redacted,
    write_time::{LATE, skew},
};

/// Whether a field manager is a writer: the API server invents two names for fields without a recorded one.
pub(super) fn is_actor(field_manager: &str) -> bool {
    !matches!(field_manager, "before-first-apply" | "ancient-changes")
}

/// Whether a user agent or field manager is kubectl, which says so itself: it has one for each of its subcommands and plugins.
pub(super) fn is_kubectl(program: &str) -> bool {
    let name = program.split(['/', ' ']).next().unwrap_or_default();
    let name = name.strip_suffix(".exe").unwrap_or(name);
    name == "kubectl" || name.starts_with("kubectl-") || name.starts_with("kubectl_")
}

/// Kubernetes' own controllers that write objects of any kind: they collect garbage, empty namespaces and migrate storage.
/// Their user names are reserved.
const HUB_CONTROLLERS: [&str; 6] = [
    "system:apiserver",
    "system:kube-controller-manager",
    "system:serviceaccount:kube-system:generic-garbage-collector",
    "system:serviceaccount:kube-system:namespace-controller",
    "system:serviceaccount:kube-system:storage-version-garbage-collector",
    "system:serviceaccount:kube-system:storage-version-migrator-controller",
];

/// Whether a field manager is a program of its own: neither a person with kubectl, nor the hub itself.
pub(super) fn is_program(field_manager: &str) -> bool {
    const OF_HUB: [&str; 3] = [
        "kube-apiserver",
        "kube-controller-manager",
        "storage-version-migrator-controller",
    ];
    is_actor(field_manager) && !is_kubectl(field_manager) && !OF_HUB.contains(&field_manager)
}

/// Whether a program of its own sent a request: neither a person with kubectl, nor the hub itself, nor the suite.
pub(super) fn is_by_program(request: &Request) -> bool {
    !is_kubectl(&request.user_agent) && !is_hub(&request.user) && !request.is_the_suites()
}

/// Whether a user is the hub itself. Distributions run the storage version migrator in a namespace of its own.
fn is_hub(user: &str) -> bool {
    let account = user.strip_prefix("system:serviceaccount:");
    HUB_CONTROLLERS.contains(&user)
        || account.is_some_and(|account| account.contains("storage-version-migrator"))
}

/// The field managers of an object; empty without managedFields.
pub(super) fn writers<T: Tracked>(object: &T) -> BTreeSet<&str> {
    let writers = object.metadata().writers.as_deref().unwrap_or_default();
    let names = writers.iter().map(|writer| &*writer.manager);
    names.filter(|name| is_actor(name)).collect()
}

/// The field managers that wrote between two versions; empty without managedFields. One that only lost a field to
/// another did not write: the hub keeps its time.
pub(super) fn authors<'a, T: Tracked>(before: &T, after: &'a T) -> BTreeSet<&'a str> {
    let old = before.metadata().writers.as_deref().unwrap_or_default();
    let new = after.metadata().writers.as_deref().unwrap_or_default();
    let has_not_written = |old: &Writer, new: &Writer| {
        (&old.manager, &old.operation, &old.subresource, &old.time)
            == (&new.manager, &new.operation, &new.subresource, &new.time)
            && new.owns.iter().all(|part| old.owns.contains(part))
    };
    let wrote = |new: &&Writer| !old.iter().any(|old| has_not_written(old, new));
    let names = new.iter().filter(wrote).map(|writer| &*writer.manager);
    names.filter(|name| is_actor(name)).collect()
}

/// Returns the deletion of an object in the audit log, close enough to the time at which the watch saw it.
pub(super) fn deletion<'a, T: Judged>(
    evidence: &'a Evidence,
    object: &ObjectRef,
    seen: i64,
) -> Option<&'a Request> {
    let requests = T::requests(evidence)?;
    let mut events = requests.events.iter().rev();
    events.find(|event| {
        let at = event.at.as_microsecond().saturating_sub(skew(evidence));
        let names_it = match &*event.verb {
            "delete" => *event.name == *object.name && event.subresource.is_empty(),
            "deletecollection" => true,
            _ => false,
        };
        names_it
            && event.is_write()
            && *event.namespace == *object.namespace
            && (seen.saturating_sub(LATE)..=seen.saturating_add(LATE)).contains(&at)
    })
}

/// Returns ` by …` for messages; empty if no author is known.
pub(super) fn by(names: &BTreeSet<&str>) -> String {
    if names.is_empty() {
        String::new()
    } else {
        let names: Vec<String> = names.iter().map(|name| redacted(name)).collect();
        format!(" by {}", names.join(", "))
    }
}
