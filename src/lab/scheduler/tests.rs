use std::collections::BTreeSet;

use collect::clock::Clock;

use super::{
    faults::{Fault, faults, hub_definitions},
    lifetime::Scheduler,
    script::minutes,
    world::{FEW, LARGE, World},
};
use crate::{fault::HubChange, hub::Hub};

#[test]
fn fault_ids_are_unique_and_a_slip_gets_a_suggestion() {
    let ids: BTreeSet<&str> = faults().iter().map(|fault| fault.id).collect();
    assert_eq!(ids.len(), faults().len());
    for id in ids {
        assert_eq!(Fault::parse(id).unwrap().info().id, id);
    }
    let slip = Fault::parse("placement-slices/index-compleet").unwrap_err();
    assert_eq!(slip.nearest.as_deref(), Some("placement-slices/index-complete"));
}

/// Users combine faults: no fault may fail because another one removed something.
#[tokio::test(start_paused = true)]
async fn all_faults_at_once_run() {
    let clock = Clock::system();
    let faults: Vec<Fault> = faults()
        .iter()
        .map(|fault| Fault::parse(fault.id).unwrap())
        .collect();
    let hub = Hub::lab_with(clock, &hub_definitions(&faults)).await.unwrap();
    let client = hub.client_as(Scheduler::NAME, Scheduler::NAME).unwrap();
    let mut scheduler = Scheduler::new(faults, clock);
    scheduler.set_up(&client).await.unwrap();
    let ended = tokio::time::timeout(minutes(16), scheduler.run(client)).await;
    assert!(ended.is_err(), "the scheduler ended: {ended:?}");
}

#[test]
fn the_hub_lacks_only_what_a_fault_needs_gone() {
    let usual = crate::crd::all();
    let of = |change: HubChange| {
        let fault = faults().iter().find(|fault| fault.hub == change).unwrap();
        let mut definitions = hub_definitions(&[Fault::parse(fault.id).unwrap()]);
        definitions.pop();
        definitions
    };
    assert_eq!(of(HubChange::None), usual);
    for (change, gone) in [
        (HubChange::WithoutLimit, "maxItems: 100"),
        (HubChange::WithoutRequiredList, "- decisions"),
    ] {
        let changed = of(change);
        assert_eq!((&changed[0], &changed[2]), (&usual[0], &usual[2]));
        let text = crate::crd::to_yaml(&usual[1]);
        assert!(
            text.contains(gone) && !crate::crd::to_yaml(&changed[1]).contains(gone),
            "{change:?}"
        );
    }
}

#[test]
fn workloads_have_clusters_of_their_own_where_faults_need_quiet_ones() {
    let mut world = World::conforming();
    assert_eq!(world.placement(LARGE).skips, 0);
    assert!(
        world.placement(FEW).skips > 164,
        "beyond the clusters of the full slice"
    );
}
