//! The names of consumers (KEP-4322 › Secret format).

use std::collections::BTreeMap;

use evidence::{
    Namespace,
    api::{Edition, Role, names},
};

use crate::{
    engine::{Answer, Hub},
    subjects::Finding,
};

/// `consumers/consumer-name-unique`
///
/// No two namespaces have the same consumer's name; from edition 2026-09 on, for profiles of the same namespace.
///
/// It is evaluated once: namespaces are read once and have no versions.
pub(in crate::rules) fn consumer_name_unique(hub: &Hub) -> Vec<Answer> {
    let mut first: BTreeMap<(&str, &str), &Namespace> = BTreeMap::new();
    let mut answers = Vec::new();
    for namespace in &hub.evidence.namespaces {
        let Some(consumer) = namespace.consumer() else {
            continue;
        };
        let has_secrets = hub
            .consumer_secrets()
            .iter()
            .any(|secret| secret.secret.namespace == namespace.name);
        // Another manager, which is not judged, may serve the consumer too.
        if !hub.judges_everything() && !has_secrets {
            continue;
        }
        let inventories = inventories(hub, namespace);
        let rival = inventories.iter().find_map(|inventory| {
            let other = *first.entry((consumer, inventory)).or_insert(namespace);
            (other.name != namespace.name).then_some((other, *inventory))
        });
        answers.push(match rival {
            None => Answer::Kept,
            Some((other, inventory)) => Answer::broken(clash(namespace, consumer, other, inventory)),
        });
    }
    if answers.is_empty() {
        answers.extend(hub.why_consumers_expected(NO_CONSUMER).map(Answer::Unknown));
    }
    answers
}

/// The reason for no verdict without a consumer.
const NO_CONSUMER: &str = "no namespace with label x-k8s.io/cluster-inventory-consumer was found";

fn clash(namespace: &Namespace, consumer: &str, other: &Namespace, inventory: &str) -> Finding {
    let inventory = match inventory {
        WHOLE_HUB => String::new(),
        inventory => format!(" for the profiles in {inventory}"),
    };
    Finding::on(namespace, "two namespaces have the same consumer's name")
        .at(format!("metadata.labels[{}]", names::LABEL_CONSUMER))
        .expected("a name of its own")
        .observed(format!("{consumer}, as namespace {}{inventory}", other.name))
}

/// The only inventory of a hub before edition 2026-09.
const WHOLE_HUB: &str = "";

/// The inventories that a consumer's namespace certainly is for, by the labels of its Secrets.
fn inventories<'e>(hub: &Hub<'e>, namespace: &Namespace) -> Vec<&'e str> {
    if hub.edition(Role::Manager) < Edition::Y2026M09 {
        return vec![WHOLE_HUB];
    }
    let secrets = hub.consumer_secrets().iter();
    let own = secrets.filter(|secret| secret.secret.namespace == namespace.name);
    own.filter_map(|secret| secret.namespace()).collect()
}
