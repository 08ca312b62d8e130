//! The suite `clustersets`: namespaces that represent a ClusterSet (KEP-4322 › Notes › Organizing ClusterProfile objects on a hub).

use std::sync::Arc;

use evidence::{
    Namespace, ObjectRef, Reason,
    api::{
        ClusterProfile, Edition, Role,
        names::{LABEL_CLUSTERSET, LABEL_CLUSTERSET_GO},
    },
};

use crate::{
    engine::{Answer, Hub},
    shared::identity::{Identity, differing_pair, first_shared, identities, ids_agree},
    subjects::{
        Finding,
        sets::{claims, label},
    },
    text::{redacted, redacted_or_absent},
};

/// The keys of `clustersets/namespace-labelled`: the namespace.
pub(in crate::rules) fn namespace(profile: &ClusterProfile, _: &Hub) -> Vec<Arc<str>> {
    vec![Arc::clone(&profile.metadata.namespace)]
}

/// `clustersets/namespace-labelled`
///
/// A namespace that represents a ClusterSet has the label with the set's name. The declaration shows which set it is. That
/// all profiles name one set is a warning only: the namespace may be a plain inventory.
pub(in crate::rules) fn namespace_labelled(
    name: &Arc<str>,
    profiles: &[&ClusterProfile],
    hub: &Hub,
) -> Answer {
    let declared = hub.claim().clustersets.get(&**name).map(String::as_str);
    let Some(clusterset) = declared.or_else(|| common_clusterset(profiles)) else {
        return hub.namespace(name).map_or(Answer::NotApplicable, |namespace| {
            uses_kep_label(namespace, None, hub)
        });
    };
    let Some(namespace) = hub.namespace(name) else {
        let unknown = format!("namespace {name} represents a ClusterSet, but was not seen");
        return Answer::Unknown(Reason::from(unknown));
    };
    let is_labelled = [LABEL_CLUSTERSET, LABEL_CLUSTERSET_GO]
        .iter()
        .any(|key| label(&namespace.labels, key).is_some());
    match declared {
        _ if !is_labelled => lacks_label(namespace, clusterset, declared.is_some()),
        Some(declared) if !accepts(namespace, declared, hub) => has_other_clusterset(namespace, declared),
        _ => uses_kep_label(namespace, Some(clusterset), hub),
    }
}

/// The ClusterSet that all profiles name; none if one of them names none or another.
fn common_clusterset<'p>(profiles: &[&'p ClusterProfile]) -> Option<&'p str> {
    let first = claims(profiles.first()?).next()?.1;
    let names_first = |profile: &&ClusterProfile| {
        let mut named = claims(profile).peekable();
        named.peek().is_some() && named.all(|(_, clusterset)| clusterset == first)
    };
    profiles.iter().all(names_first).then_some(first)
}

/// Without a declaration, only the empty label of the KEP shows that the namespace is meant to represent a ClusterSet.
fn lacks_label(namespace: &Namespace, clusterset: &str, is_declared: bool) -> Answer {
    let value = namespace.labels.get(LABEL_CLUSTERSET).map(String::as_str);
    let message = if is_declared || value.is_some() {
        "namespace of a ClusterSet lacks the label with the set's name"
    } else {
        "all profiles name one ClusterSet, but their namespace lacks the label with the set's name"
    };
    let finding = Finding::on(namespace, message)
        .at(label_path(LABEL_CLUSTERSET))
        .expected(redacted(clusterset))
        .observed(redacted_or_absent(value));
    if is_declared || value.is_some() {
        Answer::broken(finding)
    } else {
        Answer::warning(finding)
    }
}

/// In edition standard, the KEP and the API's Go package demand different keys.
fn uses_kep_label(namespace: &Namespace, clusterset: Option<&str>, hub: &Hub) -> Answer {
    let kep = label(&namespace.labels, LABEL_CLUSTERSET);
    let (None, Some(go)) = (kep, label(&namespace.labels, LABEL_CLUSTERSET_GO)) else {
        return if kep.is_some() {
            Answer::Kept
        } else {
            Answer::NotApplicable
        };
    };
    if hub.edition(Role::Manager) > Edition::Standard {
        return Answer::Kept;
    }
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
    let kep = label(&namespace.labels, LABEL_CLUSTERSET);
    let go = label(&namespace.labels, LABEL_CLUSTERSET_GO);
    let is_go_enough = hub.edition(Role::Manager) > Edition::Standard || kep.is_none();
    kep == Some(clusterset) || (is_go_enough && go == Some(clusterset))
}

fn has_other_clusterset(namespace: &Namespace, declared: &str) -> Answer {
    let keys = [LABEL_CLUSTERSET, LABEL_CLUSTERSET_GO].into_iter();
    let mut labelled = keys.filter_map(|key| Some((key, label(&namespace.labels, key)?)));
    let (key, clusterset) = labelled.next().unwrap_or((LABEL_CLUSTERSET, ""));
    Answer::broken(
        Finding::on(
            namespace,
            "namespace's label differs from the declared ClusterSet",
        )
        .at(label_path(key))
        .expected(redacted(declared))
        .observed(redacted(clusterset)),
    )
}

fn label_path(key: &str) -> String {
    format!("metadata.labels[{key}]")
}

/// `clustersets/namespace-labelled`
///
/// Each declared namespace was read. It is evaluated once: a namespace that was not read has no profiles to call it on.
pub(in crate::rules) fn declared_namespaces(hub: &Hub) -> Vec<Answer> {
    let declared = hub.claim().clustersets.keys();
    let unseen = declared.filter(|name| hub.namespace(name).is_none());
    let reason = |name| format!("namespace {name} represents a ClusterSet, as declared, but was not seen");
    unseen.map(|name| Answer::Unknown(reason(name).into())).collect()
}

/// `clustersets/one-set-per-namespace`
///
/// Every ClusterSet that a profile names is the one of its namespace.
pub(in crate::rules) fn one_set_per_namespace(profile: &ClusterProfile, hub: &Hub) -> Answer {
    let namespace = &profile.metadata.namespace;
    let Some(clusterset) = hub.clusterset_of_namespace(namespace) else {
        return Answer::NotApplicable;
    };
    Answer::each(claims(profile), |(path, named)| {
        Answer::broken_if(named != clusterset, || {
            Finding::at_path(
                path,
                "profile of another ClusterSet is in a ClusterSet's namespace",
            )
            .expected(format!("{clusterset}, as its namespace {namespace}"))
            .observed(redacted(named))
        })
    })
}

/// The keys of `clustersets/one-set-per-cluster`: identities that no two clusters share, in the namespaces of ClusterSets.
pub(in crate::rules) fn proof_in_clusterset(profile: &ClusterProfile, hub: &Hub) -> Vec<Identity> {
    if hub.clusterset_of_namespace(&profile.metadata.namespace).is_none() {
        return Vec::new();
    }
    let identities = identities(profile, hub).into_iter();
    identities.filter(Identity::is_proof).collect()
}

/// `clustersets/one-set-per-cluster`
///
/// No cluster has profiles in the namespaces of two ClusterSets.
pub(in crate::rules) fn one_set_per_cluster(
    identity: &Identity,
    profiles: &[&ClusterProfile],
    hub: &Hub,
) -> Answer {
    let clusterset = |profile: &ClusterProfile| hub.clusterset_of_namespace(&profile.metadata.namespace);
    let Some([profile, other]) = differing_pair(profiles, clusterset).filter(|_| ids_agree(profiles)) else {
        return Answer::Kept;
    };
    let shared = first_shared(
        proof_in_clusterset(profile, hub),
        &proof_in_clusterset(other, hub),
    );
    if shared.as_ref() != Some(identity) {
        return Answer::Kept;
    }
    let [own, others] = [profile, other].map(|profile| clusterset(profile).unwrap_or_default());
    let (path, value) = identity.field(profile);
    let message = format!(
        "one cluster is in the namespaces of two ClusterSets: {}",
        identity.describe()
    );
    Answer::broken(
        Finding::on(profile, message)
            .at(path)
            .expected(format!("a cluster that is in ClusterSet {own} alone"))
            .observed(format!(
                "{value}, as in {} of ClusterSet {others}",
                ObjectRef::from(other)
            )),
    )
}
