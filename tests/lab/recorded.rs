//! Facts in recorded evidence that no rule judges yet.

use evidence::{DriverAction, api::Role};

use crate::reference_runs::observe_manager;

#[test]
fn a_driven_run_records_versions_own_requests_and_the_recognised_profile() {
    let edition = Role::Manager.editions().next().expect("an edition");
    let evidence = observe_manager(edition, "reference", true, &[]).evidence;

    let requests = &evidence.requests.as_ref().expect("an audit log").events;
    assert!(requests.iter().any(|request| request.resource_version.is_some()));
    assert!(requests.iter().all(|request| !request.is_the_suites()));
    assert!(!evidence.own_requests.is_empty());
    assert!(
        evidence
            .own_requests
            .iter()
            .all(|request| request.is_the_suites())
    );

    let mut deleted = evidence
        .profiles
        .iter()
        .filter(|history| history.deleted.is_some());
    assert!(deleted.any(|history| history.deleted_version.is_some()));

    let driver = evidence.driver.as_ref().expect("a driver");
    let step = driver
        .steps_of(DriverAction::DeleteProfile)
        .next()
        .expect("a step");
    let uid = |profile: &Option<evidence::ObjectRef>| profile.clone().expect("a profile").uid;
    assert_ne!(uid(&step.profile), uid(&step.profile_after));
}
