//! The world: all that the manager will do, before it does any of it.

use std::{collections::BTreeMap, time::Duration};

use apiserver::new_token;
use evidence::api::{
    Labels,
    names::{
        LABEL_CLUSTERSET, LABEL_CONSUMER, LABEL_MANAGER, LABEL_MEMBER_ID, LABEL_SECRET_PROFILE,
        LABEL_SECRET_PROFILE_NAMESPACE, SECRET_CONFIG_KEY,
    },
};
use jiff::Timestamp;
use judge::rules::example::{PublishedObject, Violation};
use serde_json::{Value, json};

use super::{
    access::Access,
    driven::Misbehaviours,
    kubeconfig::kubeconfig,
    members::{ASKABLE, CONSUMERS, FLEET, MEMBERS, Member, SET, SET_NAMESPACE},
    script::{Action, Step, life},
    status::{Status, cluster_properties, custom_resource_groups},
};
use crate::{
    client::Via,
    member::{MemberState, Property, StandIn},
};

/// The name of the cluster manager, and of its field manager.
pub(super) const MANAGER: &str = "reference-manager";

/// The manager's world: what it publishes first, and its script.
pub struct World {
    /// When the manager first observed its members.
    pub(super) now: Timestamp,
    pub(super) namespaces: Vec<Namespace>,
    pub(super) profiles: Vec<Profile>,
    pub(super) secrets: Vec<Secret>,
    /// The first states of members with a stand-in, by name.
    pub(super) states: BTreeMap<String, MemberState>,
    /// Hosts and ports of former members, where nothing answers.
    pub(super) deserted: Vec<String>,
    pub(super) script: Vec<Step>,
    /// Misbehaviour with members of the remote control.
    pub(super) misbehaviours: Misbehaviours,
}

/// A namespace that the manager needs.
pub(super) struct Namespace {
    pub name: String,
    pub labels: Labels,
}

/// A profile that the manager publishes.
#[derive(Clone)]
pub(super) struct Profile {
    /// The member's name, by which steps refer to the profile. A fault may change the profile's own name.
    pub member: String,
    pub namespace: String,
    pub name: String,
    pub labels: Labels,
    /// `spec.clusterManager.name`
    pub manager: String,
    /// The field manager of every write.
    pub writer: String,
    /// The user that creates it; `None` for the manager's own.
    pub creator: Option<String>,
    /// The user that writes its status; `None` for the manager's own.
    pub updater: Option<String>,
    pub status: Status,
    /// The profile's generation in the hub's last answer.
    pub generation: i64,
    /// The status last written.
    pub written: Option<Status>,
    /// A merge patch by which a fault changes what is published.
    pub patch: Value,
    /// True if it is created a second after the profile before it.
    pub is_younger: bool,
}

/// A Secret with a consumer's credentials.
#[derive(Clone)]
pub(super) struct Secret {
    pub namespace: String,
    pub name: String,
    pub labels: Labels,
    /// The data key of the kubeconfig.
    pub key: String,
    pub kubeconfig: Value,
    /// How the member knows the token.
    pub login: Login,
    /// The member that it gives access to. It is created and deleted with the member.
    pub member: String,
}

/// How a member knows the token of a Secret.
#[derive(Clone)]
pub(super) struct Login {
    pub token: String,
    /// The user's name.
    pub called: String,
    /// The user whose rights it has: [`StandIn::CONSUMER`] or [`StandIn::CLUSTER_ADMIN`].
    pub rights: &'static str,
}

impl World {
    /// The world that breaks no rule, as of `now`.
    pub(super) fn conforming(now: Timestamp) -> Self {
        let mut world = Self {
            script: life(),
            ..Self::without_fleet(now)
        };
        for (number, member) in MEMBERS.iter().enumerate() {
            if ASKABLE.contains(&member.name) {
                world
                    .states
                    .insert(member.name.to_owned(), state_of(member, number));
            }
            world.publish(Profile::of(member, number, MANAGER, now));
        }
        world
    }

    /// A world in which nothing happens: namespaces, and no members.
    pub(super) fn without_fleet(now: Timestamp) -> Self {
        Self {
            now,
            namespaces: namespaces(),
            profiles: Vec::new(),
            secrets: Vec::new(),
            states: BTreeMap::new(),
            deserted: Vec::new(),
            script: Vec::new(),
            misbehaviours: Misbehaviours::default(),
        }
    }

    /// Adds a profile, and its Secret for each consumer.
    pub(super) fn publish(&mut self, profile: Profile) {
        for consumer in CONSUMERS {
            self.secrets.push(Secret::of(&profile, consumer));
        }
        self.profiles.push(profile);
    }

    /// The profile of that member.
    pub(super) fn profile(&mut self, member: &str) -> &mut Profile {
        self.profiles
            .iter_mut()
            .find(|profile| profile.member == member)
            .expect("steps and faults name members of the fleet")
    }

    /// The first state of the member.
    pub(super) fn state(&mut self, member: &str) -> &mut MemberState {
        self.states
            .get_mut(member)
            .expect("faults that tell on members name those that can be asked")
    }

    /// Changes the Secret of that member for that consumer, if it exists.
    pub(super) fn alter_secret(&mut self, member: &str, consumer: &str, change: impl FnMut(&mut Secret)) {
        let namespace = consumer_namespace(consumer);
        self.secrets
            .iter_mut()
            .filter(|secret| secret.member == member && secret.namespace == namespace)
            .for_each(change);
    }

    /// Removes a member's profile, and its Secrets.
    pub(super) fn unpublish(&mut self, member: &str) {
        self.profiles.retain(|profile| profile.member != member);
        self.secrets.retain(|secret| secret.member != member);
    }

    /// The profile of one more member.
    pub(super) fn another_member(&self, name: &str, namespace: &str, manager: &str) -> Profile {
        let member = Member {
            name,
            namespace,
            location: "europe-central2",
            kubernetes: "v1.34.2",
            nodes: 3,
        };
        Profile::of(&member, self.profiles.len(), manager, self.now)
    }

    /// Adds a step that sends a merge patch for the member's profile.
    pub(super) fn request(&mut self, at: Duration, member: &str, by: &str, via: Via, patch: Value) {
        let (by, member) = (by.to_owned(), member.to_owned());
        self.script.push(Step {
            at,
            member,
            action: Action::Request { by, via, patch },
        });
    }

    /// Adds a step that changes the knowledge of the member.
    pub(super) fn observe(
        &mut self,
        at: Duration,
        member: &str,
        change: impl Fn(&mut Status, Timestamp) + Send + Sync + 'static,
    ) {
        self.script.push(Step::observe(at, member, change));
    }

    /// Publishes an object of an example as the profile of one more member. `turn` tells the examples of a world apart.
    fn publish_object(&mut self, object: &PublishedObject, namespace: &str, turn: usize) {
        let manager = object.patch.pointer("/spec/clusterManager/name");
        let manager = manager.and_then(Value::as_str).unwrap_or(MANAGER);
        let mut profile = self.another_member(&member_of(object, turn), namespace, manager);
        profile.name = match object.patch.pointer("/metadata/generateName") {
            // The example is about the name.
            Some(_) => object.name.clone(),
            None => format!("{manager}-{}-{turn}", object.name),
        };
        // The field manager stays the same, whatever manager the example names.
        profile.writer = MANAGER.to_owned();
        profile.patch = object.patch.clone();
        profile.is_younger = !object.is_dated;
        self.publish(profile);
    }

    /// The members that join later, and how long after the start.
    pub(super) fn joining(&self) -> BTreeMap<String, Duration> {
        self.script
            .iter()
            .filter(|step| matches!(step.action, Action::Join))
            .map(|step| (step.member.clone(), step.at))
            .collect()
    }
}

impl Profile {
    /// The profile of a member, by a cluster manager whose name is its field manager too.
    pub(super) fn of(member: &Member<'_>, number: usize, manager: &str, now: Timestamp) -> Self {
        Self {
            member: member.name.to_owned(),
            namespace: member.namespace.to_owned(),
            name: format!("{manager}-{}", member.name),
            labels: BTreeMap::from([
                (LABEL_MANAGER.to_owned(), manager.to_owned()),
                (LABEL_MEMBER_ID.to_owned(), member.name.to_owned()),
            ]),
            manager: manager.to_owned(),
            writer: manager.to_owned(),
            creator: None,
            updater: None,
            status: Status::of(member, number, now),
            generation: 1,
            written: None,
            patch: json!({}),
            is_younger: false,
        }
    }

    /// The object to create, without the status, which the hub would drop.
    pub(super) fn to_json(&self) -> Value {
        let mut object = json!({
            "metadata": {"namespace": self.namespace, "name": self.name, "labels": self.labels},
            "spec": {
                "displayName": format!("Cluster {}", self.member),
                "clusterManager": {"name": self.manager},
            },
        });
        json_patch::merge(&mut object, &parts(&self.patch, &["metadata", "spec"]));
        object
    }
}

impl Secret {
    /// A consumer's Secret for a profile's member, with a new token.
    pub(super) fn of(profile: &Profile, consumer: &str) -> Self {
        let (namespace, name) = (&profile.namespace, &profile.name);
        let status = &profile.status;
        let member = &profile.member;
        // Another fault may have removed all access providers.
        let unpublished = Access::to(member, "");
        let access = status.access.first().unwrap_or(&unpublished);
        Self::opening(member, (namespace, name), access, consumer, &new_token())
    }

    /// A consumer's Secret for a member, with this token. `profile` is a namespace and a name.
    pub(super) fn opening(
        member: &str,
        profile: (&str, &str),
        access: &Access,
        consumer: &str,
        token: &str,
    ) -> Self {
        let mut secret = Self {
            namespace: consumer_namespace(consumer),
            name: String::new(),
            labels: Labels::new(),
            key: SECRET_CONFIG_KEY.to_owned(),
            kubeconfig: kubeconfig(access, consumer, token),
            login: Login {
                token: token.to_owned(),
                called: consumer.to_owned(),
                rights: StandIn::CONSUMER,
            },
            member: member.to_owned(),
        };
        secret.refer_to(profile);
        secret
    }

    /// Replaces the token by another that the member knows.
    pub(super) fn renew(&mut self, token: &str) {
        self.login.token = token.to_owned();
        self.kubeconfig["users"][0]["user"] = json!({"token": token});
    }

    /// Sets the name and labels for a profile of that namespace and name.
    fn refer_to(&mut self, (namespace, name): (&str, &str)) {
        self.name = format!("{namespace}.{name}");
        self.labels = BTreeMap::from([
            (LABEL_SECRET_PROFILE.to_owned(), name.to_owned()),
            (LABEL_SECRET_PROFILE_NAMESPACE.to_owned(), namespace.to_owned()),
        ]);
    }
}

impl World {
    /// Publishes the profiles of an example, each as that of one more member.
    pub(super) fn publish_example(&mut self, example: &Violation) {
        let turn = self.profiles.len();
        let of_namespace = |name: &str| match name {
            "default" if !example.namespaces.contains_key(name) => FLEET.to_owned(),
            name => format!("lab-{name}"),
        };
        for object in &example.profiles {
            let namespace = of_namespace(&object.namespace);
            if self.namespaces.iter().all(|known| known.name != namespace) {
                let labels = example.namespaces.get(&object.namespace);
                self.namespaces.push(Namespace {
                    name: namespace.clone(),
                    labels: labels.cloned().unwrap_or_default(),
                });
            }
            self.publish_object(object, &namespace, turn);
        }
        for (after, change) in &example.changes {
            let member = member_of(change, turn);
            let request = |fields: &[&str]| parts(&change.patch, fields);
            for (via, patch) in [
                (Via::Object, request(&["metadata", "spec"])),
                (Via::Status, request(&["status"])),
            ] {
                if patch != json!({}) {
                    self.request(*after, &member, MANAGER, via, patch);
                }
            }
        }
    }
}

/// The name of the member whose profile an object of an example is.
fn member_of(object: &PublishedObject, turn: usize) -> String {
    match object.namespace.as_str() {
        "default" => format!("{}-{turn}", object.name),
        namespace => format!("{}-{namespace}-{turn}", object.name),
    }
}

/// These fields of a merge patch.
pub(super) fn parts(patch: &Value, fields: &[&str]) -> Value {
    let all = patch.as_object().into_iter().flatten();
    let some = all.filter(|(field, _)| fields.contains(&field.as_str()));
    some.map(|(field, value)| (field.clone(), value.clone()))
        .collect()
}

/// The state of a member that agrees with its profile.
fn state_of(member: &Member<'_>, number: usize) -> MemberState {
    let properties = cluster_properties(member, number);
    MemberState {
        version: member.kubernetes.to_owned(),
        nodes: member.nodes,
        custom_resource_groups: custom_resource_groups(number),
        cluster_properties: properties
            .iter()
            .map(|(name, value)| Property::labelled(name, value))
            .collect(),
        ..MemberState::default()
    }
}

/// The namespace of a consumer's Secrets.
pub(super) fn consumer_namespace(consumer: &str) -> String {
    format!("{consumer}-credentials")
}

fn namespaces() -> Vec<Namespace> {
    let mut namespaces = vec![
        Namespace::new(FLEET, []),
        Namespace::new(SET_NAMESPACE, [(LABEL_CLUSTERSET, SET)]),
    ];
    for consumer in CONSUMERS {
        namespaces.push(Namespace::new(
            &consumer_namespace(consumer),
            [(LABEL_CONSUMER, consumer)],
        ));
    }
    namespaces
}

impl Namespace {
    pub(super) fn new<const N: usize>(name: &str, labels: [(&str, &str); N]) -> Self {
        Self {
            name: name.to_owned(),
            labels: labels
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect(),
        }
    }
}
