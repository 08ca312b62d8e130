use std::collections::BTreeSet;

use collect::clock::Clock;
use jiff::Timestamp;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use super::{
    faults::{Fault, faults, hub_definitions},
    lifetime::Manager,
};
use crate::fault::HubChange;

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

/// Users combine faults: no fault may fail because another one removed something.
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
    let usual = crate::crd::all();
    assert_eq!(of(HubChange::None), usual);
    assert_eq!(of(HubChange::WithoutImmutability)[1], usual[1]);

    let rules = |definitions: &[CustomResourceDefinition]| {
        let text = crate::crd::to_yaml(&definitions[0]);
        (
            text.matches("self == oldSelf").count(),
            text.matches("rule:").count(),
        )
    };
    assert_eq!(rules(&usual), (2, 5));
    assert_eq!(rules(&of(HubChange::WithoutImmutability)), (0, 3));
}
