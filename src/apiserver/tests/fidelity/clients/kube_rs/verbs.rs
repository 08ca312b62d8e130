//! Calls every verb of kube-rs' `Api`.

use k8s_openapi::api::{
    authentication::v1::SelfSubjectReview,
    core::v1::{ConfigMap, Secret},
};
use kube::{
    ResourceExt as _,
    api::{
        Api, DeleteParams, GetParams, ListParams, Patch, PatchParams, PostParams, Preconditions,
        ValidationDirective,
    },
    core::GroupVersionKind,
    discovery::{Discovery, Scope, oneshot, verbs},
};
use serde_json::{Value, json};

use super::{GROUP, Hub, KIND, object, profile, profiles, refusal, stage};

pub async fn writes_and_reads(hub: &Hub) {
    let client = stage(hub).await;
    let api = profiles(client.clone());
    let post = PostParams::default();
    let dry = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    api.create(&dry, &profile("tried"))
        .await
        .expect("what could be created");
    assert!(api.get_opt("tried").await.expect("an answer").is_none());
    let made = api.create(&post, &profile("a")).await.expect("a ClusterProfile");
    assert_eq!(made.metadata.generation, Some(1));
    assert_eq!(refusal(api.create(&post, &profile("a")).await), 409);
    assert_eq!(refusal(api.get("b").await), 404);

    let mut named = made.clone();
    named.data["spec"]["displayName"] = "another".into();
    let renamed = api.replace("a", &post, &named).await.expect("another name");
    assert_eq!(renamed.metadata.generation, Some(2));
    assert_eq!(refusal(api.replace("a", &post, &named).await), 409);
    let mut reported = renamed.clone();
    reported.data["status"] = json!({"version": {"kubernetes": "v1.34.1"}});
    let reported = api.replace_status("a", &post, &reported).await.expect("a status");
    assert_eq!(reported.metadata.generation, Some(2));
    assert_eq!(
        api.get_status("a").await.expect("a status").data["status"],
        reported.data["status"]
    );
    let metadata = api.get_metadata("a").await.expect("the metadata");
    assert_eq!(metadata.metadata, reported.metadata);

    let mut entry = api.entry("b").await.expect("an entry").or_insert(|| profile("b"));
    entry
        .get_mut()
        .labels_mut()
        .insert("tier".to_owned(), "gold".to_owned());
    entry.commit(&post).await.expect("a second one");
    let gold = ListParams::default().labels("tier=gold");
    let found = api.list(&gold).await.expect("a list");
    assert_eq!(
        found
            .items
            .iter()
            .map(|found| found.name_any())
            .collect::<Vec<_>>(),
        ["b"]
    );
    let found = api
        .list_metadata(&ListParams::default().fields("metadata.name=a"))
        .await;
    assert_eq!(found.expect("a list of metadata").items.len(), 1);
    let page = api.list(&ListParams::default().limit(1)).await.expect("a page");
    let token = page.metadata.continue_.expect("there is more");
    let rest = api
        .list(&ListParams::default().limit(1).continue_token(&token))
        .await;
    assert_eq!(rest.expect("the last page").items[0].name_any(), "b");

    let secrets: Api<Secret> = Api::default_namespaced(client.clone());
    let secret = object(json!({"metadata": {"name": "s"}, "stringData": {"config": "text"}}));
    let made = secrets.create(&post, &secret).await.expect("a Secret");
    // Any version would do for a cache that does not have it yet.
    let version = made.metadata.resource_version.expect("a version");
    let secret = secrets
        .get_with("s", &GetParams::at(&version))
        .await
        .expect("the Secret");
    assert_eq!(secret.data.expect("data")["config"].0, b"text");
    let reviews: Api<SelfSubjectReview> = Api::all(client);
    let reviewed = reviews
        .create(&post, &SelfSubjectReview::default())
        .await
        .expect("a review");
    let user = reviewed
        .status
        .and_then(|status| status.user_info)
        .expect("a user");
    assert_eq!(user.username.as_deref(), Some("admin"));
}

pub async fn patches(hub: &Hub) {
    let client = stage(hub).await;
    let api = profiles(client.clone());
    api.create(&PostParams::default(), &profile("a"))
        .await
        .expect("a ClusterProfile");
    let params = PatchParams::default();
    let merge = json!({"metadata": {"labels": {"a": "1", "b": "2"}}, "spec": {"displayName": null}});
    let merged = api
        .patch("a", &params, &Patch::Merge(&merge))
        .await
        .expect("a merge patch");
    assert!(merged.data["spec"].get("displayName").is_none());
    let steps = json!([
        {"op": "test", "path": "/metadata/labels/a", "value": "1"},
        {"op": "remove", "path": "/metadata/labels/b"},
    ]);
    let json = Patch::Json::<()>(object(steps));
    let patched = api.patch("a", &params, &json).await.expect("a JSON patch");
    assert_eq!(patched.labels().len(), 1);
    let status =
        json!({"metadata": {"labels": {"a": "2"}}, "status": {"version": {"kubernetes": "v1.34.0"}}});
    let reported = api
        .patch_status("a", &params, &Patch::Merge(&status))
        .await
        .expect("a status");
    assert_eq!(reported.labels()["a"], "1");
    assert_eq!(reported.data["status"]["version"]["kubernetes"], "v1.34.0");
    let label = Patch::Merge(json!({"metadata": {"labels": {"c": "3"}}}));
    let labelled = api.patch_metadata("a", &params, &label).await;
    assert_eq!(
        labelled.expect("metadata").metadata.labels.expect("labels").len(),
        2
    );
    assert_eq!(
        refusal(api.patch("a", &params, &Patch::Strategic(&merge)).await),
        415
    );
    let strict = PatchParams {
        field_validation: Some(ValidationDirective::Strict),
        ..PatchParams::default()
    };
    let unknown = Patch::Merge(json!({"spec": {"unheard": "of"}}));
    assert_eq!(refusal(api.patch("a", &strict, &unknown).await), 422);

    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let map = object(json!({"metadata": {"name": "m"}, "data": {"a": "1", "b": "2"}}));
    maps.create(&PostParams::default(), &map)
        .await
        .expect("a ConfigMap");
    let change = Patch::Strategic(json!({"data": {"a": null, "c": "3"}}));
    let map = maps
        .patch("m", &params, &change)
        .await
        .expect("a strategic patch");
    let keys: Vec<String> = map.data.expect("data").into_keys().collect();
    assert_eq!(keys, ["b", "c"]);
}

pub async fn applies(hub: &Hub) {
    let api = profiles(stage(hub).await);
    let wanted = |extra: Value| {
        let mut wanted = json!({
            "apiVersion": format!("{GROUP}/v1alpha1"), "kind": KIND,
            "metadata": {"name": "a"}, "spec": {"clusterManager": {"name": "kube-rs"}},
        });
        json_patch::merge(&mut wanted, &extra);
        wanted
    };
    let one = PatchParams::apply("one");
    let two = PatchParams::apply("two");
    let named = wanted(json!({"spec": {"displayName": "one"}}));
    let made = api
        .patch("a", &one, &Patch::Apply(&named))
        .await
        .expect("a new ClusterProfile");
    assert_eq!(made.metadata.generation, Some(1));
    let again = api
        .patch("a", &one, &Patch::Apply(&named))
        .await
        .expect("nothing new");
    assert_eq!(again.metadata.resource_version, made.metadata.resource_version);

    let other = wanted(json!({"spec": {"displayName": "two"}}));
    assert_eq!(refusal(api.patch("a", &two, &Patch::Apply(&other)).await), 409);
    let forced = api
        .patch("a", &two.clone().force(), &Patch::Apply(&other))
        .await
        .expect("force");
    assert_eq!(forced.data["spec"]["displayName"], "two");
    let nothing = wanted(json!({}));
    api.patch("a", &two, &Patch::Apply(&nothing))
        .await
        .expect("to give it up");
    assert!(
        api.get("a").await.expect("it").data["spec"]
            .get("displayName")
            .is_none()
    );

    // Each task adds a condition to the same list.
    for (params, kind) in [(&one, "Joined"), (&two, "ControlPlaneHealthy")] {
        let condition = json!({"type": kind, "status": "True", "reason": "Applied", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z"});
        let mut status = wanted(json!({"status": {"conditions": [condition]}}));
        status.as_object_mut().expect("an object").remove("spec");
        api.patch_status("a", params, &Patch::Apply(&status))
            .await
            .expect("a condition");
    }
    let both = api.get("a").await.expect("it");
    assert_eq!(
        both.data["status"]["conditions"].as_array().map(Vec::len),
        Some(2)
    );
    let owners = both
        .managed_fields()
        .iter()
        .filter(|entry| entry.subresource.as_deref() == Some("status"));
    assert_eq!(owners.count(), 2);
}

pub async fn deletes(hub: &Hub) {
    let api = profiles(stage(hub).await);
    let post = PostParams::default();
    for name in ["a", "b", "c"] {
        let mut profile = profile(name);
        profile
            .labels_mut()
            .insert("first".to_owned(), (name == "a").to_string());
        api.create(&post, &profile).await.expect("a ClusterProfile");
    }
    let uid = Preconditions {
        uid: Some("another".to_owned()),
        ..Preconditions::default()
    };
    assert_eq!(
        refusal(api.delete("a", &DeleteParams::default().preconditions(uid)).await),
        409
    );
    let gone = api.delete("a", &DeleteParams::default()).await.expect("it goes");
    assert_eq!(
        gone.right()
            .and_then(|status| status.details)
            .map(|details| details.name),
        Some("a".to_owned())
    );
    let rest = ListParams::default().labels("first=false");
    api.delete_collection(&DeleteParams::default(), &rest)
        .await
        .expect("the others go");
    assert!(
        api.list(&ListParams::default())
            .await
            .expect("a list")
            .items
            .is_empty()
    );

    let mut held = profile("held");
    held.finalizers_mut().push("example.com/hold".to_owned());
    api.create(&post, &held).await.expect("a ClusterProfile");
    let held = api
        .delete("held", &DeleteParams::default())
        .await
        .expect("it is to go")
        .left();
    assert!(
        held.expect("it is still there")
            .metadata
            .deletion_timestamp
            .is_some()
    );
    let release = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    api.patch("held", &PatchParams::default(), &release)
        .await
        .expect("it is let go");
    assert_eq!(refusal(api.get("held").await), 404);
}

pub async fn discovers(hub: &Hub) {
    let client = stage(hub).await;
    let kind = GroupVersionKind::gvk(GROUP, "v1alpha2", KIND);
    let (resource, capabilities) = oneshot::pinned_kind(&client, &kind).await.expect("the kind");
    assert_eq!(
        resource,
        super::ApiResource::from_gvk_with_plural(&kind, &resource.plural)
    );
    assert_eq!(capabilities.scope, Scope::Namespaced);
    assert!(capabilities.supports_operation(verbs::WATCH));
    assert!(
        capabilities
            .subresources
            .iter()
            .any(|(below, _)| below.plural == "status")
    );
    let discovery = Discovery::new(client).run().await.expect("discovery");
    assert!(discovery.resolve_gvk(&kind).is_some());
    assert!(discovery.has_group("coordination.k8s.io"));
}
