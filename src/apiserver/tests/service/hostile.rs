//! Every request gets an answer, and the server survives it, however deep its objects are.

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Hub, WIDGETS, widget};

const JSON_PATCH: &str = "application/json-patch+json";
const METHODS: &str = "GET HEAD POST PUT PATCH DELETE OPTIONS";
const PATHS: &str = "
/apis/fidelity.example/v1/namespaces/default/widgets /apis/fidelity.example/v1/namespaces/default/widgets/a
/apis/fidelity.example/v1/namespaces/default/widgets/a/status
/apis/fidelity.example/v1/namespaces/default/widgets/a/scale /apis/fidelity.example/v1/widgets
/apis/apiextensions.k8s.io/v1/customresourcedefinitions
/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.fidelity.example
/api/v1/namespaces /api/v1/namespaces/default /api/v1/namespaces/default/secrets
/api/v1/namespaces/default/configmaps/a /apis /api/v2 /readyz/etcd
/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
const TYPES: &str = "
application/json application/merge-patch+json application/json-patch+json application/strategic-merge-patch+json
application/apply-patch+yaml application/yaml application/vnd.kubernetes.protobuf";
const PARAMETERS: &str = "
watch timeoutSeconds limit continue resourceVersion resourceVersionMatch sendInitialEvents labelSelector
fieldSelector dryRun fieldValidation propagationPolicy";
/// The places of a valid object where a value of any type may be put.
const PLACES: &str = "
/kind /apiVersion /metadata /metadata/name /metadata/labels /metadata/finalizers /metadata/ownerReferences
/metadata/managedFields /metadata/resourceVersion /spec /spec/names /spec/versions /spec/versions/0/schema
/spec/versions/0/schema/openAPIV3Schema /spec/versions/0/schema/openAPIV3Schema/properties/spec
/spec/versions/0/subresources /spec/versions/0/selectableFields /status";

fn one_of(words: &'static str) -> impl Strategy<Value = &'static str> {
    prop::sample::select(words.split_whitespace().collect::<Vec<_>>())
}

/// A value of any type, valid or not.
fn scrap() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        let key = prop::sample::select(vec!["name", "spec", "a", "$ref", "op", "path", "x-y", ""]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.prop_map(str::to_owned), inner), 0..4)
                .prop_map(|fields| fields.into_iter().collect()),
        ]
    })
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    let definition = super::widget_definition();
    let spoiled = (any::<bool>(), one_of(PLACES), scrap()).prop_map(move |(small, place, scrap)| {
        let mut object = if small { widget("a") } else { definition.clone() };
        if let Some(value) = object.pointer_mut(place) {
            *value = scrap;
        }
        object.to_string().into_bytes()
    });
    let patch = (one_of(PLACES), scrap()).prop_map(|(path, value)| {
        json!([{"op": "add", "path": path, "value": value}, {"op": "move", "from": path, "path": "/spec"}])
            .to_string()
            .into_bytes()
    });
    prop_oneof![
        4 => spoiled,
        1 => patch,
        1 => scrap().prop_map(|value| value.to_string().into_bytes()),
        1 => prop::collection::vec(any::<u8>(), 0..40),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_request_is_answered(
        requests in prop::collection::vec(
            (
                one_of(METHODS),
                one_of(PATHS),
                prop::collection::vec((one_of(PARAMETERS), "[a-zA-Z0-9=,!%() -]{0,6}"), 0..3),
                one_of(TYPES),
                body(),
            ),
            1..12,
        ),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let hub = Hub::new().await;
            hub.widget("a").await;
            for (method, path, parameters, kind, body) in requests {
                let parameters = parameters.iter();
                let query = parameters.map(|(name, value)| format!("{name}={}", value.replace(['%', ' '], "%20")));
                let query: Vec<String> = query.collect();
                let uri = format!("{path}?{}", query.join("&"));
                let answer = hub.request("admin", method, &uri, kind, Bytes::from(body)).await;
                prop_assert_ne!(answer.status().as_u16() / 100, 3);
            }
            // The server still works.
            prop_assert_eq!(hub.get("/api/v1/namespaces").await.code, 200);
            Ok(())
        })?;
    }
}

async fn patch(hub: &Hub, kind: &str, body: String) -> u16 {
    let path = format!("{WIDGETS}/a");
    hub.send("admin", "PATCH", &path, kind, body.into()).await.code
}

/// The object would be deeper than the stack: the server has to refuse it before it is made.
#[tokio::test(start_paused = true)]
async fn objects_of_any_depth_leave_the_server_alive() {
    let hub = Hub::new().await;
    hub.widget("a").await;
    let mut path = "/x".to_owned();
    let mut patches = vec![json!({"op": "add", "path": "/x", "value": {}})];
    // Each copy goes to the innermost place, and doubles the depth.
    for _ in 0..18 {
        patches.push(json!({"op": "copy", "from": "/x", "path": format!("{path}/x")}));
        path = format!("{path}{path}");
    }
    let body = Value::from(patches).to_string();
    assert_eq!(patch(&hub, JSON_PATCH, body).await, 422);
    // So does what is moved.
    let values = 60;
    let deep = |leaf: &str| format!("{}{leaf}{}", r#"{"x":"#.repeat(values), "}".repeat(values));
    let inner = "/x".repeat(values);
    let moved = |n: usize| {
        let (value, place) = (deep("{}"), "/x".repeat(n * values));
        let add = format!(r#"{{"op":"add","path":"/y{n}","value":{value}}}"#);
        format!(r#"{add},{{"op":"move","from":"/y{n}","path":"{place}{inner}"}}"#)
    };
    let moves = (0..50).map(moved).collect::<Vec<_>>().join(",");
    assert_eq!(patch(&hub, JSON_PATCH, format!("[{moves}]")).await, 422);
    for depth in [100, 130, 500, 100_000] {
        for (open, close) in [("[", "]"), (r#"{"x":"#, "}")] {
            let nested = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            for (kind, options) in [
                ("application/merge-patch+json", ""),
                ("application/apply-patch+yaml", "?fieldManager=me&force=true"),
            ] {
                let body = format!(
                    r#"{{"apiVersion":"fidelity.example/v1","kind":"Widget","metadata":{{"name":"a"}},"spec":{{"free":{{"x":{nested}}}}}}}"#
                );
                let path = format!("{WIDGETS}/a{options}");
                let answer = hub.send("admin", "PATCH", &path, kind, Bytes::from(body)).await;
                let is_taken = answer.code == 200;
                assert_eq!(is_taken, depth == 100, "{depth} {open} {kind}: {}", answer.body);
            }
        }
        // What was stored is read again.
        assert!(hub.get(&format!("{WIDGETS}/a")).await.expect(200)["spec"].is_object());
    }
}
