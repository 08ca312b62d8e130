//! The Secrets of a dump: those of consumers are digested, and of others only those with a kubeconfig are kept.

use std::{borrow::Cow, collections::BTreeSet};

use super::{Gatherer, Item, duplicates::VersionOf};
use crate::{
    Evidence,
    api::names,
    lenient::{self, Untyped},
};

impl Gatherer<'_> {
    pub(super) fn take_secret(&mut self, item: &Item<'_>) {
        self.held.secrets = true;
        let mut fault = String::new();
        let value = match item.body.untyped() {
            Some(Untyped::Value(value)) => Some(Cow::Borrowed(value)),
            Some(Untyped::Text(json)) => {
                let parsed = serde_json::from_slice(json);
                let parsed = parsed.inspect_err(|error| fault = lenient::unparsable(json, error));
                parsed.ok().map(Cow::Owned)
            }
            None => None,
        };
        let is_unlabelled = value.as_ref().is_some_and(|value| {
            let labels = &value["metadata"]["labels"];
            // Malformed labels may be meant to include it.
            let may_hold_labels = labels.is_object() || labels.is_null();
            may_hold_labels && labels.get(names::LABEL_SECRET_PROFILE).is_none()
        });
        if is_unlabelled {
            self.held.unlabelled_secrets = true;
            let unlabelled = value.and_then(|value| self.digester.unlabelled(&value));
            self.evidence.unlabelled_secrets.extend(unlabelled);
            let label = names::LABEL_SECRET_PROFILE;
            return self.ignored.add(&format!("Secret without the label {label}"));
        }
        match value.map(|value| self.digester.secret(&value)) {
            Some(Ok(secret)) => {
                let key = (
                    "Secret",
                    secret.namespace.as_str().into(),
                    secret.name.as_str().into(),
                );
                let known = |evidence: &Evidence, index: usize| {
                    VersionOf::secret(&evidence.secrets[index]) == VersionOf::secret(&secret)
                };
                let (next, version) = (self.evidence.secrets.len(), &secret.resource_version);
                if self.is_new(key, next, version, known, item.place) {
                    self.evidence.secrets.push(secret);
                }
            }
            Some(Err(unreadable)) => self.give_up(item, "Secret", &unreadable.message),
            None => self.give_up(item, "Secret", &fault),
        }
    }

    /// Drops what is not in a consumer's namespace, or was in another part of the dump already.
    pub(super) fn drop_strangers(&mut self) {
        let namespaces = self.evidence.namespaces.iter();
        let consumers: BTreeSet<&str> = namespaces
            .filter(|namespace| namespace.consumer().is_some())
            .map(|namespace| namespace.name.as_str())
            .collect();
        let mut seen = BTreeSet::new();
        self.evidence.unlabelled_secrets.retain(|secret| {
            consumers.contains(secret.namespace.as_str())
                && seen.insert((secret.namespace.clone(), secret.name.clone()))
        });
    }
}
