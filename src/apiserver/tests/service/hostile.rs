//! Every request gets an answer, and the server survives it.

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Hub, WIDGETS, widget};

const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const PATHS: [&str; 15] = [
    WIDGETS,
    "/apis/example.com/v1/namespaces/default/widgets/a",
    "/apis/example.com/v1/namespaces/default/widgets/a/status",
    "/apis/example.com/v1/namespaces/default/widgets/a/scale",
    "/apis/example.com/v1/widgets",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com",
    "/api/v1/namespaces",
    "/api/v1/namespaces/default",
    "/api/v1/namespaces/default/secrets",
    "/api/v1/namespaces/default/configmaps/a",
    "/apis",
    "/api/v2",
    "/readyz/etcd",
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
];
const TYPES: [&str; 7] = [
    "application/json",
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
];
const PARAMETERS: [&str; 12] = [
    "watch",
    "timeoutSeconds",
    "limit",
    "continue",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "labelSelector",
    "fieldSelector",
    "dryRun",
    "fieldValidation",
    "propagationPolicy",
];

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

/// The places of a valid object where such a value may be put.
fn places() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "/kind",
        "/apiVersion",
        "/metadata",
        "/metadata/name",
        "/metadata/labels",
        "/metadata/finalizers",
        "/metadata/ownerReferences",
        "/metadata/managedFields",
        "/metadata/resourceVersion",
        "/spec",
        "/spec/names",
        "/spec/versions",
        "/spec/versions/0/schema",
        "/spec/versions/0/schema/openAPIV3Schema",
        "/spec/versions/0/schema/openAPIV3Schema/properties/spec",
        "/spec/versions/0/subresources",
        "/spec/versions/0/selectableFields",
        "/status",
    ])
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    let definition = super::widget_definition();
    let spoiled = (any::<bool>(), places(), scrap()).prop_map(move |(small, place, scrap)| {
        let mut object = if small { widget("a") } else { definition.clone() };
        if let Some(value) = object.pointer_mut(place) {
            *value = scrap;
        }
        object.to_string().into_bytes()
    });
    let patch = (places(), scrap()).prop_map(|(path, value)| {
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
                prop::sample::select(METHODS.to_vec()),
                prop::sample::select(PATHS.to_vec()),
                prop::collection::vec((prop::sample::select(PARAMETERS.to_vec()), "[a-zA-Z0-9=,!%() -]{0,6}"), 0..3),
                prop::sample::select(TYPES.to_vec()),
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
                let query: Vec<String> = parameters
                    .iter()
                    .map(|(name, value)| format!("{name}={}", value.replace(['%', ' '], "%20")))
                    .collect();
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
