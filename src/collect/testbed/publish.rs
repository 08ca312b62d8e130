//! Publishes profiles: builds the objects, writes them, and records the API server's responses.

use std::collections::BTreeMap;

use evidence::{
    MemberAddress, ObjectKey, ObjectRef, Publication, Published,
    api::{
        ObjectKind,
        names::{CONDITION_HEALTHY, CONDITION_JOINED, EXTENSION_EXEC, LABEL_MANAGER, LABEL_MEMBER_ID},
    },
    runs::LABEL_RUN,
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    members::NewAddress,
    player::Player,
    scenarios::{AccessTemplate, ProfileLocation, ProfileTemplate},
};
use crate::{
    connect::failure::Failure,
    driver::{OURSELVES, OfferError},
};

/// The prefix of variables that published profiles ask for.
const VARIABLES: &str = "CONFORMANCE_STAGE_";
/// A provider that no consumer has a plugin for.
const UNKNOWN_PROVIDER: &str = "unknown.conformance.example";
/// The member that has the other authority.
const AUTHORITY: &str = "authority";
/// More properties than any other profile has.
const MANY_PROPERTIES: usize = 150;
/// The API server does not accept the object.
const UNPROCESSABLE: u16 = 422;
/// There is no such namespace.
const NOT_FOUND: u16 = 404;

/// Whether a variable, as `NAME=value`, is one that published profiles ask for.
pub fn is_profile_variable(variable: &str) -> bool {
    variable.starts_with(VARIABLES)
}

/// A profile that the run has published.
pub(super) struct PublishedProfile {
    pub template: ProfileTemplate,
    /// The name of its member.
    pub member: String,
    pub object: ObjectRef,
    /// Whether the consumer selects it.
    pub is_selected: bool,
    pub addresses: BTreeMap<char, MemberAddress>,
    /// The URL before the member moved.
    pub previous_url: Option<String>,
    pub proxy: Option<String>,
    other_ca: Option<String>,
    /// The number in the plugin configuration: another one needs another credential.
    pub round: usize,
    pub heartbeat: usize,
    /// When heartbeats were sent.
    pub heartbeats: Vec<Timestamp>,
    created: Timestamp,
    /// When the API server answered the last write that changes what the consumer should do with it.
    pub changed_at: Timestamp,
    /// The profile as the API server stored it last.
    pub stored: Value,
    pub deletion: Deletion,
}

/// Whether a published profile was deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deletion {
    NotDeleted,
    /// Finalizers hold it.
    Terminating,
    /// It no longer exists, since then.
    Deleted(Timestamp),
}

impl PublishedProfile {
    fn new(
        member: String,
        template: ProfileTemplate,
        stored: Value,
        created: Timestamp,
        previous_url: Option<String>,
    ) -> Self {
        Self {
            template,
            member,
            object: ObjectRef::of_value(&stored, ObjectKind::ClusterProfile.name()),
            is_selected: matches!(
                template.location,
                ProfileLocation::Selected | ProfileLocation::SecondNamespace
            ),
            addresses: BTreeMap::new(),
            previous_url,
            proxy: None,
            other_ca: None,
            round: 0,
            heartbeat: 0,
            heartbeats: Vec::new(),
            created,
            changed_at: created,
            stored,
            deletion: Deletion::NotDeleted,
        }
    }

    pub(super) fn key(&self) -> ObjectKey {
        ObjectKey::from(&self.object)
    }

    /// The URL of an address, as the profile has it. None if the profile has no address of that letter.
    pub(super) fn url(&self, letter: char) -> Option<String> {
        let address = self.addresses.get(&letter)?;
        let entry = self.template.entries.iter().find(|entry| entry.address == letter);
        let fields = entry.map(|entry| json_of(entry.cluster)).unwrap_or_default();
        let server = fields["server"].as_str().unwrap_or(&address.url);
        Some(server.to_owned())
    }

    /// The status, as the API has it.
    fn status(&self, provider: &str) -> Value {
        let since = self.created.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let mut status = json!({
            "version": {"kubernetes": "v1.34.2"},
            "properties": [property("beats", self.heartbeat)],
            "conditions": [
                condition(CONDITION_HEALTHY, self.template.health, &since),
                condition(CONDITION_JOINED, "True", &since),
            ],
            "accessProviders": [],
        });
        for entry in self.template.entries {
            let Some(cluster) = self.cluster(entry) else {
                continue;
            };
            let name = if entry.known { provider } else { UNKNOWN_PROVIDER };
            let list = if entry.deprecated {
                "credentialProviders"
            } else {
                "accessProviders"
            };
            let mut entries = status[list].as_array().cloned().unwrap_or_default();
            entries.push(json!({"name": name, "cluster": cluster}));
            status[list] = entries.into();
        }
        if self.template.unknown_values {
            let mut conditions = status["conditions"].as_array().cloned().unwrap_or_default();
            conditions.push(condition("conformance.example/Undefined", "True", &since));
            status["conditions"] = conditions.into();
            let properties =
                (0..MANY_PROPERTIES).map(|number| property(&format!("property-{number}"), number));
            status["properties"] = properties.collect();
            status["version"] = json!({});
        }
        status
    }

    /// The cluster of an entry, as in a kubeconfig.
    fn cluster(&self, entry: &AccessTemplate) -> Option<Value> {
        let address = self.addresses.get(&entry.address)?;
        let ca = self.other_ca.as_ref().filter(|_| entry.other_authority);
        let mut cluster = json!({
            "server": address.url,
            "certificate-authority-data": ca.unwrap_or(&address.ca_data),
        });
        if let Some(name) = &address.server_name {
            cluster["tls-server-name"] = name.as_str().into();
        }
        if let Some(proxy) = self.proxy.as_ref().filter(|_| entry.proxy) {
            cluster["proxy-url"] = proxy.as_str().into();
        }
        for (field, value) in json_of(entry.cluster).as_object().into_iter().flatten() {
            cluster[field] = value.clone();
        }
        let own = json!({"member": address.member, "round": self.round});
        let mut extensions = BTreeMap::from([(EXTENSION_EXEC, own)]);
        for (name, content) in entry.extensions {
            extensions.insert(name, json_of(&content.replace("$MEMBER", &address.member)));
        }
        let extensions = extensions.into_iter();
        cluster["extensions"] = extensions
            .map(|(name, content)| json!({"name": name, "extension": content}))
            .collect();
        Some(cluster)
    }
}

impl Player<'_> {
    /// The name of a profile, and of its member.
    pub(super) fn name(&self, key: &str) -> String {
        format!("conformance-{}-{key}", self.plan.run)
    }

    /// The first namespace of the consumer.
    pub(super) fn namespace(&self) -> String {
        let first = self.plan.claims.namespaces.first();
        first.cloned().unwrap_or_default()
    }

    fn namespace_of(&self, location: ProfileLocation) -> Option<String> {
        let second = self.plan.claims.namespaces.iter().nth(1);
        let unselected = self.plan.unselected.as_ref();
        match location {
            ProfileLocation::Selected | ProfileLocation::Unlabelled => Some(self.namespace()),
            ProfileLocation::SecondNamespace => second.cloned(),
            ProfileLocation::Unselected => unselected.cloned(),
            ProfileLocation::Elsewhere => second.or(unselected).cloned(),
        }
    }

    /// Creates a profile, writes its status, names it in the decision, and gives the consumer work. False if the API server
    /// refuses it.
    pub(super) async fn publish(&mut self, key: &str, template: ProfileTemplate) -> bool {
        self.create(key, template).await && self.complete(key).await
    }

    /// Creates a profile without a status.
    pub(super) async fn create(&mut self, key: &str, template: ProfileTemplate) -> bool {
        let Some(namespace) = self.namespace_of(template.location) else {
            return false;
        };
        if self.is_stopped() || self.missing_namespaces.contains(&namespace) {
            return false;
        }
        let previous = self.profiles.get(key);
        let previous_url = previous.and_then(|profile| profile.url('a'));
        let object_key = ObjectKey {
            namespace,
            name: self.name(template.name.unwrap_or(key)),
        };
        let object = self.new_object(&object_key, &template);
        let sent = self.now();
        let created = self
            .writes
            .create(ObjectKind::ClusterProfile, &object_key, object)
            .await;
        let stored = match created {
            Ok(stored) => stored,
            Err(failure) => {
                self.creation_refused(key, &object_key.namespace, &failure);
                return false;
            }
        };
        let profile = PublishedProfile::new(self.name(key), template, stored, sent, previous_url);
        self.profiles.insert(key.to_owned(), profile);
        self.record_profile(key, sent);
        true
    }

    fn new_object(&self, key: &ObjectKey, template: &ProfileTemplate) -> Value {
        let mut labels = json!({LABEL_MANAGER: OURSELVES, LABEL_RUN: self.plan.run});
        if template.location != ProfileLocation::Unlabelled {
            for (name, value) in &self.plan.claims.labels {
                labels[name] = value.as_str().into();
            }
        }
        // An identity names the run, so that it is found in the consumer's log.
        match template.identity {
            Some("") => labels[LABEL_MEMBER_ID] = "".into(),
            Some(identity) => labels[LABEL_MEMBER_ID] = self.name(identity).into(),
            None => {}
        }
        json!({
            "metadata": {"namespace": key.namespace, "name": key.name, "labels": labels},
            "spec": {"displayName": key.name, "clusterManager": {"name": OURSELVES}},
        })
    }

    /// Reports once that a namespace is missing.
    fn creation_refused(&mut self, key: &str, namespace: &str, failure: &Failure) {
        if failure.code() != NOT_FOUND {
            return self.warn(&format!("the API server refuses the profile {key}: {failure}"));
        }
        if self.missing_namespaces.insert(namespace.to_owned()) {
            self.warn(&format!(
                "there is no namespace {namespace}, or no ClusterProfiles: create it, or name another one"
            ));
        }
    }

    /// Writes the status of a created profile, names it in the decision, and gives the consumer work. Deletes the profile if the
    /// API server refuses its status: without a status it tests something else.
    pub(super) async fn complete(&mut self, key: &str) -> bool {
        if !self.profiles.contains_key(key) {
            return false;
        }
        if self.open_addresses(key).await && self.write_status(key).await && self.decide_first(key).await {
            self.work(key).await;
            return true;
        }
        self.delete(key).await;
        self.profiles.remove(key);
        false
    }

    /// Opens the addresses that the entries of a profile need and that are not open yet. False if one cannot be opened.
    pub(super) async fn open_addresses(&mut self, key: &str) -> bool {
        let Some(profile) = self.profiles.get(key) else {
            return false;
        };
        let (entries, open) = (profile.template.entries, profile.addresses.clone());
        for entry in entries.iter().filter(|entry| !open.contains_key(&entry.address)) {
            if let Err(error) = self.open_entry(key, entry).await {
                self.warn(&format!("cannot open an address of the member {key}: {error}"));
                return false;
            }
        }
        true
    }

    async fn open_entry(&mut self, key: &str, entry: &AccessTemplate) -> Result<(), OfferError> {
        let members = &self.plan.members;
        let shared = entry.shares.and_then(|other| self.profiles.get(other));
        let new = NewAddress {
            server_name: entry.server_name.map(str::to_owned),
            beside: shared.and_then(|profile| profile.url('a')),
            ..self.new_address(key)
        };
        let address = members.open(&new).await?;
        let other_ca = if entry.other_authority {
            Some(members.open(&self.new_address(AUTHORITY)).await?.ca_data)
        } else {
            None
        };
        let proxy = if entry.proxy {
            Some(members.open_proxy().await?)
        } else {
            None
        };
        if let Some(profile) = self.profiles.get_mut(key) {
            profile.addresses.insert(entry.address, address);
            profile.other_ca = other_ca;
            profile.proxy = proxy;
        }
        Ok(())
    }

    fn new_address(&self, key: &str) -> NewAddress {
        NewAddress {
            member: self.name(key),
            ..NewAddress::default()
        }
    }

    /// Moves the member of a profile to a new address, and writes that into the profile.
    pub(super) async fn move_member(&mut self, key: &str) {
        let Some(profile) = self.profiles.get_mut(key) else {
            return;
        };
        profile.previous_url = profile.url('a');
        profile.addresses.remove(&'a');
        profile.round += 1;
        if self.open_addresses(key).await {
            self.change(key).await;
        }
    }

    /// Writes the status of a profile after a change of what the consumer should do with it, and gives the consumer work.
    pub(super) async fn change(&mut self, key: &str) {
        self.close_expectations(key);
        if self.write_status(key).await {
            self.work(key).await;
        }
    }

    /// Writes a heartbeat: a status that does not change what the consumer should do.
    pub(super) async fn heartbeat(&mut self, key: &str) {
        let sent = self.now();
        if let Some(profile) = self.profiles.get_mut(key) {
            profile.heartbeat += 1;
            profile.heartbeats.push(sent);
            let changed_at = profile.changed_at;
            self.write_status(key).await;
            self.set_changed(key, changed_at);
        }
    }

    pub(super) fn set_changed(&mut self, key: &str, at: Timestamp) {
        if let Some(profile) = self.profiles.get_mut(key) {
            profile.changed_at = at;
        }
    }

    /// Writes the status of a profile. False if the API server refuses it.
    pub(super) async fn write_status(&mut self, key: &str) -> bool {
        let provider = self.plan.claims.providers.first().cloned().unwrap_or_default();
        let Some(profile) = self.profiles.get(key) else {
            return false;
        };
        let (object, status) = (profile.object.clone(), profile.status(&provider));
        let sent = self.now();
        let written = self.writes.set_status(&object, &status).await;
        let answered = self.now();
        match written {
            Ok(stored) => {
                if let Some(profile) = self.profiles.get_mut(key) {
                    profile.stored = stored;
                    profile.changed_at = answered;
                }
                self.record_profile(key, sent);
                true
            }
            Err(failure) => {
                let message = format!("the API server refuses the status of {}: {failure}", object.name);
                // API servers differ in what they store.
                match failure.code() {
                    UNPROCESSABLE => self.context.progress.step(&message),
                    _ => self.warn(&message),
                }
                false
            }
        }
    }

    /// Records the stored profile as a publication.
    fn record_profile(&mut self, key: &str, sent: Timestamp) {
        let Some(profile) = self.profiles.get(key) else {
            return;
        };
        let object = profile.key();
        if let Ok(stored) = serde_json::from_value(profile.stored.clone()) {
            self.record(object, sent, Published::Profile(Box::new(stored)));
        }
    }

    /// Records the API server's response to a write.
    pub(super) fn record(&mut self, object: ObjectKey, sent: Timestamp, state: Published) {
        self.testbed.published.push(Publication {
            object,
            sent,
            answered: self.now(),
            state,
        });
    }
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).expect("the table has JSON")
}

fn property(name: &str, value: usize) -> Value {
    json!({"name": format!("{name}.conformance.example"), "value": value.to_string()})
}

fn condition(kind: &str, status: &str, since: &str) -> Value {
    json!({"type": kind, "status": status, "reason": "Published", "message": "", "lastTransitionTime": since})
}
