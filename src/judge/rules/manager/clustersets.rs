//! The suite `clustersets`: namespaces that represent a ClusterSet (KEP-4322 › Notes › Organizing ClusterProfile objects on a hub).

use std::sync::Arc;

use evidence::Namespace;

use crate::{
    engine::hub::{claims, label},
    rules::prelude::*,
};

/// Whether two versions of a profile name the same ClusterSets.
pub(crate) fn same_clusterset(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    claims(one).eq(claims(other))
}

/// The keys of `clustersets/namespace-labelled`: the namespace.
pub(crate) fn namespace(profile: &ClusterProfile, _: &Hub) -> Vec<Arc<str>> {
    vec![Arc::clone(&profile.metadata.namespace)]
}

/// `clustersets/namespace-labelled`: a namespace that represents a ClusterSet has the label with the set's name. The
/// declaration shows which set it is. That all profiles name one set is a warning only: the namespace may be a plain
/// inventory.
pub(crate) fn namespace_labelled(name: &Arc<str>, profiles: &[&ClusterProfile], hub: &Hub) -> Answer {
    let declared = hub.claim().clustersets.get(&**name).map(String::as_str);
    let Some(clusterset) = declared.or_else(|| common_clusterset(profiles)) else {
        return hub.namespace(name).map_or(Answer::NotApplicable, |namespace| {
            uses_kep_label(namespace, None, hub)
        });
    };
    let Some(namespace) = hub.namespace(name) else {
        let unknown = format!("namespace {name} represents a ClusterSet, but was not observed");
        return Answer::unknown(unknown);
    };
    let [kep, go] = labels(namespace);
    match declared {
        _ if kep.or(go).is_none() => lacks_label(namespace, clusterset, declared.is_some()),
        Some(declared) if !accepts(namespace, declared, hub) => has_other_clusterset(namespace, declared),
        _ => uses_kep_label(namespace, Some(clusterset), hub),
    }
}

/// The values of the label by the key of the KEP, and by that of the API's Go package.
fn labels(namespace: &Namespace) -> [Option<&str>; 2] {
    [LABEL_CLUSTERSET, LABEL_CLUSTERSET_GO].map(|key| label(&namespace.labels, key))
}

/// The ClusterSet that all profiles name; none if one of them names none or another.
fn common_clusterset<'p>(profiles: &[&'p ClusterProfile]) -> Option<&'p str> {
    let first = claims(profiles.first()?).next()?.1;
    let names_first = |profile: &&ClusterProfile| {
        let mut claimed_sets = claims(profile).peekable();
        claimed_sets.peek().is_some() && claimed_sets.all(|(_, clusterset)| clusterset == first)
    };
    profiles.iter().all(names_first).then_some(first)
}

/// Without a declaration, only the empty label of the KEP shows that the namespace is meant to represent a ClusterSet.
fn lacks_label(namespace: &Namespace, clusterset: &str, is_declared: bool) -> Answer {
    let value = namespace.labels.get(LABEL_CLUSTERSET).map(String::as_str);
    let is_certain = is_declared || value.is_some();
    let message = if is_certain {
        "namespace of a ClusterSet does not have the label with the set's name"
    } else {
        "all profiles name one ClusterSet, but their namespace does not have its label"
    };
    let finding = Finding::on(namespace, message)
        .at(label_path(LABEL_CLUSTERSET))
        .expected(redacted(clusterset))
        .observed(redacted_or_absent(value));
    Answer::all([finding.advisory_unless(is_certain)])
}

/// In edition standard, the KEP and the API's Go package demand different keys.
fn uses_kep_label(namespace: &Namespace, clusterset: Option<&str>, hub: &Hub) -> Answer {
    let go = match labels(namespace) {
        [Some(_), _] => return Answer::Kept,
        [None, None] => return Answer::NotApplicable,
        [None, Some(_)] if hub.edition(Role::Manager) > Edition::Standard => return Answer::Kept,
        [None, Some(go)] => go,
    };
    let message = "namespace labels its ClusterSet with the key of the API's Go package instead of the KEP's";
    Answer::warning(
        Finding::on(namespace, message)
            .at(label_path(LABEL_CLUSTERSET))
            .expected(redacted(clusterset.unwrap_or(go)))
            .observed(format!("{LABEL_CLUSTERSET_GO}={}", redacted(go))),
    )
}

/// Whether a label names the ClusterSet. The key of the API's Go package counts in edition standard too; it is a warning.
fn accepts(namespace: &Namespace, clusterset: &str, hub: &Hub) -> bool {
    let [kep, go] = labels(namespace);
    let is_go_enough = hub.edition(Role::Manager) > Edition::Standard || kep.is_none();
    kep == Some(clusterset) || (is_go_enough && go == Some(clusterset))
}

fn has_other_clusterset(namespace: &Namespace, declared: &str) -> Answer {
    let (key, clusterset) = match labels(namespace) {
        [None, Some(go)] => (LABEL_CLUSTERSET_GO, go),
        [kep, _] => (LABEL_CLUSTERSET, kep.unwrap_or_default()),
    };
    let message = "namespace's label differs from the declared ClusterSet";
    let finding = Finding::on(namespace, message).at(label_path(key));
    Answer::broken(
        finding
            .expected(redacted(declared))
            .observed(redacted(clusterset)),
    )
}

/// `clustersets/namespace-labelled`: each declared namespace was read. It is evaluated once: a namespace that was not
/// read has no profiles to call it on.
pub(crate) fn declared_namespaces(hub: &Hub) -> Vec<Answer> {
    let declared = hub.claim().clustersets.keys();
    let unseen = declared.filter(|name| hub.namespace(name).is_none());
    let reason = |name| format!("namespace {name} represents a ClusterSet, as declared, but was not seen");
    unseen.map(|name| Answer::unknown(reason(name))).collect()
}

/// `clustersets/one-set-per-namespace`: every ClusterSet that a profile names is the one of its namespace.
pub(crate) fn one_set_per_namespace(profile: &ClusterProfile, hub: &Hub) -> Answer {
    let namespace = &profile.metadata.namespace;
    let Some(clusterset) = hub.clusterset_of_namespace(namespace) else {
        return Answer::NotApplicable;
    };
    Answer::each(claims(profile), |(path, claim)| {
        Answer::broken_if(claim != clusterset, || {
            let expected = format!("{clusterset}, as its namespace {namespace}");
            Finding::at_field(path, redacted(claim)).expected(expected)
        })
    })
}
