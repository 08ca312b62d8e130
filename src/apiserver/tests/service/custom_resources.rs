//! Creating, changing and deleting custom resources.

use kube::{
    api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams},
    core::{ApiResource, GroupVersionKind},
};
use serde_json::{Value, json};

use super::{Hub, WIDGETS, widget, widget_definition};

#[tokio::test(start_paused = true)]
async fn serves_a_kube_client() {
    let hub = Hub::new().await;
    let client = hub.server.client("admin");
    let kind = GroupVersionKind::gvk("example.com", "v1", "Widget");
    let widgets: Api<DynamicObject> = Api::namespaced_with(
        client.clone(),
        "default",
        &ApiResource::from_gvk_with_plural(&kind, "widgets"),
    );
    let object: DynamicObject = serde_json::from_value(widget("a")).expect("an object");
    let created = widgets
        .create(&PostParams::default(), &object)
        .await
        .expect("create");
    assert_eq!(created.metadata.generation, Some(1));
    assert!(created.metadata.uid.is_some());
    let patch = Patch::Merge(json!({"status": {"phase": "Ready"}}));
    let patched = widgets
        .patch_status("a", &PatchParams::default(), &patch)
        .await
        .expect("patch");
    assert_eq!(patched.data["status"]["phase"], "Ready");
    assert_eq!(patched.metadata.generation, Some(1));
    let listed = widgets.list(&ListParams::default()).await.expect("list");
    assert_eq!(listed.items.len(), 1);
    widgets.delete("a", &Default::default()).await.expect("delete");
    let missing = widgets.get("a").await.expect_err("it is gone");
    assert!(matches!(missing, kube::Error::Api(status) if status.code == 404));
    let version = client.apiserver_version().await.expect("a version");
    assert_eq!((version.major.as_str(), version.minor.as_str()), ("1", "36"));
}

#[tokio::test(start_paused = true)]
async fn creates_with_defaults_and_without_status() {
    let hub = Hub::new().await;
    let mut sent = widget("a");
    sent["status"] = json!({"phase": "Mine"});
    sent["spec"]["bogus"] = 1.into();
    sent["spec"]["note"] = Value::Null;
    sent["spec"]["port"] = Value::Null;
    sent["spec"]["free"] = json!({"any": {"thing": 1}});
    let made = hub.call("POST", WIDGETS, &sent).await.expect(201);
    assert_eq!(made["spec"]["mode"], "slow");
    assert_eq!(made["spec"]["free"]["any"]["thing"], 1);
    assert!(made.get("status").is_none());
    let spec = made["spec"].as_object().expect("a spec");
    assert!(!spec.contains_key("bogus"));
    assert_eq!(spec.get("note"), Some(&Value::Null));
    assert!(!spec.contains_key("port"));
    assert_eq!(made["metadata"]["creationTimestamp"], "2026-11-20T10:00:00Z");
    let again = hub.call("POST", WIDGETS, &sent).await;
    assert_eq!(
        (again.code, &again.body["reason"]),
        (409, &json!("AlreadyExists"))
    );
    assert_eq!(again.body["message"], "widgets.example.com \"a\" already exists");
}

#[tokio::test(start_paused = true)]
async fn main_and_status_writes_keep_to_their_halves() {
    let hub = Hub::new().await;
    let path = format!("{WIDGETS}/a");
    let mut object = hub.widget("a").await;
    object["spec"]["size"] = 4.into();
    object["status"] = json!({"phase": "Ready"});
    let mut main = hub.call("PUT", &path, &object).await.expect(200);
    assert_eq!(main["metadata"]["generation"], 2);
    assert!(main.get("status").is_none());
    main["status"] = json!({"phase": "Ready"});
    main["spec"]["size"] = 9.into();
    main["metadata"]["labels"] = json!({"x": "y"});
    let status = hub
        .call("PUT", &format!("{path}/status"), &main)
        .await
        .expect(200);
    assert_eq!(status["status"]["phase"], "Ready");
    assert_eq!(status["spec"]["size"], 4);
    assert_eq!(status["metadata"]["generation"], 2);
    assert!(status["metadata"].get("labels").is_none());
    let labelled = hub
        .merge(&path, &json!({"metadata": {"labels": {"x": "y"}}}))
        .await
        .expect(200);
    assert_eq!(labelled["metadata"]["generation"], 2);
    assert_eq!(labelled["status"]["phase"], "Ready");
}

#[tokio::test(start_paused = true)]
async fn refuses_to_overwrite_the_unseen() {
    let hub = Hub::new().await;
    let path = format!("{WIDGETS}/a");
    let first = hub.widget("a").await;
    let mut newer = first.clone();
    newer["spec"]["size"] = 4.into();
    hub.call("PUT", &path, &newer).await.expect(200);
    let stale = hub.call("PUT", &path, &newer).await;
    assert_eq!((stale.code, &stale.body["reason"]), (409, &json!("Conflict")));
    assert_eq!(
        stale.body["message"],
        "Operation cannot be fulfilled on widgets.example.com \"a\": the object has been modified; please apply \
         your changes to the latest version and try again"
    );
    newer["metadata"]["resourceVersion"] = Value::Null;
    let blind = hub.call("PUT", &path, &newer).await;
    assert_eq!(blind.code, 422);
    assert_eq!(
        blind.causes(),
        [(
            "metadata.resourceVersion".to_owned(),
            "FieldValueInvalid".to_owned()
        )]
    );
    newer["metadata"]["uid"] = "another".into();
    let other = hub.call("PUT", &path, &newer).await;
    assert_eq!((other.code, &other.body["reason"]), (409, &json!("Conflict")));
    let old_version = &first["metadata"]["resourceVersion"];
    let patch = json!({"metadata": {"resourceVersion": old_version}, "spec": {"size": 5}});
    assert_eq!(hub.merge(&path, &patch).await.code, 409);
}

#[tokio::test(start_paused = true)]
async fn writes_without_a_change_leave_the_version_alone() {
    let hub = Hub::new().await;
    let path = format!("{WIDGETS}/a");
    let made = hub.widget("a").await;
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    let put = hub.call("PUT", &path, &made).await.expect(200);
    let patched = hub.merge(&path, &json!({"spec": {"size": 3}})).await.expect(200);
    let status = hub
        .merge(&format!("{path}/status"), &json!({"spec": {"size": 8}}))
        .await
        .expect(200);
    for same in [put, patched, status] {
        assert_eq!(same, made);
    }
}

#[tokio::test(start_paused = true)]
async fn dry_runs_change_nothing() {
    let hub = Hub::new().await;
    let dry = hub
        .call("POST", &format!("{WIDGETS}?dryRun=All"), &widget("a"))
        .await
        .expect(201);
    assert!(dry["metadata"].get("resourceVersion").is_none());
    assert!(dry["metadata"]["uid"].is_string());
    assert_eq!(hub.get(&format!("{WIDGETS}/a")).await.code, 404);
    let made = hub.widget("a").await;
    let path = format!("{WIDGETS}/a?dryRun=All");
    let patched = hub.merge(&path, &json!({"spec": {"size": 4}})).await.expect(200);
    assert_eq!(patched["spec"]["size"], 4);
    assert_eq!(
        patched["metadata"]["resourceVersion"],
        made["metadata"]["resourceVersion"]
    );
    hub.call("DELETE", &path, &Value::Null).await.expect(200);
    assert_eq!(hub.get(&format!("{WIDGETS}/a")).await.expect(200), made);
    let wrong = hub
        .call("POST", &format!("{WIDGETS}?dryRun=Some"), &widget("b"))
        .await;
    assert_eq!(wrong.code, 422);
    assert_eq!(
        wrong.causes(),
        [("dryRun".to_owned(), "FieldValueNotSupported".to_owned())]
    );
}

#[tokio::test(start_paused = true)]
async fn patches_in_two_ways() {
    let hub = Hub::new().await;
    hub.widget("a").await;
    let path = format!("{WIDGETS}/a");
    let json_patch = |operations: Value| {
        let body = operations.to_string().into();
        hub.send("admin", "PATCH", &path, "application/json-patch+json", body)
    };
    let replaced = json_patch(json!([
        {"op": "test", "path": "/spec/size", "value": 3},
        {"op": "replace", "path": "/spec/size", "value": 6},
    ]))
    .await
    .expect(200);
    assert_eq!(replaced["spec"]["size"], 6);
    let failed = json_patch(json!([{"op": "test", "path": "/spec/size", "value": 3}])).await;
    assert_eq!((failed.code, &failed.body["reason"]), (422, &json!("Invalid")));
    let removed = hub
        .merge(&path, &json!({"spec": {"mode": null}}))
        .await
        .expect(200);
    assert_eq!(removed["spec"]["mode"], "slow");
    let renamed = hub.merge(&path, &json!({"metadata": {"name": "b"}})).await;
    assert_eq!(renamed.code, 400);
    let kind = "application/strategic-merge-patch+json";
    let strategic = hub.send("admin", "PATCH", &path, kind, "{}".into()).await;
    assert_eq!(
        (strategic.code, &strategic.body["reason"]),
        (415, &json!("UnsupportedMediaType"))
    );
    let missing = hub.merge(&format!("{WIDGETS}/none"), &json!({})).await;
    assert_eq!(
        (missing.code, &missing.body["message"]),
        (404, &json!("widgets.example.com \"none\" not found"))
    );
}

#[tokio::test(start_paused = true)]
async fn deletes_after_the_finalizers() {
    let hub = Hub::new().await;
    let path = format!("{WIDGETS}/a");
    let mut object = widget("a");
    object["metadata"]["finalizers"] = json!(["example.com/wait"]);
    hub.call("POST", WIDGETS, &object).await.expect(201);
    let waiting = hub.call("DELETE", &path, &Value::Null).await.expect(200);
    assert_eq!(waiting["kind"], "Widget");
    assert_eq!(waiting["metadata"]["deletionGracePeriodSeconds"], 0);
    assert_eq!(waiting["metadata"]["generation"], 2);
    let more = json!({"metadata": {"finalizers": ["example.com/wait", "example.com/more"]}});
    let refused = hub.merge(&path, &more).await;
    assert_eq!(refused.code, 422);
    assert!(
        refused
            .causes()
            .contains(&("metadata.finalizers".to_owned(), "FieldValueForbidden".to_owned()))
    );
    hub.merge(&path, &json!({"metadata": {"finalizers": null}}))
        .await
        .expect(200);
    assert_eq!(hub.get(&path).await.code, 404);

    let made = hub.widget("b").await;
    let path = format!("{WIDGETS}/b");
    let wrong = json!({"preconditions": {"uid": "another"}});
    assert_eq!(hub.call("DELETE", &path, &wrong).await.code, 409);
    let deleted = hub.call("DELETE", &path, &Value::Null).await.expect(200);
    assert_eq!(deleted["status"], "Success");
    assert_eq!(deleted["details"]["uid"], made["metadata"]["uid"]);
    assert_eq!(deleted["details"]["kind"], "widgets");
}

#[tokio::test(start_paused = true)]
async fn generates_names_and_keeps_to_namespaces() {
    let hub = Hub::new().await;
    let mut object = widget("");
    object["metadata"] = json!({"generateName": "w-"});
    let first = hub.call("POST", WIDGETS, &object).await.expect(201);
    let second = hub.call("POST", WIDGETS, &object).await.expect(201);
    let name = first["metadata"]["name"].as_str().expect("a name");
    assert!(name.starts_with("w-") && name.len() == 7);
    assert_ne!(first["metadata"]["name"], second["metadata"]["name"]);
    assert_eq!(first["metadata"]["namespace"], "default");

    let elsewhere = WIDGETS.replace("default", "nowhere");
    let missing = hub.call("POST", &elsewhere, &widget("a")).await;
    assert_eq!(
        (missing.code, &missing.body["message"]),
        (404, &json!("namespaces \"nowhere\" not found"))
    );
    object["metadata"] = json!({"name": "a", "namespace": "kube-system"});
    assert_eq!(hub.call("POST", WIDGETS, &object).await.code, 400);
}

#[tokio::test(start_paused = true)]
async fn namespaces_take_their_contents_along() {
    let hub = Hub::new().await;
    let namespace = json!({"metadata": {"name": "team"}});
    let made = hub
        .call("POST", "/api/v1/namespaces", &namespace)
        .await
        .expect(201);
    assert_eq!(made["status"]["phase"], "Active");
    assert_eq!(made["spec"]["finalizers"], json!(["kubernetes"]));
    assert_eq!(
        made["metadata"]["labels"],
        json!({"kubernetes.io/metadata.name": "team"})
    );
    let there = WIDGETS.replace("default", "team");
    hub.call("POST", &there, &widget("a")).await.expect(201);
    let mut held = widget("b");
    held["metadata"]["finalizers"] = json!(["example.com/wait"]);
    hub.call("POST", &there, &held).await.expect(201);
    let going = hub
        .call("DELETE", "/api/v1/namespaces/team", &Value::Null)
        .await
        .expect(200);
    assert_eq!(going["status"]["phase"], "Terminating");
    assert_eq!(hub.get(&format!("{there}/a")).await.code, 404);
    let late = hub.call("POST", &there, &widget("c")).await;
    assert_eq!(late.code, 403);
    assert_eq!(
        late.body["details"]["causes"][0]["reason"],
        "NamespaceTerminating"
    );
    hub.merge(&format!("{there}/b"), &json!({"metadata": {"finalizers": null}}))
        .await
        .expect(200);
    assert_eq!(hub.get("/api/v1/namespaces/team").await.code, 404);
}

#[tokio::test(start_paused = true)]
async fn serves_one_object_in_all_versions() {
    let hub = Hub::new().await;
    hub.widget("a").await;
    let beta = WIDGETS.replace("/v1/", "/v1beta1/");
    let read = hub.get(&format!("{beta}/a")).await.expect(200);
    assert_eq!(read["apiVersion"], "example.com/v1beta1");
    let written = hub
        .merge(&format!("{beta}/a"), &json!({"spec": {"size": 7}}))
        .await
        .expect(200);
    assert_eq!(written["apiVersion"], "example.com/v1beta1");
    let read = hub.get(&format!("{WIDGETS}/a")).await.expect(200);
    assert_eq!(
        (&read["apiVersion"], &read["spec"]["size"]),
        (&json!("example.com/v1"), &json!(7))
    );
    assert_eq!(hub.get(&WIDGETS.replace("/v1/", "/v2/")).await.code, 404);
}

#[tokio::test(start_paused = true)]
async fn keeps_secrets() {
    let hub = Hub::new().await;
    let secrets = "/api/v1/namespaces/default/secrets";
    let secret = json!({
        "metadata": {"name": "s"}, "data": {"a": "MQ=="}, "stringData": {"b": "2"}, "immutable": true,
    });
    let made = hub.call("POST", secrets, &secret).await.expect(201);
    assert_eq!(made["data"], json!({"a": "MQ==", "b": "Mg=="}));
    assert_eq!(made["type"], "Opaque");
    assert!(made.get("stringData").is_none());
    let changed = hub
        .merge(&format!("{secrets}/s"), &json!({"data": {"a": "Mw=="}}))
        .await;
    assert_eq!(
        changed.causes(),
        [("data".to_owned(), "FieldValueForbidden".to_owned())]
    );
    let mut bad = secret.clone();
    bad["data"]["a"] = "*".into();
    assert_eq!(hub.call("POST", secrets, &bad).await.code, 400);
    bad["data"] = json!({"a/b": "MQ=="});
    let refused = hub.call("POST", secrets, &bad).await;
    assert_eq!(
        refused.causes(),
        [("data[a/b]".to_owned(), "FieldValueInvalid".to_owned())]
    );
    let unconditional = json!({
        "metadata": {"name": "t"}, "data": {"a": "MQ=="},
    });
    hub.call("POST", secrets, &unconditional).await.expect(201);
    hub.call(
        "PUT",
        &format!("{secrets}/t"),
        &json!({"metadata": {"name": "t"}}),
    )
    .await
    .expect(200);
}

#[tokio::test(start_paused = true)]
async fn what_is_told_of_the_api_follows_the_definitions() {
    let hub = Hub::new().await;
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let definition = format!("{definitions}/widgets.example.com");
    let check = async |is_told: bool| {
        for path in ["/apis/example.com/v1", "/openapi/v3/apis/example.com/v1"] {
            hub.get(path).await.expect(if is_told { 200 } else { 404 });
        }
        for path in ["/apis", "/openapi/v2", "/openapi/v3"] {
            let told = hub.get(path).await.expect(200).to_string();
            assert_eq!(told.contains("example.com"), is_told, "{path}");
        }
    };
    check(true).await;
    hub.call("DELETE", &definition, &Value::Null).await.expect(200);
    check(false).await;
    hub.call("POST", definitions, &widget_definition())
        .await
        .expect(201);
    check(true).await;
}
