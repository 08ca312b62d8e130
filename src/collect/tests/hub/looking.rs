//! One look, and what the runner sends for it.

use evidence::{Origin, ProbeOutcome, Requested};

use super::*;

#[tokio::test(start_paused = true)]
async fn looks_once_and_says_so() {
    let world = World::of(&["a", "b", "c"]).await;
    let evidence = world.watch(0, async {}).await;
    assert_eq!(inventory(&evidence), ["a", "b", "c"]);
    let mut origins = evidence.profiles.iter().map(|history| history.origin);
    assert!(origins.all(|origin| origin == Origin::Listed));
    assert!(evidence.gaps.is_empty(), "{:?}", evidence.gaps);
    assert!(evidence.namespace("default").is_some());

    let header = &evidence.header;
    assert_eq!(header.hub.source, "lab");
    assert_eq!(header.hub.api_version.as_deref(), Some("v1alpha1"));
    let served = header.hub.served.iter();
    let served = served.map(|one| (one.name.as_str(), one.immutable_manager));
    assert!(
        served.eq([("v1alpha1", true), ("v1alpha2", true)]),
        "{:?}",
        header.hub
    );
    assert!(header.hub.server_version.is_some() && header.permissions.iter().all(|one| one.allowed));
    for kind in [Kind::Inventory, Kind::Namespaces, Kind::Secrets, Kind::Writers] {
        assert!(evidence.is_whole(kind), "{kind}: {:?}", evidence.requested(kind));
    }
    for kind in [
        Kind::Timeline,
        Kind::Probe,
        Kind::Members,
        Kind::Requests,
        Kind::Driver,
    ] {
        let is_explained = matches!(evidence.requested(kind), Requested::No(reason) if !reason.is_empty());
        assert!(is_explained, "{kind}");
    }
    let mut lists = world.requests();
    lists.retain(|event| event["verb"] == "list" && event["objectRef"]["resource"] == "clusterprofiles");
    assert_eq!(lists.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn stores_nothing_on_the_hub() {
    let world = World::of(&["a"]).await;
    let plan = Plan {
        secrets: EvidenceRequest::Explicit,
        probe: EvidenceRequest::Explicit,
        ..plan(120)
    };
    let evidence = world.collect(&plan, async {}).await;
    assert_eq!(evidence.probes.len(), 1);
    for event in world.requests() {
        let (verb, uri) = (event["verb"].as_str().unwrap_or_default(), &event["requestURI"]);
        let uri = uri.as_str().unwrap_or_default();
        let reads = matches!(verb, "get" | "list" | "watch");
        let asks = verb == "create" && uri.ends_with("/selfsubjectaccessreviews");
        let dry = verb == "patch" && uri.contains("?dryRun=All&");
        assert!(reads || asks || dry, "{verb} {uri}");
        let agent = event["userAgent"].as_str().unwrap_or_default();
        assert!(agent.starts_with("clusterprofile-conformance/"), "{agent}");
    }
}

#[tokio::test(start_paused = true)]
async fn probes_one_profile_of_each_manager() {
    let world = World::new().await;
    for (name, manager) in [("a", "m"), ("b", "m"), ("c", "other")] {
        let mut profile = profile(name);
        profile["spec"]["clusterManager"]["name"] = json!(manager);
        world.create(PROFILES, profile).await;
    }
    let plan = Plan {
        probe: EvidenceRequest::IfAllowed,
        ..plan(0)
    };
    let evidence = world.collect(&plan, async {}).await;
    let probed = evidence.probes.iter().map(|probe| probe.object.name.as_str());
    assert!(probed.eq(["a", "c"]), "{:?}", evidence.probes);
    for probe in &evidence.probes {
        let ProbeOutcome::Refused { code, fields, .. } = &probe.outcome else {
            panic!("{:?}", probe.outcome)
        };
        assert_eq!(*code, 422);
        let is_manager = |field: &String| field.starts_with("spec.clusterManager");
        assert!(fields.iter().any(is_manager), "{fields:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn looks_only_into_the_namespaces_of_the_scope() {
    let world = World::new().await;
    for namespace in ["one", "two", "three"] {
        world.namespace(namespace).await;
        world.profile_in(namespace, namespace).await;
    }
    let mut plan = plan(60);
    plan.scope.namespaces = vec!["one".to_owned(), "three".to_owned()];
    let events = async {
        after(30).await;
        for namespace in ["two", "three"] {
            world.profile_in(namespace, "late").await;
        }
    };
    let evidence = world.collect(&plan, events).await;
    assert_eq!(everyone(&evidence), ["one", "three", "late"]);
    assert!(evidence.gaps.is_empty(), "{:?}", evidence.gaps);
}

/// The names of all profiles that the evidence has read.
fn everyone(evidence: &Evidence) -> Vec<&str> {
    let profiles = evidence.everyone();
    profiles.map(|profile| &*profile.metadata.name).collect()
}

/// A hub whose CRD accepts objects of any shape.
async fn hub_without_a_schema() -> World {
    let world = World::new().await;
    let crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/clusterprofiles.multicluster.x-k8s.io";
    let mut loose = world.send(Method::GET, crd, None).await.expect("the CRD");
    for version in loose["spec"]["versions"].as_array_mut().expect("versions") {
        let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        version["schema"]["openAPIV3Schema"] = open;
    }
    let stored = world.send(Method::PUT, crd, Some(loose)).await;
    stored.expect("a CRD without a schema");
    world
}

#[tokio::test(start_paused = true)]
async fn a_watch_goes_on_past_a_version_that_does_not_fit() {
    let world = hub_without_a_schema().await;
    world.profile("a").await;
    world.profile("odd").await;
    let spoilt = json!("m");
    let change = async |manager: Value| {
        after(10).await;
        let patch = json!({"spec": {"clusterManager": manager}});
        world.patch(&format!("{PROFILES}/odd"), patch).await;
    };

    // Spoilt and fixed: judged by what it is at the end, with a gap in its history.
    let events = async {
        change(spoilt.clone()).await;
        change(json!({"name": "m"})).await;
        world.report("a", "v1").await;
    };
    let evidence = world.watch(60, events).await;
    assert_eq!(everyone(&evidence), ["a", "odd"]);
    assert!(evidence.unreadable.is_empty(), "{:?}", evidence.unreadable);
    let gap = only_gap(&evidence, Kind::Timeline);
    assert_eq!(gap.object.as_ref().expect("an object").name, "odd");
    assert!(
        gap.reason.contains("spec.clusterManager: invalid type"),
        "{gap:?}"
    );
    assert_eq!(story(&evidence, "a"), ["Listed -@0 v1@20"]);

    // Spoilt permanently: what it was before is no longer true. A snapshot shows the same.
    let watched = world.watch(60, change(spoilt)).await;
    for evidence in [watched, world.watch(0, async {}).await] {
        assert_eq!(everyone(&evidence), ["a"]);
        let [odd] = &evidence.unreadable[..] else {
            panic!("{:?}", evidence.unreadable)
        };
        assert_eq!(odd.object.path(), "default/odd");
        assert!(!odd.object.uid.is_empty(), "{odd:?}");
    }

    // Spoilt and deleted: only a gap is left.
    let events = async {
        after(10).await;
        world.delete("odd").await;
    };
    let evidence = world.watch(60, events).await;
    assert_eq!(everyone(&evidence), ["a"]);
    assert!(evidence.unreadable.is_empty(), "{:?}", evidence.unreadable);
    assert_eq!(evidence.gaps.len(), 1, "{:?}", evidence.gaps);
}
