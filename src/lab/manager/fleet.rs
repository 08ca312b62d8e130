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
