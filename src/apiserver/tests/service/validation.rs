//! Refusals, with their causes.

use rstest::rstest;
use serde_json::{Value, json};

use super::{Hub, WIDGETS, widget};

#[rstest]
#[case(json!({"spec": {"size": "3"}}), &[("spec.size", "FieldValueTypeInvalid"), ("<nil>", "FieldValueInvalid")])]
#[case(json!({"spec": {"size": 11}}), &[("spec.size", "FieldValueInvalid")])]
#[case(json!({"spec": {"size": 0}}), &[("spec.size", "FieldValueInvalid")])]
#[case(json!({"spec": {"size": null}}), &[("spec.size", "FieldValueRequired"), ("<nil>", "FieldValueInvalid")])]
#[case(json!({"spec": {"owner": "äöüßé€"}}), &[("spec.owner", "FieldValueTooLong"), ("<nil>", "FieldValueInvalid")])]
#[case(json!({"spec": {"owner": "äöüßé"}}), &[])]
#[case(json!({"spec": {"owner": "a!"}}), &[("spec.owner", "FieldValueInvalid")])]
#[case(json!({"spec": {"mode": "odd"}}), &[("spec.mode", "FieldValueNotSupported"), ("<nil>", "FieldValueInvalid")])]
#[case(json!({"spec": {"mode": "fast", "size": 5}}), &[("spec", "FieldValueInvalid")])]
#[case(json!({"spec": {"mode": "fast", "size": 4}}), &[])]
#[case(json!({"spec": {"size": 2.5}}), &[("spec.size", "FieldValueTypeInvalid"), ("<nil>", "FieldValueInvalid"),
    ("<nil>", "FieldValueInvalid")])]
#[case(json!({"spec": {"size": 2.0}}), &[])]
#[case(json!({"spec": {"short": "äöü"}}), &[])]
#[case(json!({"spec": {"short": "äöüß"}}), &[("spec.short", "FieldValueInvalid")])]
#[case(json!({"spec": {"port": 80}}), &[])]
#[case(json!({"spec": {"port": "http"}}), &[])]
#[case(json!({"spec": {"port": true}}), &[("spec.port", "FieldValueTypeInvalid"), ("<nil>", "FieldValueInvalid")])]
#[case(json!({"spec": {"tags": ["a", "b", "a", "a"]}}), &[("spec.tags[2]", "FieldValueDuplicate")])]
#[case(json!({"spec": {"labels": {"x": 1}}}), &[("spec.labels.x", "FieldValueTypeInvalid"), ("<nil>", "FieldValueInvalid")])]
#[case(json!({"spec": {"template": {"kind": "X", "metadata": {"labels": {"a b": "c"}}}}}),
    &[("spec.template.apiVersion", "FieldValueRequired"), ("spec.template.metadata.labels", "FieldValueInvalid"),
      ("<nil>", "FieldValueInvalid")])]
#[case(json!({"metadata": {"name": "A_b"}}), &[("metadata.name", "FieldValueInvalid")])]
#[case(json!({"metadata": {"labels": {"a/b/c": "x", "y": "-"}}}),
    &[("metadata.labels", "FieldValueInvalid"), ("metadata.labels", "FieldValueInvalid")])]
#[case(json!({"metadata": {"labels": {"y": "0123456789012345678901234567890123456789012345678901234567890123"}}}),
    &[("metadata.labels", "FieldValueInvalid")])]
#[case(json!({"metadata": {"annotations": {"big": "x".repeat(256 * 1024)}}}),
    &[("metadata.annotations", "FieldValueTooLong"), ("<nil>", "FieldValueInvalid")])]
#[case(json!({"kind": "Gadget"}), &[("kind", "FieldValueInvalid")])]
#[tokio::test(start_paused = true)]
async fn of_new_objects(#[case] change: Value, #[case] expected: &[(&str, &str)]) {
    let hub = Hub::new().await;
    let mut object = widget("a");
    json_patch::merge(&mut object, &change);
    if change["spec"].get("size").is_some_and(Value::is_null) {
        object["spec"]["size"] = Value::Null;
    }
    let answer = hub.call("POST", WIDGETS, &object).await;
    let mut expected: Vec<(String, String)> = expected
        .iter()
        .map(|(field, reason)| ((*field).to_owned(), (*reason).to_owned()))
        .collect();
    expected.sort();
    assert_eq!(answer.causes(), expected, "{}", answer.body);
    assert_eq!(answer.code, if expected.is_empty() { 201 } else { 422 });
}

#[tokio::test(start_paused = true)]
async fn tells_what_is_wrong_in_words() {
    let hub = Hub::new().await;
    let mut object = widget("a");
    object["spec"]["size"] = "3".into();
    let answer = hub.call("POST", WIDGETS, &object).await.expect(422);
    assert_eq!(
        answer["details"]["causes"][0]["message"],
        "Invalid value: \"string\": spec.size in body must be of type integer: \"string\""
    );
    assert_eq!(answer["details"]["kind"], "Widget");
    object["spec"]["size"] = 12.into();
    let answer = hub.call("POST", WIDGETS, &object).await.expect(422);
    assert_eq!(
        answer["message"],
        "Widget.example.com \"a\" is invalid: spec.size: Invalid value: 12: spec.size in body should be less than \
         or equal to 10"
    );
}

#[tokio::test(start_paused = true)]
async fn of_transitions() {
    let hub = Hub::new().await;
    let path = format!("{WIDGETS}/a");
    hub.widget("a").await;
    let changed = hub.merge(&path, &json!({"spec": {"owner": "bob"}})).await;
    assert_eq!(
        changed.causes(),
        [("spec.owner".to_owned(), "FieldValueInvalid".to_owned())]
    );
    assert_eq!(
        changed.body["details"]["causes"][0]["message"],
        "Invalid value: \"bob\": the owner stays"
    );
    // Without an old value, transition rules are not evaluated.
    hub.merge(&path, &json!({"spec": {"owner": null}}))
        .await
        .expect(200);
    hub.merge(&path, &json!({"spec": {"owner": "bob"}}))
        .await
        .expect(200);
}

#[tokio::test(start_paused = true)]
async fn of_status() {
    let hub = Hub::new().await;
    hub.widget("a").await;
    let path = format!("{WIDGETS}/a/status");
    let conditions = |list: Value| json!({"status": {"conditions": list}});
    let wrong = conditions(json!([{"type": "A", "status": "Maybe", "lastTransitionTime": "now"}]));
    let answer = hub.merge(&path, &wrong).await;
    let field = |field: &str, reason: &str| (field.to_owned(), reason.to_owned());
    assert_eq!(
        answer.causes(),
        [
            field("<nil>", "FieldValueInvalid"),
            field("status.conditions[0].lastTransitionTime", "FieldValueTypeInvalid"),
            field("status.conditions[0].status", "FieldValueNotSupported"),
        ]
    );
    let twice = conditions(json!([{"type": "A", "status": "True"}, {"type": "A", "status": "False"}]));
    let answer = hub.merge(&path, &twice).await;
    assert_eq!(
        answer.causes(),
        [field("status.conditions[1]", "FieldValueDuplicate")]
    );
    assert_eq!(
        answer.body["details"]["causes"][0]["message"],
        "Duplicate value: {\"type\":\"A\"}"
    );
}

#[tokio::test(start_paused = true)]
async fn lets_old_faults_pass_but_no_new_ones() {
    let hub = Hub::new().await;
    hub.widget("a").await;
    let definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com";
    let mut object = hub.get(definition).await.expect(200);
    for version in object["spec"]["versions"].as_array_mut().expect("versions") {
        version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["size"]["minimum"] =
            5.into();
    }
    hub.call("PUT", definition, &object).await.expect(200);
    let path = format!("{WIDGETS}/a");
    hub.merge(&path, &json!({"spec": {"mode": "fast"}}))
        .await
        .expect(200);
    let changed = hub.merge(&path, &json!({"spec": {"size": 4}})).await;
    assert_eq!(
        changed.causes(),
        [("spec.size".to_owned(), "FieldValueInvalid".to_owned())]
    );
}

#[tokio::test(start_paused = true)]
async fn of_unknown_fields_when_strict() {
    let hub = Hub::new().await;
    let mut object = widget("a");
    object["spec"]["bogus"] = 1.into();
    object["metadata"]["odd"] = 1.into();
    let strict = hub
        .call("POST", &format!("{WIDGETS}?fieldValidation=Strict"), &object)
        .await;
    assert_eq!(strict.code, 400);
    assert_eq!(
        strict.body["message"],
        "Widget in version \"v1\" cannot be handled as a Widget: strict decoding error: unknown field \
         \"metadata.odd\", unknown field \"spec.bogus\""
    );
    let warned = hub
        .request(
            "admin",
            "POST",
            WIDGETS,
            "application/json",
            object.to_string().into(),
        )
        .await;
    assert_eq!(warned.status().as_u16(), 201);
    let warnings: Vec<_> = warned.headers().get_all("warning").iter().collect();
    assert_eq!(
        warnings,
        [
            "299 - \"unknown field \\\"metadata.odd\\\"\"",
            "299 - \"unknown field \\\"spec.bogus\\\"\""
        ]
    );
}

#[rstest]
#[case("application/json", "not json", 400)]
#[case("application/json", "[]", 400)]
#[case("application/json", r#"{"kind": "Widget"}"#, 400)]
#[case(
    "application/json",
    r#"{"kind": "Widget", "apiVersion": "example.com/v9"}"#,
    400
)]
#[case(
    "application/json",
    r#"{"kind": "Widget", "apiVersion": "example.com/v1", "metadata": {"labels": 1}}"#,
    400
)]
#[case("text/plain", "{}", 415)]
#[case("application/vnd.kubernetes.protobuf", "k8s\0", 415)]
#[tokio::test(start_paused = true)]
async fn of_what_cannot_be_read(#[case] kind: &str, #[case] body: &'static str, #[case] code: u16) {
    let hub = Hub::new().await;
    let answer = hub.send("admin", "POST", WIDGETS, kind, body.into()).await;
    assert_eq!(answer.code, code, "{}", answer.body);
    assert_eq!(answer.body["kind"], "Status");
}

#[tokio::test(start_paused = true)]
async fn of_too_much() {
    let hub = Hub::new().await;
    let mut object = widget("a");
    object["spec"]["free"] = json!({"big": "x".repeat(3 * 1024 * 1024)});
    let answer = hub.call("POST", WIDGETS, &object).await;
    assert_eq!(
        (answer.code, &answer.body["reason"]),
        (413, &json!("RequestEntityTooLarge"))
    );
}

#[tokio::test(start_paused = true)]
async fn of_definitions() {
    let hub = Hub::new().await;
    let definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let good = hub
        .get(&format!("{definition}/widgets.example.com"))
        .await
        .expect(200);
    let conditions = good["status"]["conditions"].as_array().expect("conditions");
    let kinds: Vec<_> = conditions
        .iter()
        .map(|condition| (&condition["type"], &condition["status"]))
        .collect();
    assert_eq!(
        kinds,
        [
            (&json!("NamesAccepted"), &json!("True")),
            (&json!("Established"), &json!("True"))
        ]
    );
    let mut bad = json!({
        "metadata": {"name": "gadgets.example.com"}, "spec": {
            "group": "example.com", "scope": "Somewhere",
            "names": {"plural": "gadgetz", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
            "versions": [{"name": "v1", "served": true, "storage": false, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"a": {"type": "string", "pattern": "("}, "b": {}},
            }}}],
        },
    });
    let answer = hub.call("POST", definition, &bad).await;
    let fields: Vec<String> = answer.causes().into_iter().map(|(field, _)| field).collect();
    assert_eq!(
        fields,
        [
            "metadata.name",
            "spec.scope",
            "spec.validation.openAPIV3Schema.properties[a].pattern",
            "spec.versions",
            "status.storedVersions",
        ]
    );
    bad["spec"] = good["spec"].clone();
    assert_eq!(hub.call("POST", definition, &bad).await.code, 422);
    hub.call(
        "DELETE",
        &format!("{definition}/widgets.example.com"),
        &Value::Null,
    )
    .await
    .expect(200);
    let gone = hub.get(WIDGETS).await;
    assert_eq!((gone.code, &gone.body), (404, &json!("404 page not found\n")));
}
