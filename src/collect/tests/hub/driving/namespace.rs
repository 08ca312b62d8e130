//! A namespace of the run's own, which it deletes with a member's profile in it.

use std::time::Duration;

use super::*;

const NAMESPACE: &str = "own";

fn profiles() -> String {
    format!("/apis/multicluster.x-k8s.io/v1alpha1/namespaces/{NAMESPACE}/clusterprofiles")
}

/// A manager that creates the profiles of the members in the namespace, whenever they are missing.
async fn restore(world: &World, manager: &Manager) -> Infallible {
    loop {
        for name in manager.in_namespace() {
            let _ = world.send(Method::POST, &profiles(), Some(profile(&name))).await;
        }
        sleep(Duration::from_secs(5)).await;
    }
}

async fn run_with_namespace(world: &World) -> (Seen, Vec<String>) {
    let manager = Manager::new(world, Habits::idle()).await;
    let mut plan = driving(&manager);
    let driver = driver_of(&mut plan);
    driver.file.own_namespace = Some(NAMESPACE.to_owned());
    driver.file.scale.members = Some(0);
    let seen = select! {
        seen = run(world, &manager, &plan) => seen,
        never = restore(world, &manager) => match never {},
    };
    let mut deletions = world.requests();
    deletions.retain(|event| event["verb"] == "delete" && event["objectRef"]["resource"] == "namespaces");
    let names = deletions
        .iter()
        .filter_map(|event| event["objectRef"]["name"].as_str());
    (seen, names.map(str::to_owned).collect())
}

#[tokio::test(start_paused = true)]
async fn the_own_namespace_is_deleted_created_again_and_deleted() {
    let world = World::new().await;
    let (seen, deletions) = run_with_namespace(&world).await;
    let gone = seen.step(Scenario::NamespaceGone, DriverAction::DeleteNamespace);
    assert_eq!(reason(gone), "", "{gone:?}");
    let back = seen.step(Scenario::NamespaceGone, DriverAction::CreateNamespace);
    assert_eq!(reason(back), "", "{back:?}");
    assert!(back.reacted_at.is_some(), "{back:?}");
    let uid = |profile: &Option<evidence::ObjectRef>| profile.as_ref().map(|profile| profile.uid.clone());
    assert_eq!(uid(&back.profile), uid(&gone.profile));
    assert!(uid(&back.profile_after).is_some() && uid(&back.profile_after) != uid(&back.profile));
    assert_eq!(deletions, [NAMESPACE; 2]);
    let path = format!("/api/v1/namespaces/{NAMESPACE}");
    assert!(world.send(Method::GET, &path, None).await.is_err());
    assert_eq!(seen.warnings, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn an_existing_namespace_is_left_alone() {
    let world = World::new().await;
    world.namespace(NAMESPACE).await;
    let (seen, deletions) = run_with_namespace(&world).await;
    let gone = seen.step(Scenario::NamespaceGone, DriverAction::DeleteNamespace);
    let expected = "failed to create the run's own namespace own";
    assert!(reason(gone).contains(expected), "{gone:?}");
    assert_eq!(deletions, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_namespace_with_another_profile_is_left_alone() {
    let world = World::new().await;
    let intruder = async {
        after(30).await;
        let path = profiles();
        let _ = world.send(Method::POST, &path, Some(profile("stranger"))).await;
        std::future::pending::<()>().await;
    };
    let (seen, deletions) = select! {
        seen = run_with_namespace(&world) => seen,
        () = intruder => unreachable!("it never ends"),
    };
    let gone = seen.step(Scenario::NamespaceGone, DriverAction::DeleteNamespace);
    assert_eq!(
        reason(gone),
        "the run's own namespace has profiles of other members"
    );
    assert_eq!(deletions, [""; 0]);
    let left = seen.warnings.join("\n");
    let expected = "failed to delete Namespace own: it has profiles of other members";
    assert!(left.contains(expected), "{left}");
}
