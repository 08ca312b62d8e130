//! Publishes profiles: builds the objects, writes them, and records the API server's responses.

use std::collections::BTreeMap;

use evidence::{
    MemberAddress, ObjectKey, ObjectRef, Publication, Published,
    api::{
        ObjectKind,
        names::{CONDITION_HEALTHY, CONDITION_JOINED, EXTENSION_EXEC, LABEL_MEMBER_ID},
    },
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    NewAddress,
    player::Player,
    scenarios::{AccessTemplate, Letter, ProfileLocation, ProfileTemplate},
};
use crate::{connect::RequestFailure, driver::OfferError};

/// The prefix of variables that published profiles ask for.
const VARIABLES: &str = "CONFORMANCE_TESTBED_";
/// A provider that no consumer has a plugin for.
const UNKNOWN_PROVIDER: &str = "unknown.conformance.example";
/// The member that has the other authority.
const AUTHORITY: &str = "authority";
const MANY_PROPERTIES: usize = 150;
const UNPROCESSABLE: u16 = 422;
const NOT_FOUND: u16 = 404;

/// Whether a variable, as `NAME=value`, is one that published profiles ask for.
pub fn is_profile_variable(variable: &str) -> bool {
    variable.starts_with(VARIABLES)
}

pub(super) struct PublishedProfile {
    pub template: ProfileTemplate,
    /// The profile as the API server stored it last.
    pub stored: Value,
    /// By letter. The authority is the one that the profile names.
    addresses: BTreeMap<Letter, OpenAddress>,
    /// The URL before the member moved.
    pub previous_url: Option<String>,
    /// The number in the plugin configuration: another one needs another credential.
    config: usize,
    /// When writes were sent that change no access.
    pub rewrites: Vec<Timestamp>,
    /// When the API server answered the last write that changes what the consumer should do with it.
    pub changed_at: Timestamp,
    pub deletion: Deletion,
}

struct OpenAddress {
    address: MemberAddress,
    proxy: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deletion {
    NotDeleted,
    /// Finalizers hold it.
    Terminating,
    /// It no longer exists, since then.
    Deleted(Timestamp),
}

impl PublishedProfile {
    pub(super) fn object(&self) -> ObjectRef {
        ObjectRef::of_value(&self.stored, ObjectKind::ClusterProfile.name())
    }

    pub(super) fn key(&self) -> ObjectKey {
        ObjectKey::from(&self.object())
    }

    pub(super) fn created_at(&self) -> &Value {
        &self.stored["metadata"]["creationTimestamp"]
    }

    pub(super) fn is_selected(&self) -> bool {
        let location = self.template.location;
        matches!(
            location,
            ProfileLocation::Selected | ProfileLocation::SecondNamespace
        )
    }

    /// The URL of an address, as the profile has it. None if the profile has no address of that letter.
    pub(super) fn url(&self, letter: Letter) -> Option<String> {
        let open = self.addresses.get(&letter)?;
        let mut entries = self.template.entries.iter();
        let entry = entries.find(|entry| entry.address == letter);
        let server = entry.and_then(|entry| entry.cluster.get("server")?.as_str());
        Some(server.unwrap_or(&open.address.url).to_owned())
    }

    pub(super) fn proxy(&self, letter: Letter) -> Option<String> {
        self.addresses.get(&letter)?.proxy.clone()
    }

    fn status(&self, provider: &str) -> Value {
        let since = self.created_at();
        let condition = |kind: &str, status: &str| json!({"type": kind, "status": status, "reason": "Published", "message": "", "lastTransitionTime": since});
        let property = |name: &str, value: usize| json!({"name": format!("{name}.conformance.example"), "value": value.to_string()});
        let entries = |is_deprecated: bool| -> Value {
            let entries = self.template.entries.iter();
            let entries = entries.filter(|entry| entry.deprecated == is_deprecated);
            let entry = |entry: &AccessTemplate| {
                let name = if entry.unknown { UNKNOWN_PROVIDER } else { provider };
                Some(json!({"name": name, "cluster": self.cluster(entry)?}))
            };
            entries.filter_map(entry).collect()
        };
        let mut status = json!({
            "version": {"kubernetes": "v1.34.2"},
            "properties": [property("beats", self.rewrites.len())],
            "conditions": [condition(CONDITION_HEALTHY, &self.template.health), condition(CONDITION_JOINED, "True")],
            "accessProviders": entries(false),
        });
        let deprecated = entries(true);
        if deprecated != json!([]) {
            status["credentialProviders"] = deprecated;
        }
        if self.template.unknown_values {
            let unknown = condition("conformance.example/Undefined", "True");
            status["conditions"].as_array_mut().expect("a list").push(unknown);
            let numbers = 0..MANY_PROPERTIES;
            status["properties"] = numbers
                .map(|number| property(&format!("property-{number}"), number))
                .collect();
            status["version"] = json!({});
        }
        status
    }

    /// The cluster of an entry, as in a kubeconfig.
    fn cluster(&self, entry: &AccessTemplate) -> Option<Value> {
        let OpenAddress { address, proxy } = self.addresses.get(&entry.address)?;
        let mut cluster = json!({"server": address.url, "certificate-authority-data": address.ca_data});
        if let Some(name) = &address.server_name {
            cluster["tls-server-name"] = name.as_str().into();
        }
        if let Some(proxy) = proxy {
            cluster["proxy-url"] = proxy.as_str().into();
        }
        for (field, value) in &entry.cluster {
            cluster[field] = value.clone();
        }
        let config = json!({"member": address.member, "round": self.config});
        let mut extensions = BTreeMap::from([(EXTENSION_EXEC, config)]);
        for (name, content) in &entry.extensions {
            let content = content.to_string().replace("$MEMBER", &address.member);
            let content = serde_json::from_str(&content).expect("names of members need no escape");
            extensions.insert(name, content);
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

    /// The keys of the published profiles that a condition holds for.
    pub(super) fn keys_of(&self, holds: impl Fn(&PublishedProfile) -> bool) -> Vec<String> {
        let profiles = self.profiles.iter().filter(|(_, profile)| holds(profile));
        profiles.map(|(key, _)| key.clone()).collect()
    }

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

    /// Creates a profile, writes its status, names it in the decision, and gives the consumer work. None if the API server
    /// refuses it.
    pub(super) async fn publish(&mut self, template: &ProfileTemplate) -> Option<()> {
        self.create(template).await?;
        self.complete(&template.key).await
    }

    pub(super) async fn create(&mut self, template: &ProfileTemplate) -> Option<()> {
        let namespace = self.namespace_of(template.location)?;
        if self.context.is_stopped() || self.missing_namespaces.contains(&namespace) {
            return None;
        }
        let key = &template.key;
        let name = self.name(template.name.as_ref().unwrap_or(key));
        let object_key = ObjectKey::new(&namespace, &name);
        let created = self.context.now();
        let creating = self.writes.create_profile(&object_key, self.labels(template));
        let stored = match creating.await {
            Ok(stored) => stored,
            Err(failure) => {
                self.creation_refused(key, &object_key.namespace, &failure);
                return None;
            }
        };
        let previous = self.profiles.get(key);
        let profile = PublishedProfile {
            template: template.clone(),
            stored,
            addresses: BTreeMap::new(),
            previous_url: previous.and_then(|profile| profile.url(Letter::A)),
            config: 0,
            rewrites: Vec::new(),
            changed_at: created,
            deletion: Deletion::NotDeleted,
        };
        self.profiles.insert(key.clone(), profile);
        self.record_profile(key, created)
    }

    fn labels(&self, template: &ProfileTemplate) -> BTreeMap<String, String> {
        let mut labels = BTreeMap::new();
        if template.location != ProfileLocation::Unlabelled {
            labels.clone_from(&self.plan.claims.labels);
        }
        // An identity names the run, so that it is found in the consumer's log.
        if let Some(identity) = &template.identity {
            let identity = if identity.is_empty() {
                String::new()
            } else {
                self.name(identity)
            };
            labels.insert(LABEL_MEMBER_ID.to_owned(), identity);
        }
        labels
    }

    /// Reports once that a namespace is missing.
    fn creation_refused(&mut self, key: &str, namespace: &str, failure: &RequestFailure) {
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
    pub(super) async fn complete(&mut self, key: &str) -> Option<()> {
        self.profiles.get(key)?;
        if self.write_change(key).await.is_some() && self.decide_first(key).await {
            self.work(key).await;
            return Some(());
        }
        self.delete(key).await;
        self.profiles.remove(key);
        None
    }

    /// Gives a profile other access providers or another health, and gives the consumer work.
    pub(super) async fn change(
        &mut self,
        key: &str,
        entries: Option<&[AccessTemplate]>,
        health: Option<&str>,
    ) -> Option<()> {
        let template = &mut self.profiles.get_mut(key)?.template;
        if let Some(entries) = entries {
            template.entries = entries.to_vec();
        }
        if let Some(health) = health {
            health.clone_into(&mut template.health);
        }
        self.write_change(key).await?;
        self.work(key).await;
        Some(())
    }

    /// Moves the member of a profile to a new address, and writes that into the profile.
    pub(super) async fn move_member(&mut self, key: &str) -> Option<()> {
        let profile = self.profiles.get_mut(key)?;
        profile.previous_url = profile.url(Letter::A);
        profile.addresses.remove(&Letter::A);
        profile.config += 1;
        self.change(key, None, None).await
    }

    /// Writes a status that changes no access. With another plugin configuration, gives the consumer work.
    pub(super) async fn rewrite(&mut self, key: &str, has_new_config: bool) -> Option<()> {
        let sent = self.context.now();
        let profile = self.profiles.get_mut(key)?;
        profile.rewrites.push(sent);
        profile.config += usize::from(has_new_config);
        self.write_status(key).await?;
        if has_new_config {
            self.work(key).await;
        }
        Some(())
    }

    /// Opens the addresses that a profile needs, and writes its status: from then on, the consumer should do something else with
    /// it. None if the API server refuses the status.
    async fn write_change(&mut self, key: &str) -> Option<()> {
        if let Err(error) = self.open_addresses(key).await {
            self.warn(&format!("cannot open an address of the member {key}: {error}"));
            return None;
        }
        self.close_expectations(key, self.context.now());
        self.write_status(key).await?;
        self.profiles.get_mut(key)?.changed_at = self.context.clock.now();
        Some(())
    }

    /// Opens the addresses that the entries of a profile need and that are not open yet.
    async fn open_addresses(&mut self, key: &str) -> Result<(), OfferError> {
        let Some(profile) = self.profiles.get(key) else {
            return Ok(());
        };
        let mut opened = Vec::new();
        for entry in &profile.template.entries {
            if !profile.addresses.contains_key(&entry.address) {
                opened.push((entry.address, self.open_address(key, entry).await?));
            }
        }
        if let Some(profile) = self.profiles.get_mut(key) {
            profile.addresses.extend(opened);
        }
        Ok(())
    }

    async fn open_address(&self, key: &str, entry: &AccessTemplate) -> Result<OpenAddress, OfferError> {
        let members = &self.plan.members;
        let member = |key: &str| NewAddress {
            member: self.name(key),
            ..NewAddress::default()
        };
        let shared = entry.shares.as_ref().and_then(|name| self.profiles.get(name));
        let new = NewAddress {
            server_name: entry.server_name.clone(),
            shared_url: shared.and_then(|profile| profile.url(Letter::A)),
            ..member(key)
        };
        let mut address = members.open(&new).await?;
        if entry.other_authority {
            address.ca_data = members.open(&member(AUTHORITY)).await?.ca_data;
        }
        let mut proxy = None;
        if entry.proxy {
            proxy = Some(members.open_proxy().await?);
        }
        Ok(OpenAddress { address, proxy })
    }

    /// Writes the status of a profile. None if the API server refuses it.
    async fn write_status(&mut self, key: &str) -> Option<()> {
        let provider = self.plan.claims.providers.first().cloned().unwrap_or_default();
        let profile = self.profiles.get_mut(key)?;
        let sent = self.context.clock.now();
        let object = profile.object();
        match self.writes.set_status(&object, &profile.status(&provider)).await {
            Ok(stored) => {
                profile.stored = stored;
                self.record_profile(key, sent)
            }
            Err(failure) => {
                let message = format!("the API server refuses the status of {}: {failure}", object.name);
                // API servers differ in what they store.
                match failure.code() {
                    UNPROCESSABLE => self.context.progress.step(&message),
                    _ => self.warn(&message),
                }
                None
            }
        }
    }

    fn record_profile(&mut self, key: &str, sent: Timestamp) -> Option<()> {
        let profile = self.profiles.get(key)?;
        let object = profile.key();
        if let Ok(stored) = serde_json::from_value(profile.stored.clone()) {
            self.record(object, sent, Published::Profile(Box::new(stored)));
        }
        Some(())
    }

    /// Records the API server's response to a write.
    pub(super) fn record(&mut self, object: ObjectKey, sent: Timestamp, state: Published) {
        self.testbed.published.push(Publication {
            object,
            sent,
            answered: self.context.now(),
            state,
        });
    }
}
