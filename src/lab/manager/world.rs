//! The world: the members, what the manager publishes of them, and what happens when.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use apiserver::new_token;
use base64::{Engine, prelude::BASE64_STANDARD};
use collect::clock::Clock;
use evidence::api::{
    Labels,
    names::{
        LABEL_CLUSTERSET, LABEL_CONSUMER, LABEL_MANAGER, LABEL_MEMBER_ID, LABEL_SECRET_PROFILE,
        LABEL_SECRET_PROFILE_NAMESPACE, PROPERTY_ENDPOINTS, SECRET_CONFIG_KEY,
    },
};
use judge::rules::example::{PublishedObject, Violation};
use k8s_openapi::api::core::v1;
use kube::{Client, api::ApiResource};
use serde_json::{Value, json};

use super::{
    MANAGER, faults,
    members::{
        CONSUMERS, FIRST_TO_JOIN, FLEET, LEAVER, MEMBERS, MemberSpec, OUTAGE, SECOND_TO_JOIN, SET,
        SET_NAMESPACE, UPGRADED, ca_data, host, kubeconfig, profile_name, server,
    },
};
use crate::{
    client::{HubClient, ObjectTarget, RequestError, Via, minutes},
    fault::{Fault, Faults},
    member::{FakeMember, MemberState},
};

/// The time from the creation of a profile to its first status.
const REGISTRATION: Duration = Duration::from_secs(20);
/// The time from a change of a member to the update of its profile.
pub(super) const LAG: Duration = Duration::from_secs(10);
/// The check that fails during the outage.
const BROKEN_CHECK: &str = "etcd";

/// The manager's world: the fleet at first, and its script.
#[derive(Clone)]
pub(super) struct ManagerWorld {
    pub namespaces: BTreeMap<String, Labels>,
    /// The members of the fleet, in the order in which their profiles are created.
    pub fleet: Vec<FleetMember>,
    pub secrets: Vec<CredentialSecret>,
    /// The members of the fleet by name.
    pub fake_members: BTreeMap<String, FakeMember>,
    /// Hosts and ports of former members, where nothing answers.
    pub deserted: Vec<String>,
    pub script: Vec<ManagerStep>,
    pub faults: Faults,
}

/// A member, and the profile that the manager publishes of it.
#[derive(Clone)]
pub(super) struct FleetMember {
    /// Its name, by which steps refer to it. A fault may change the profile's own name.
    pub name: String,
    /// A client whose user may do everything.
    pub client: Client,
    /// The certificate of its authority, in base64.
    pub ca_data: String,
    pub proxy: Option<&'static str>,
    /// Names and values of the properties that the manager knows without asking the member.
    pub known_properties: Vec<(&'static str, String)>,
    /// The profile's namespace and name.
    pub namespace: String,
    pub profile: String,
    pub labels: Labels,
    /// `spec.clusterManager.name`
    pub manager: String,
    /// The field manager of every write.
    pub writer: String,
    /// The user that creates the profile; `None` for the manager's own.
    pub creator: Option<String>,
    /// The user that writes its status; `None` for the manager's own.
    pub updater: Option<String>,
    /// A merge patch by which an example changes what is published.
    pub patch: Value,
    /// True if it is created a second after the profile before it.
    pub is_younger: bool,
}

/// A Secret with a consumer's credentials.
#[derive(Clone)]
pub(super) struct CredentialSecret {
    pub namespace: String,
    pub name: String,
    pub labels: Labels,
    /// The data key of the kubeconfig.
    pub key: String,
    pub kubeconfig: Value,
    /// The token that the member knows, its user, and the user whose rights it has: [`FakeMember::CONSUMER`] or
    /// [`FakeMember::CLUSTER_ADMIN`].
    pub token: String,
    pub user: String,
    pub rights: &'static str,
    /// The member that it gives access to. It is created and deleted with the member.
    pub member: String,
}

/// A step of the script, at a time after the manager's start.
#[derive(Clone)]
pub(super) struct ManagerStep {
    pub at: Duration,
    /// The member's name.
    pub member: String,
    pub action: ManagerAction,
}

/// An event of a member, or a request that a fault adds.
#[derive(Clone)]
pub(super) enum ManagerAction {
    /// It joins: the manager creates its profile, without a status, and its Secrets.
    Join,
    /// The manager observes it, and writes the status if it changed.
    Observe,
    /// It leaves: the manager deletes its Secrets and its profile.
    Leave,
    /// The member itself changes. The manager sees that when it observes the member.
    Happen(MemberChange),
    /// This field manager sends this merge patch.
    Request {
        by: &'static str,
        via: Via,
        patch: Value,
    },
}

/// A change of a member itself.
pub(super) type MemberChange = Arc<dyn Fn(&mut MemberState) + Send + Sync>;

impl ManagerWorld {
    /// The world that breaks no rule but those of the faults.
    pub(super) fn conforming(faults: Vec<Fault>, clock: Clock) -> Self {
        let mut world = Self::without_fleet(faults.clone());
        for (number, spec) in MEMBERS.iter().enumerate() {
            world.publish(spec, number, MANAGER, clock, |_| {});
        }
        world.happen_to_fleet();
        for fault in &faults {
            faults::apply(fault.info().id, &mut world, clock);
            for request in &fault.info().requests {
                let (by, via) = (request.by.unwrap_or(MANAGER), Via::of_status(request.status));
                for (at, patch) in request.sent() {
                    world.step(at, request.of, ManagerAction::Request { by, via, patch });
                }
            }
            if let Some(example) = fault.example(clock.now()) {
                world.publish_example(&example, clock);
            }
        }
        for secret in &world.secrets {
            // A Secret may give access to another member than its profile's.
            let address = &secret.kubeconfig["clusters"][0]["cluster"]["server"];
            let mut members = world.fake_members.values();
            if let Some(member) = members.find(|member| *address == server(member.name())) {
                member.admit(&secret.token, &secret.user, secret.rights);
            }
        }
        world
    }

    /// A world in which nothing happens: namespaces, and no members.
    pub(super) fn without_fleet(faults: Vec<Fault>) -> Self {
        let label = |name: &str, value: &str| Labels::from([(name.to_owned(), value.to_owned())]);
        let mut namespaces = BTreeMap::from([
            (FLEET.to_owned(), Labels::new()),
            (SET_NAMESPACE.to_owned(), label(LABEL_CLUSTERSET, SET)),
        ]);
        for consumer in CONSUMERS {
            namespaces.insert(consumer_namespace(consumer), label(LABEL_CONSUMER, consumer));
        }
        Self {
            namespaces,
            fleet: Vec::new(),
            secrets: Vec::new(),
            fake_members: BTreeMap::new(),
            deserted: Vec::new(),
            script: Vec::new(),
            faults: Faults::new(faults),
        }
    }

    /// Half an hour of an ordinary fleet, without the changes of node counts.
    fn happen_to_fleet(&mut self) {
        for (member, at) in [
            (FIRST_TO_JOIN, Duration::from_secs(60)),
            (SECOND_TO_JOIN, Duration::from_secs(150)),
        ] {
            self.step(at, member, ManagerAction::Join);
            self.step(at + REGISTRATION, member, ManagerAction::Observe);
        }
        self.happen(minutes(8), OUTAGE, |member| {
            member.failing_checks.insert(BROKEN_CHECK.to_owned());
        });
        self.step(minutes(8), OUTAGE, ManagerAction::Observe);
        self.happen(minutes(12), OUTAGE, |member| member.failing_checks.clear());
        self.step(minutes(12), OUTAGE, ManagerAction::Observe);
        self.step(minutes(15), LEAVER, ManagerAction::Leave);
        self.happen(minutes(20), UPGRADED, |member| {
            member.version = "v1.35.0".to_owned()
        });
        self.step(minutes(20), UPGRADED, ManagerAction::Observe);
    }

    pub(super) fn step(&mut self, at: Duration, member: &str, action: ManagerAction) {
        let member = member.to_owned();
        self.script.push(ManagerStep { at, member, action });
    }

    /// Adds a step in which a member changes, so early that the manager can see it at this time.
    pub(super) fn happen(
        &mut self,
        seen_at: Duration,
        member: &str,
        event: impl Fn(&mut MemberState) + Send + Sync + 'static,
    ) {
        self.step(seen_at - LAG, member, ManagerAction::Happen(Arc::new(event)));
    }

    /// Adds a step in which the manager sends a merge patch for the member's profile.
    pub(super) fn request(&mut self, at: Duration, member: &str, via: Via, patch: Value) {
        let by = MANAGER;
        self.step(at, member, ManagerAction::Request { by, via, patch });
    }

    /// The member of that name.
    pub(super) fn member(&mut self, name: &str) -> &mut FleetMember {
        let mut members = self.fleet.iter_mut();
        members
            .find(|member| member.name == name)
            .expect("faults name members of the fleet")
    }

    /// Adds a member, its Secret for each consumer, and its profile, which `change` may change.
    fn publish(
        &mut self,
        spec: &MemberSpec<'_>,
        number: usize,
        manager: &str,
        clock: Clock,
        change: impl FnOnce(&mut FleetMember),
    ) {
        let fake_member = FakeMember::new(spec.name, clock, spec.state(number));
        let mut member = FleetMember {
            proxy: spec.proxy(),
            known_properties: spec.known_properties(number),
            namespace: spec.namespace.to_owned(),
            profile: format!("{manager}-{}", spec.name),
            labels: labels(spec.name, manager),
            manager: manager.to_owned(),
            writer: manager.to_owned(),
            ..FleetMember::new(
                spec.name,
                fake_member.client_as(FakeMember::ADMIN, MANAGER),
                ca_data(number).to_owned(),
            )
        };
        change(&mut member);
        self.fake_members.insert(member.name.clone(), fake_member);
        for consumer in CONSUMERS {
            self.secrets
                .push(CredentialSecret::new(&member, consumer, &new_token()));
        }
        self.fleet.push(member);
    }

    /// Adds one more member.
    pub(super) fn publish_another(
        &mut self,
        name: &str,
        namespace: &str,
        manager: &str,
        clock: Clock,
        change: impl FnOnce(&mut FleetMember),
    ) {
        let spec = MemberSpec {
            name,
            namespace,
            location: "europe-central2",
            kubernetes: "v1.34.2",
            nodes: 3,
        };
        self.publish(&spec, self.fleet.len(), manager, clock, change);
    }

    /// Publishes the profiles of an example, each as that of one more member.
    fn publish_example(&mut self, example: &Violation, clock: Clock) {
        // Different for each example of a world.
        let turn = self.fleet.len();
        let member_of = |object: &PublishedObject| match object.namespace.as_str() {
            "default" => format!("{}-{turn}", object.name),
            namespace => format!("{}-{namespace}-{turn}", object.name),
        };
        for object in &example.profiles {
            let namespace = match object.namespace.as_str() {
                "default" if !example.namespaces.contains_key("default") => FLEET.to_owned(),
                name => format!("lab-{name}"),
            };
            let labels = example.namespaces.get(&object.namespace);
            let labels = || labels.cloned().unwrap_or_default();
            self.namespaces.entry(namespace.clone()).or_insert_with(labels);
            let manager = object.patch.pointer("/spec/clusterManager/name");
            let manager = manager.and_then(Value::as_str).unwrap_or(MANAGER);
            self.publish_another(&member_of(object), &namespace, manager, clock, |member| {
                member.profile = match object.patch.pointer("/metadata/generateName") {
                    // The example is about the name.
                    Some(_) => object.name.clone(),
                    None => format!("{manager}-{}-{turn}", object.name),
                };
                // The field manager stays the same, whatever manager the example names.
                member.writer = MANAGER.to_owned();
                member.patch = object.patch.clone();
                member.is_younger = !object.is_dated;
            });
        }
        for (after, change) in &example.changes {
            for (via, fields) in [
                (Via::Object, &["metadata", "spec"][..]),
                (Via::Status, &["status"]),
            ] {
                let patch = parts(&change.patch, fields);
                if patch != json!({}) {
                    self.request(*after, &member_of(change), via, patch);
                }
            }
        }
    }

    /// The members that join later, and how long after the start.
    pub(super) fn joining(&self) -> BTreeMap<String, Duration> {
        let joins = self
            .script
            .iter()
            .filter(|step| matches!(step.action, ManagerAction::Join));
        joins.map(|step| (step.member.clone(), step.at)).collect()
    }
}

impl FleetMember {
    /// A member that a run has join.
    pub(super) fn new(name: &str, client: Client, ca_data: String) -> Self {
        Self {
            name: name.to_owned(),
            client,
            ca_data,
            proxy: None,
            known_properties: vec![(PROPERTY_ENDPOINTS, json!([host(name)]).to_string())],
            namespace: FLEET.to_owned(),
            profile: profile_name(name),
            labels: labels(name, MANAGER),
            manager: MANAGER.to_owned(),
            writer: MANAGER.to_owned(),
            creator: None,
            updater: None,
            patch: json!({}),
            is_younger: false,
        }
    }

    /// The profile on the hub.
    pub(super) fn target(&self) -> ObjectTarget {
        ObjectTarget::profile(&self.namespace, &self.profile)
    }

    /// The display name of a new profile. Afterwards consumers own it.
    pub(super) fn display_name(&self) -> String {
        format!("Cluster {}", self.name)
    }

    /// The profile to create, without the status, which the hub would drop.
    pub(super) fn to_json(&self, display_name: &str) -> Value {
        let mut object = json!({
            "metadata": {"labels": self.labels},
            "spec": {"displayName": display_name, "clusterManager": {"name": self.manager}},
        });
        json_patch::merge(&mut object, &parts(&self.patch, &["metadata", "spec"]));
        object
    }
}

impl CredentialSecret {
    /// A consumer's Secret for a member, with this token.
    pub(super) fn new(member: &FleetMember, consumer: &str, token: &str) -> Self {
        let (namespace, name) = (&member.namespace, &member.profile);
        Self {
            namespace: consumer_namespace(consumer),
            name: format!("{namespace}.{name}"),
            labels: Labels::from([
                (LABEL_SECRET_PROFILE.to_owned(), name.clone()),
                (LABEL_SECRET_PROFILE_NAMESPACE.to_owned(), namespace.clone()),
            ]),
            key: SECRET_CONFIG_KEY.to_owned(),
            kubeconfig: kubeconfig(&member.name, &member.ca_data, consumer, token),
            token: token.to_owned(),
            user: consumer.to_owned(),
            rights: FakeMember::CONSUMER,
            member: member.name.clone(),
        }
    }

    pub(super) fn target(&self) -> ObjectTarget {
        ObjectTarget::namespaced(ApiResource::erase::<v1::Secret>(&()), &self.namespace, &self.name)
    }

    pub(super) async fn create(&self, hub: &HubClient) -> Result<(), RequestError> {
        let config = serde_saphyr::to_string(&self.kubeconfig).expect("a JSON value can be written as YAML");
        let object = json!({
            "metadata": {"labels": self.labels},
            "type": "Opaque",
            "data": {&self.key: BASE64_STANDARD.encode(config)},
        });
        hub.create(&self.target(), MANAGER, &object).await.map(drop)
    }
}

/// The labels of a member's profile.
fn labels(member: &str, manager: &str) -> Labels {
    Labels::from([
        (LABEL_MANAGER.to_owned(), manager.to_owned()),
        (LABEL_MEMBER_ID.to_owned(), member.to_owned()),
    ])
}

/// The namespace of a consumer's Secrets.
pub(super) fn consumer_namespace(consumer: &str) -> String {
    format!("{consumer}-credentials")
}

/// These fields of a merge patch.
pub(super) fn parts(patch: &Value, fields: &[&str]) -> Value {
    let all = patch.as_object().into_iter().flatten();
    let some = all.filter(|(field, _)| fields.contains(&field.as_str()));
    some.map(|(field, value)| (field.clone(), value.clone()))
        .collect()
}
