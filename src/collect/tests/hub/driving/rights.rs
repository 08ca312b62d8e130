//! A run that drives uses each right that its role grants, and asks for nothing else.

use collect::Grants;
use evidence::api::Role;

use super::{
    super::rights::Bound,
    placements::{Scheduler, placing, run_scheduler},
    *,
};

/// Drives the manager as the account that has these grants.
async fn drive_manager(mutations: bool) {
    let world = World::new().await;
    let manager = Manager::new(&world, Habits::default()).await;
    let written = mutations.then_some(Role::Manager);
    let grants = Grants {
        mutations: written.into_iter().collect(),
        ..Grants::default()
    };
    let bound = Bound::to(world, |account| grants.manifest(Some(account))).await;
    let mut plan = driving(&manager);
    driver_of(&mut plan).mutations = mutations;
    let seen = run(&bound.world, &manager, &plan).await;
    let mut lacking = seen.driver().unavailable_actions.keys();
    let namespaces = [DriverAction::DeleteNamespace, DriverAction::CreateNamespace];
    assert_eq!(lacking.all(|action| namespaces.contains(action)), mutations);
    assert_eq!(seen.warnings, [""; 0]);
    bound.compare();
}

#[tokio::test(start_paused = true)]
async fn a_driver_uses_exactly_its_role() {
    for mutations in [false, true] {
        drive_manager(mutations).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_driver_of_placements_uses_exactly_its_role() {
    let world = placements::world().await;
    let scheduler = Scheduler::on_members(&world).await;
    let mut plan = placing(&scheduler);
    plan.secrets = EvidenceRequest::No("not for placements".into());
    let grants = Grants {
        namespaces: plan.scope.namespaces.clone(),
        placements: true,
        mutations: vec![Role::Scheduler],
        ..Grants::default()
    };
    let bound = Bound::to(world, |account| grants.manifest(Some(account))).await;
    let seen = run_scheduler(&bound.world, &scheduler, &plan, future::pending()).await;
    let unavailable = &seen.driver().unavailable_actions;
    assert!(unavailable.is_empty(), "{unavailable:?}");
    bound.compare();
}
