//! How faults change the world, and the status that the manager computes for its fleet. The controller has those that only
//! a run shows which drives the manager.

use std::time::Duration;

use apiserver::new_token;
use collect::clock::Clock;
use evidence::api::names::{
    CONDITION_HEALTHY, CONDITION_JOINED, LABEL_CLUSTERSET, LABEL_CONSUMER, LABEL_MANAGER, LABEL_MEMBER_ID,
    LABEL_SECRET_PROFILE, LABEL_SECRET_PROFILE_NAMESPACE, PROPERTY_CLUSTERSET, PROPERTY_LOCATION,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{
    members::{
        CONSUMERS, FIRST_TO_JOIN, FLEET, LEAVER, OUTAGE, OWN_PROPERTY, QUIET, QUIET_IN_SET, SET_NAMESPACE,
        UPGRADED,
    },
    status::property,
    world::{CredentialSecret, FleetMember, ManagerAction, ManagerStep, ManagerWorld, consumer_namespace},
};
use crate::{
    client::{Via, minutes, rfc3339},
    fault::Faults,
    member::{FakeMember, Leases, MemberProperty},
};

/// A cluster manager next to the reference manager.
const OTHER: &str = "other-manager";
/// A second manager under the reference manager's name.
const STANDBY: &str = "reference-manager-standby";
/// A namespace that belongs to no consumer.
const STRAY: &str = "lab-stray";
/// A consumer next to those that the manager usually serves.
const UNDECLARED: &str = "lab-audit";
/// A property that changes all the time.
const LOAD: &str = "cpu-load.example.com";
/// An endpoint where nothing answers any more.
const OLD_ENDPOINT: &str = "lisbon-old.clusters.example:6443";
/// Name and value of a ClusterProperty without the label that lets it appear in a profile.
const PRIVATE: (&str, &str) = ("cost-center.clusterprofile-conformance.example", "4711");

/// Changes the world as the fault of that id needs it.
pub(super) fn apply(fault: &str, world: &mut ManagerWorld, clock: Clock) {
    match fault {
        "identity/manager-label-from-creation" => world.label_late(LABEL_MANAGER),
        "identity/member-id-from-creation" => world.label_late(LABEL_MEMBER_ID),
        "identity/manager-unique" | "identity/manager-unique:creation" => {
            let member = world.member(FIRST_TO_JOIN);
            member.creator = Some(STANDBY.to_owned());
            member.writer = STANDBY.to_owned();
            if fault == "identity/manager-unique" {
                member.updater = Some(STANDBY.to_owned());
            }
        }
        "identity/one-manager-per-profile" => {
            world.publish_another("zagreb", FLEET, OTHER, clock, |member| {
                member.creator = Some(OTHER.to_owned());
                member.updater = Some(OTHER.to_owned());
            });
        }
        "identity/expected-profiles" => {
            world.fleet.retain(|member| member.name != "turin");
            world.secrets.retain(|secret| secret.member != "turin");
        }
        // No profile says that the namespace belongs to a ClusterSet: only the flag does.
        "clustersets/namespace-labelled:declared" => {
            if let Some(labels) = world.namespaces.get_mut(SET_NAMESPACE) {
                labels.remove(LABEL_CLUSTERSET);
            }
        }
        // The member itself is still upgraded.
        "version/matches-member:upgrade" => world.unobserve(UPGRADED, Duration::ZERO),
        "properties/clusterset-immutable" => {
            // In a plain inventory, so that the label of no namespace contradicts it.
            world.own_property(MemberProperty::labelled(PROPERTY_CLUSTERSET, "iberia"));
            world.happen(minutes(4), QUIET, |member| {
                let mut properties = member.cluster_properties.iter_mut();
                if let Some(property) = properties.find(|property| property.name == PROPERTY_CLUSTERSET) {
                    property.value = "lusitania".to_owned();
                }
            });
            world.step(minutes(4), QUIET, ManagerAction::Observe);
        }
        "properties/observed-time-sane:back" => world.step(minutes(4), QUIET, ManagerAction::Observe),
        "properties/cluster-endpoints-reachable" => world.deserted.push(OLD_ENDPOINT.to_owned()),
        "properties/node-count-matches-member:growth" => {
            world.happen(minutes(6), QUIET, |member| member.nodes += 1);
        }
        "properties/honours-only-labelled" => {
            world.own_property(MemberProperty::unlabelled(PRIVATE.0, PRIVATE.1));
        }
        "conditions/transition-time-kept" => {
            for at in HEARTBEATS {
                world.step(at, QUIET, ManagerAction::Observe);
            }
        }
        "conditions/status-follows-joined:late" => {
            world.step(minutes(7), FIRST_TO_JOIN, ManagerAction::Observe)
        }
        "conditions/not-flapping" => {
            for turn in 0..10_u32 {
                let at = minutes(4) + Duration::from_secs(10) * turn;
                let failing = (turn % 2 == 0).then(|| "ping".to_owned());
                world.happen(at, QUIET, move |member| {
                    member.failing_checks = failing.clone().into_iter().collect();
                });
                world.step(at, QUIET, ManagerAction::Observe);
            }
        }
        "conditions/healthy-agrees-with-member" => world.happen(minutes(6), QUIET, |member| {
            member.failing_checks.insert("etcd".to_owned());
        }),
        "conditions/healthy-agrees-with-member:leases" => {
            world.happen(minutes(6), QUIET, |member| member.leases = Leases::Stale);
        }
        "conditions/healthy-agrees-with-member:pessimist" => world.unobserve(OUTAGE, minutes(10)),
        // A secret counts however briefly it was published.
        "access/no-secrets-elsewhere:briefly" => {
            for (at, password) in [(4, Some(new_token())), (5, None)] {
                let patch = json!({"metadata": {"annotations": {"example.com/password": password}}});
                world.request(minutes(at), QUIET, Via::Object, patch);
            }
        }
        "updates/status-writes-within-budget" => {
            for turn in 1..=20 {
                world.step(minutes(4) + REWORDING * turn, QUIET, ManagerAction::Observe);
            }
        }
        // Faster than the budget refills for twelve minutes, but within the burst.
        "updates/no-dynamic-data" => {
            for turn in 0..30 {
                world.step(minutes(4) + LOAD_PERIOD * turn, QUIET, ManagerAction::Observe);
            }
        }
        fault => apply_to_secrets(fault, world),
    }
}

/// When the manager moves a transition time though nothing changed.
const HEARTBEATS: [Duration; 3] = [minutes(4), minutes(11), minutes(18)];
/// The time between two of too many writes.
const REWORDING: Duration = Duration::from_secs(4);
/// The time between two changes of [`LOAD`].
const LOAD_PERIOD: Duration = Duration::from_secs(24);

/// Changes the consumers' Secrets.
fn apply_to_secrets(fault: &str, world: &mut ManagerWorld) {
    let quiet = world.member(QUIET).clone();
    let owned = |member: &str, consumer: &str| {
        let (member, namespace) = (member.to_owned(), consumer_namespace(consumer));
        move |secret: &&mut CredentialSecret| secret.member == member && secret.namespace == namespace
    };
    match fault {
        "consumers/secret-namespace-labelled" => world.extra_secret(&quiet, STRAY, &[]),
        "consumers/secret-namespace-labelled:empty" => {
            world.extra_secret(&quiet, STRAY, &[]);
            world.label_namespace(STRAY, "");
        }
        "consumers/secret-names-profile" => world.extra_secret(&quiet, "", &[(LABEL_SECRET_PROFILE, "")]),
        "consumers/secret-names-profile:unknown" => {
            world.extra_secret(
                &quiet,
                "",
                &[(LABEL_SECRET_PROFILE, "reference-manager-atlantis")],
            );
        }
        "consumers/secret-names-profile:namespace" => {
            world.extra_secret(&quiet, "", &[(LABEL_SECRET_PROFILE_NAMESPACE, SET_NAMESPACE)]);
        }
        "consumers/consumer-name-unique" => world.label_namespace(STRAY, CONSUMERS[0]),
        "consumers/secret-labelled" => {
            // The user does not declare this consumer, so only the Secret itself shows that it is served.
            let mut secret = CredentialSecret::new(&quiet, UNDECLARED, &new_token());
            secret.labels.clear();
            world.label_namespace(&secret.namespace, UNDECLARED);
            world.secrets.push(secret);
        }
        "consumers/declared-consumer-served" => {
            let is_withheld = owned(QUIET, CONSUMERS[0]);
            world.secrets.retain_mut(|secret| !is_withheld(&secret));
        }
        "consumers/secret-names-profile:left-behind" => {
            // Assigned to a member that stays, it outlives its own.
            let secrets = world.secrets.iter_mut().filter(owned(LEAVER, CONSUMERS[0]));
            secrets.for_each(|secret| secret.member = QUIET.to_owned());
        }
        "consumers/secret-single-consumer:shared" => {
            let shared = new_token();
            for secret in world.secrets.iter_mut().filter(|secret| secret.member == QUIET) {
                secret.token.clone_from(&shared);
                secret.kubeconfig["users"][0]["user"] = json!({"token": shared});
            }
        }
        _ => {
            let mut rivals = world.secrets.iter_mut().filter(owned(QUIET, CONSUMERS[1]));
            let other = rivals.next().map(|secret| secret.kubeconfig["users"][0].clone());
            drop(rivals);
            for secret in world.secrets.iter_mut().filter(owned(QUIET, CONSUMERS[0])) {
                apply_to_secret(fault, secret, other.clone().unwrap_or_default());
            }
        }
    }
}

/// Changes the first consumer's Secret for the quiet member. `other` is the user in the second consumer's kubeconfig.
fn apply_to_secret(fault: &str, secret: &mut CredentialSecret, other: Value) {
    let config = &mut secret.kubeconfig;
    match fault {
        "consumers/secret-has-kubeconfig" => secret.key = "kubeconfig".to_owned(),
        "consumers/secret-has-kubeconfig:context" => {
            config["contexts"][0]["context"]["cluster"] = "atlantis".into();
        }
        "consumers/secret-single-consumer" => add_user(config, other),
        "consumers/secret-single-consumer:two-users" => {
            add_user(config, json!({"name": "second", "user": {"token": new_token()}}));
        }
        "consumers/kubeconfig-self-contained" => {
            let file = "/etc/manager/members/lisbon.crt";
            config["clusters"][0]["cluster"]["certificate-authority"] = file.into();
        }
        "consumers/kubeconfig-self-contained:exec" => {
            config["users"][0]["user"] = json!({"exec": {
                "apiVersion": "client.authentication.k8s.io/v1",
                "command": "get-token",
                "interactiveMode": "Never",
            }});
        }
        "consumers/kubeconfig-points-at-member" => {
            config["clusters"][0]["cluster"]["server"] = "https://atlantis.clusters.example:6443".into();
        }
        "consumers/kubeconfig-works" => secret.token = new_token(),
        "consumers/least-privilege" => secret.rights = FakeMember::CLUSTER_ADMIN,
        _ => {}
    }
}

/// Adds a user of the quiet member to a kubeconfig.
fn add_user(config: &mut Value, user: Value) {
    let context = json!({"name": "second", "context": {"cluster": QUIET, "user": user["name"]}});
    for (list, added) in [("users", user), ("contexts", context)] {
        if let Some(list) = config[list].as_array_mut() {
            list.push(added);
        }
    }
}

impl ManagerWorld {
    /// Adds a step that sets or removes a label of a member's profile.
    fn label(&mut self, at: Duration, member: &str, label: &str, value: Option<&str>) {
        let patch = json!({"metadata": {"labels": {label: value}}});
        self.request(at, member, Via::Object, patch);
    }

    /// Sets a label of the profile of the first member that joins five seconds after the profile was created.
    fn label_late(&mut self, label: &str) {
        let created = self.joining()[FIRST_TO_JOIN];
        let value = self.member(FIRST_TO_JOIN).labels.remove(label);
        self.label(
            created + Duration::from_secs(5),
            FIRST_TO_JOIN,
            label,
            value.as_deref(),
        );
    }

    /// Gives the quiet member a further ClusterProperty.
    fn own_property(&mut self, property: MemberProperty) {
        self.fake_members[QUIET].alter(|member| member.cluster_properties.push(property));
    }

    /// Removes the steps from that time on in which the manager observes the member.
    fn unobserve(&mut self, member: &str, from: Duration) {
        let is_removed = |step: &ManagerStep| {
            step.member == member && step.at >= from && matches!(step.action, ManagerAction::Observe)
        };
        self.script.retain(|step| !is_removed(step));
    }

    /// Adds one more Secret for the first consumer, with credentials of its own and these labels. `namespace` is empty for
    /// the consumer's.
    fn extra_secret(&mut self, member: &FleetMember, namespace: &str, labels: &[(&str, &str)]) {
        let mut secret = CredentialSecret::new(member, CONSUMERS[0], &new_token());
        secret.name = "lab-extra".to_owned();
        if !namespace.is_empty() {
            secret.namespace = namespace.to_owned();
            self.namespaces.entry(namespace.to_owned()).or_default();
        }
        for (label, value) in labels {
            secret.labels.insert((*label).to_owned(), (*value).to_owned());
        }
        self.secrets.push(secret);
    }

    /// Labels a namespace as that of a consumer, and adds it if it is missing.
    fn label_namespace(&mut self, namespace: &str, consumer: &str) {
        let labels = self.namespaces.entry(namespace.to_owned()).or_default();
        labels.insert(LABEL_CONSUMER.to_owned(), consumer.to_owned());
    }
}

/// Changes the status of a member of the fleet, `elapsed` after the manager's start.
pub(super) fn misreport(
    status: &mut Value,
    member: &str,
    faults: &Faults,
    elapsed: Duration,
    now: Timestamp,
) {
    let started = now - SignedDuration::try_from(elapsed).unwrap_or_default();
    let at = |time: Duration| rfc3339(started + SignedDuration::try_from(time).unwrap_or_default());
    match member {
        OUTAGE if faults.has("conditions/transition-time-moves") => {
            set(
                status,
                ["conditions", CONDITION_HEALTHY],
                "lastTransitionTime",
                &at(Duration::ZERO),
            );
        }
        FIRST_TO_JOIN if faults.has("conditions/status-follows-joined:late") && elapsed < minutes(7) => {
            if let Some(status) = status.as_object_mut() {
                status.remove("version");
            }
            retain(status, "conditions", |condition| {
                condition["type"] == CONDITION_JOINED
            });
        }
        QUIET => {
            if faults.has("version/matches-member") {
                status["version"]["kubernetes"] = "v1.34.1".into();
            }
            for (property, value) in faults.properties() {
                set(status, ["properties", property], "value", value);
            }
            if faults.has("properties/cluster-properties-propagated") {
                retain(status, "properties", |property| property["name"] != OWN_PROPERTY);
            }
            if faults.has("properties/honours-only-labelled") {
                push(status, "properties", property(PRIVATE.0, PRIVATE.1, now));
            }
            if faults.has("properties/observed-time-sane:back") && elapsed >= minutes(4) {
                let back = rfc3339(started + SignedDuration::from_mins(4 - 60));
                set(
                    status,
                    ["properties", PROPERTY_LOCATION],
                    "lastObservedTime",
                    &back,
                );
            }
            let mut heartbeats = HEARTBEATS.into_iter().filter(|at| *at <= elapsed);
            if faults.has("conditions/transition-time-kept")
                && let Some(last) = heartbeats.next_back()
            {
                set(
                    status,
                    ["conditions", CONDITION_HEALTHY],
                    "lastTransitionTime",
                    &at(last),
                );
            }
            for (fault, cluster) in [
                ("access/plugin-yields-credential", "atlantis"),
                ("access/plugin-yields-credential:another", QUIET_IN_SET),
            ] {
                if faults.has(fault) {
                    let extensions = &mut status["accessProviders"][0]["cluster"]["extensions"];
                    extensions[0]["extension"]["clusterName"] = cluster.into();
                }
            }
            if faults.has("updates/status-writes-within-budget")
                && let Some(turn) = turn(elapsed, REWORDING).filter(|turn| *turn > 0)
            {
                let message = format!("all checks passed, {turn} times over");
                set(status, ["conditions", CONDITION_HEALTHY], "message", &message);
            }
            if faults.has("updates/no-dynamic-data") {
                let load = turn(elapsed, LOAD_PERIOD).map_or(40, |turn| 41 + turn);
                push(status, "properties", property(LOAD, &format!("0.{load}"), now));
            }
        }
        _ => {}
    }
}

/// How many times `period` has passed since the fourth minute; none before.
fn turn(elapsed: Duration, period: Duration) -> Option<u64> {
    let since = elapsed.checked_sub(minutes(4))?;
    Some(since.as_secs() / period.as_secs())
}

/// Sets a field of the entry of a list that has this name or type, if it exists.
fn set(status: &mut Value, [list, name]: [&str; 2], field: &str, value: &str) {
    let mut entries = status[list].as_array_mut().into_iter().flatten();
    if let Some(entry) = entries.find(|entry| entry["name"] == name || entry["type"] == name) {
        entry[field] = value.into();
    }
}

fn retain(status: &mut Value, list: &str, is_kept: impl Fn(&Value) -> bool) {
    if let Some(entries) = status[list].as_array_mut() {
        entries.retain(is_kept);
    }
}

fn push(status: &mut Value, list: &str, entry: Value) {
    if let Some(entries) = status[list].as_array_mut() {
        entries.push(entry);
    }
}
