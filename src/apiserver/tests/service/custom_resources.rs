//! Creating, changing and deleting custom resources.

use serde_json::{Value, json};

use super::{Hub, WIDGETS, widget, widget_definition};

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
async fn what_is_told_of_the_api_follows_the_definitions() {
    let hub = Hub::new().await;
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let definition = format!("{definitions}/widgets.example.com");
    let check = async |is_told: bool| {
        for path in ["/apis/example.com/v1", "/openapi/v3/apis/example.com/v1"] {
            hub.get(path).await.expect(if is_told { 200 } else { 404 });
        }
        for path in ["/apis", "/openapi/v3"] {
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
