//! The members of the fleet that have a stand-in, and so can be asked.

use std::{collections::BTreeMap, time::Duration};

use collect::clock::Clock;

use super::{
    address::{endpoints, server},
    members::MEMBERS,
    world::World,
};
use crate::member::{MemberState, StandIn};

/// A member with a stand-in, and its profile.
#[derive(Clone, Debug)]
pub struct FleetMember {
    /// The namespace of its profile.
    pub namespace: String,
    /// The name of its profile, which may be created later, and deleted.
    pub profile: String,
    /// How long after the manager's start it joins; zero if it is there before.
    pub joins: Duration,
    /// Hosts and ports of its API server, as profiles and kubeconfigs name it.
    pub hosts: Vec<String>,
    /// The member itself.
    pub stand_in: StandIn,
}

/// Stand-ins by the members' names.
pub(super) type Fleet = BTreeMap<String, StandIn>;

/// Makes the stand-ins of `world`. They accept the tokens in the consumers' Secrets.
pub(super) fn stand_ins(world: &World, clock: Clock) -> Fleet {
    let make = |(name, state): (&String, &_)| (name.clone(), StandIn::new(name, clock, Clone::clone(state)));
    let fleet: Fleet = world.states.iter().map(make).collect();
    for secret in &world.secrets {
        // A Secret may give access to another member than its profile's.
        let way = &secret.kubeconfig["clusters"][0]["cluster"]["server"];
        let opened = fleet.values().filter(|member| *way == server(member.name()));
        for member in opened {
            let login = &secret.login;
            member.admit(&login.token, &login.called, login.rights);
        }
    }
    fleet
}

/// Stand-ins by host and port, those of former members too.
pub(super) fn hosts(world: &World, fleet: &Fleet, clock: Clock) -> BTreeMap<String, StandIn> {
    let there = members(world, fleet).into_iter();
    let mut hosts: BTreeMap<String, StandIn> = there
        .flat_map(|member| {
            let FleetMember { hosts, stand_in, .. } = member;
            hosts.into_iter().map(move |host| (host, stand_in.clone()))
        })
        .collect();
    for host in &world.deserted {
        let gone = MemberState {
            unreachable: true,
            ..MemberState::default()
        };
        hosts.insert(host.clone(), StandIn::new(host, clock, gone));
    }
    hosts
}

/// The stand-ins with their profiles.
pub(super) fn members(world: &World, fleet: &Fleet) -> Vec<FleetMember> {
    let (profiles, joining) = (world.profiles.iter(), world.joining());
    profiles
        .filter_map(|profile| {
            let stand_in = fleet.get(&profile.member)?;
            let number = MEMBERS.iter().position(|member| member.name == profile.member)?;
            Some(FleetMember {
                namespace: profile.namespace.clone(),
                profile: profile.name.clone(),
                joins: joining.get(&profile.member).copied().unwrap_or_default(),
                hosts: endpoints(&profile.member, number).into(),
                stand_in: stand_in.clone(),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use evidence::api::names::{
        CONDITION_HEALTHY, PROPERTY_ENDPOINTS, PROPERTY_NODE_COUNT, PROPERTY_RESOURCE_GROUPS,
    };
    use jiff::Timestamp;
    use serde_json::Value;

    use super::*;
    use crate::manager::{
        Manager,
        recorder::{Received, Recorder},
    };

    /// The last write of a profile's status.
    fn status(received: &[Received], member: &FleetMember) -> Option<Value> {
        let path = format!(
            "namespaces/{}/clusterprofiles/{}/status",
            member.namespace, member.profile
        );
        let last = received.iter().rev().find(|write| write.path == path);
        last.map(|write| write.body["status"].clone())
    }

    fn value(status: &Value, name: &str) -> String {
        let mut properties = status["properties"].as_array().into_iter().flatten();
        let property = properties.find(|property| property["name"] == name);
        property.map_or(String::new(), |property| {
            property["value"].as_str().unwrap_or_default().to_owned()
        })
    }

    #[track_caller]
    fn assert_agree(status: &Value, member: &MemberState) {
        assert_eq!(status["version"]["kubernetes"], member.version.as_str());
        assert_eq!(value(status, PROPERTY_NODE_COUNT), member.nodes.to_string());
        let groups: BTreeSet<String> =
            serde_json::from_str(&value(status, PROPERTY_RESOURCE_GROUPS)).expect("groups");
        assert_eq!(groups, member.custom_resource_groups);
        for property in &member.cluster_properties {
            assert!(property.labelled);
            assert_eq!(value(status, &property.name), property.value);
        }
        let mut conditions = status["conditions"].as_array().into_iter().flatten();
        let healthy = conditions.find(|condition| condition["type"] == CONDITION_HEALTHY);
        let reported = healthy.map(|condition| condition["status"] == "True");
        assert_eq!(reported, Some(member.failing_checks.is_empty()));
    }

    #[tokio::test(start_paused = true)]
    async fn members_say_what_their_profiles_do_at_all_times() {
        let recorder = Recorder::default();
        let clock = Clock::starting_at(Timestamp::UNIX_EPOCH);
        let mut manager = Manager::new(Vec::new(), clock);
        let members = manager.members();
        assert_eq!(members.len(), 6);
        manager.set_up(&recorder.client()).await.expect("a hub");
        let checked = check_each_minute(&recorder, &members);
        tokio::select! {
            () = checked => {}
            end = manager.run(recorder.client()) => panic!("the manager ended: {end:?}"),
        }
    }

    async fn check_each_minute(recorder: &Recorder, members: &[FleetMember]) {
        let mut received = Vec::new();
        let mut states = BTreeSet::new();
        for _ in 0..35 {
            received.extend(recorder.take());
            for member in members {
                let state = member.stand_in.state();
                if let Some(status) = status(&received, member) {
                    assert_agree(&status, &state);
                    let hosts: Vec<String> =
                        serde_json::from_str(&value(&status, PROPERTY_ENDPOINTS)).expect("endpoints");
                    assert_eq!(hosts, member.hosts);
                }
                states.insert(format!("{} {state:?}", member.profile));
            }
            tokio::time::sleep(Duration::from_secs(61)).await;
        }
        assert_eq!(
            states.len(),
            6 + 3,
            "one is unwell for a while, one upgraded, one grows for a while"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn credentials_that_are_given_out_open_their_members() {
        let clock = Clock::starting_at(Timestamp::UNIX_EPOCH);
        let manager = Manager::new(Vec::new(), clock);
        let mut tried = 0;
        for secret in &manager.world().secrets {
            let Some(member) = manager
                .members()
                .into_iter()
                .find(|member| member.stand_in.name() == secret.member)
            else {
                continue;
            };
            let user = &secret.kubeconfig["users"][0]["user"];
            let client = member
                .stand_in
                .client_with_token(user["token"].as_str().expect("a token"), "tester/1.0");
            assert!(client.apiserver_version().await.is_ok());
            let server = secret.kubeconfig["clusters"][0]["cluster"]["server"]
                .as_str()
                .unwrap_or_default();
            let host = server.strip_prefix("https://").expect("TLS");
            assert!(member.hosts.iter().any(|known| known == host));
            tried += 1;
        }
        assert_eq!(tried, 12);
    }
}
