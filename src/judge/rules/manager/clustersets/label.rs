//! The namespace label that names a ClusterSet.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use evidence::{
    Evidence, Namespace,
    api::{Edition, Labels, names},
};

use super::inventory::{Inventory, inventories};
use crate::{
    reasons::NO_CLUSTERSET,
    shared::state::TOO_EARLY,
    subjects::{
        Finding, Findings,
        sets::{ClusterSets, label},
    },
    text::{redacted, redacted_or_absent},
};

/// `clustersets/namespace-labelled`
///
/// A namespace whose profiles represent a ClusterSet has a label with the set's name.
///
/// Its profiles represent a set if that is declared. That all of them name one set is a hint only: it may be a plain
/// inventory. So is the alternative label key, as the API's Go types demand it. A separate rule reports a profile that
/// contradicts the label.
pub(in crate::rules) fn namespace_labelled(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable(NO_CLUSTERSET);
    let hub = Hub {
        edition: evidence.header.claim.edition,
        namespaces: evidence
            .namespaces
            .iter()
            .map(|each| (&*each.name, each))
            .collect(),
        inventories: inventories(evidence),
        sets: ClusterSets::of(evidence),
    };
    let declared = &evidence.header.claim.clustersets;
    let scope = &evidence.header.scope.namespaces;
    let judged = hub
        .inventories
        .iter()
        .filter(|(_, inventory)| inventory.is_judged);
    let judged = judged.map(|(name, _)| *name);
    let all: BTreeSet<&str> = judged
        .chain(declared.keys().map(String::as_str))
        .filter(|name| scope.is_empty() || scope.iter().any(|each| each == name))
        .collect();
    for name in all {
        hub.judge(name, declared.get(name).map(String::as_str), findings);
    }
    let is_new = |inventory: &Inventory| inventory.is_judged && inventory.is_moving;
    if hub.inventories.values().any(is_new) {
        findings.cannot_tell_unless_examined(TOO_EARLY);
    }
}

/// What the evidence shows about the hub.
struct Hub<'a> {
    edition: Edition,
    namespaces: HashMap<&'a str, &'a Namespace>,
    inventories: BTreeMap<&'a str, Inventory<'a>>,
    sets: ClusterSets<'a>,
}

impl Hub<'_> {
    /// Judges one namespace. The user may have `declared` its ClusterSet.
    fn judge(&self, name: &str, declared: Option<&str>, findings: &mut Findings) {
        let inventory = self.inventories.get(name);
        let told = declared.or_else(|| inventory?.set());
        let Some(namespace) = self.namespaces.get(name) else {
            if told.is_some() {
                let by = if declared.is_some() {
                    "as declared"
                } else {
                    "as its profiles say"
                };
                findings.cannot_tell(format!(
                    "namespace {} represents a ClusterSet, {by}, but was not seen",
                    redacted(name)
                ));
            }
            return;
        };
        let wanted = label(&namespace.labels, names::LABEL_CLUSTERSET);
        let other = label(&namespace.labels, names::LABEL_CLUSTERSET_GO);
        let finding = match (wanted, other) {
            (None, None) => match told {
                Some(set) if declared.is_some() => Some(lacks_label(namespace, set)),
                Some(set) if !self.is_plain(name, set) => Some(seems_to_lack_label(namespace, set)),
                _ => {
                    if inventory.is_some_and(|inventory| inventory.has_members) {
                        findings.note(format!(
                            "namespace {} is treated as a plain inventory, though profiles in it are of ClusterSets: \
                             declare its ClusterSet if it has one",
                            redacted(name)
                        ));
                    }
                    return;
                }
            },
            (None, Some(set))
                if self.edition == Edition::Standard && declared.is_none_or(|declared| declared == set) =>
            {
                Some(has_other_key(namespace, told.unwrap_or(set)))
            }
            _ => declared
                .filter(|declared| !self.accepts(&namespace.labels, declared))
                .map(|declared| has_other_set(namespace, declared)),
        };
        findings.examine();
        if let Some(finding) = finding {
            findings.report(finding);
        }
    }

    /// Whether a label that the edition accepts has that value.
    fn accepts(&self, labels: &Labels, set: &str) -> bool {
        let is = |key: &str| label(labels, key) == Some(set);
        is(names::LABEL_CLUSTERSET) || (self.edition > Edition::Standard && is(names::LABEL_CLUSTERSET_GO))
    }

    /// Whether all clusters of a namespace are also in that ClusterSet's own namespaces.
    fn is_plain(&self, name: &str, set: &str) -> bool {
        let own = self
            .inventories
            .iter()
            .filter(|(namespace, _)| self.sets.of_namespace(namespace) == Some(set));
        let own: Vec<&Inventory> = own.map(|(_, inventory)| inventory).collect();
        self.inventories
            .get(name)
            .is_some_and(|inventory| inventory.is_within(&own, &self.sets))
    }
}

fn path(key: &str) -> String {
    format!("metadata.labels[{key}]")
}

fn lacks_label(namespace: &Namespace, set: &str) -> Finding {
    let key = names::LABEL_CLUSTERSET;
    Finding::on(
        namespace,
        "namespace of a ClusterSet lacks the label with the set's name",
    )
    .at(path(key))
    .expected(redacted(set))
    .observed(redacted_or_absent(namespace.labels.get(key).map(String::as_str)))
}

/// The ClusterSet is inferred: the documents do not say how to recognize an inventory that represents one.
fn seems_to_lack_label(namespace: &Namespace, set: &str) -> Finding {
    let message = "all profiles name one ClusterSet, but their namespace lacks the label with the set's name";
    Finding {
        message: message.to_owned(),
        ..lacks_label(namespace, set).advisory()
    }
}

/// The KEP and the types of the API's Go package each demand another key.
fn has_other_key(namespace: &Namespace, set: &str) -> Finding {
    let other = names::LABEL_CLUSTERSET_GO;
    let value = namespace.labels.get(other).map(String::as_str);
    Finding::on(
        namespace,
        "namespace labels its ClusterSet with the key of the API's Go package instead of the KEP's",
    )
    .at(path(names::LABEL_CLUSTERSET))
    .expected(redacted(set))
    .observed(format!("{other}={}", redacted_or_absent(value)))
    .advisory()
}

fn has_other_set(namespace: &Namespace, declared: &str) -> Finding {
    let keys = [names::LABEL_CLUSTERSET, names::LABEL_CLUSTERSET_GO];
    let labelled = keys
        .into_iter()
        .find_map(|key| Some((key, label(&namespace.labels, key)?)));
    let (key, set) = labelled.unwrap_or((names::LABEL_CLUSTERSET, ""));
    Finding::on(
        namespace,
        "namespace's label differs from the declared ClusterSet",
    )
    .at(path(key))
    .expected(redacted(declared))
    .observed(redacted(set))
}
