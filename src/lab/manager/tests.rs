use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::faults::{Fault, HubChange, faults, hub_definitions};
use super::lifetime::Manager;
use super::members::{FLEET, SET_NAMESPACE};
use super::world::World;
use crate::api::names::{LABEL_MEMBER_ID, PROPERTIES_CLUSTER_ID, PROPERTY_ENDPOINTS};
use crate::clock::Clock;

fn conforming() -> World {
    World::conforming(Timestamp::UNIX_EPOCH)
}

#[test]
fn the_world_has_twenty_profiles_in_two_namespaces_and_two_of_them_join_later() {
    let world = conforming();
    let mut count = BTreeMap::new();
    for profile in &world.profiles {
        *count.entry(profile.namespace.as_str()).or_insert(0) += 1;
    }
    assert_eq!(count, BTreeMap::from([(FLEET, 12), (SET_NAMESPACE, 8)]));
    assert_eq!(world.joining().len(), 2);
    assert_eq!(world.secrets.len(), 40);
}

#[test]
fn no_two_members_are_taken_for_one() {
    let world = conforming();
    let all = world.profiles.len();
    let distinct = |what: fn(&super::world::Profile) -> String| {
        let values: BTreeSet<String> = world.profiles.iter().map(what).collect();
        values.len()
    };
    assert_eq!(distinct(|profile| profile.name.clone()), all);
    assert_eq!(distinct(|profile| profile.labels[LABEL_MEMBER_ID].clone()), all);
    assert_eq!(
        distinct(|profile| profile.status.value(PROPERTIES_CLUSTER_ID[0]).to_owned()),
        all
    );
    assert_eq!(
        distinct(|profile| profile.status.value(PROPERTY_ENDPOINTS).to_owned()),
        all
    );
    assert_eq!(distinct(|profile| profile.status.access[0].ca_data.clone()), all);
    let tokens: BTreeSet<String> = world
        .secrets
        .iter()
        .map(|secret| secret.kubeconfig["users"][0]["user"]["token"].to_string())
        .collect();
    assert_eq!(tokens.len(), world.secrets.len());
}

#[test]
fn fault_ids_are_unique_and_a_slip_gets_a_suggestion() {
    let ids: BTreeSet<&str> = faults().iter().map(|fault| fault.id).collect();
    assert_eq!(ids.len(), faults().len());
    for id in ids {
        assert_eq!(Fault::parse(id).unwrap().info().id, id);
    }
    let slip = Fault::parse("identity/manager-label-mathces").unwrap_err();
    assert_eq!(slip.nearest.as_deref(), Some("identity/manager-label-matches"));
}

/// Users combine faults: none may trip over what another took away.
#[tokio::test(start_paused = true)]
async fn all_faults_at_once_make_a_world() {
    let all: Vec<Fault> = faults()
        .iter()
        .map(|fault| Fault::parse(fault.id).unwrap())
        .collect();
    let backward: Vec<Fault> = all.iter().rev().copied().collect();
    for faults in [all, backward] {
        Manager::new(faults, Clock::starting_at(Timestamp::UNIX_EPOCH));
    }
}

#[test]
fn the_hub_lacks_only_what_a_fault_needs_gone() {
    let of = |change: HubChange| {
        let fault = faults().iter().find(|fault| fault.hub == change).unwrap();
        hub_definitions(&[Fault::parse(fault.id).unwrap()])
    };
    let usual = crate::api::crd::all();
    assert_eq!(of(HubChange::None), usual);
    assert_eq!(of(HubChange::WithoutImmutability)[1], usual[1]);

    let rules = |definition: &_| {
        let text = crate::api::crd::to_yaml(definition);
        (
            text.matches("self == oldSelf").count(),
            text.matches("status: {}").count(),
        )
    };
    assert_eq!(rules(&usual[0]), (2, 2));
    assert_eq!(rules(&of(HubChange::WithoutImmutability)[0]), (0, 2));
    assert_eq!(rules(&of(HubChange::WithoutStatusSubresource)[0]), (2, 0));
}
