//! Misbehaviours about the CRD. A hub without it is one whose group is not found: see [`super::rows`].

use std::time::Duration;

use super::fault::{
    Act::{self, *},
    Event, Fault, On,
};

/// A CRD that is not served yet, or no more: its group has no resources.
const NO_RESOURCES: &str =
    r#"{"kind":"APIResourceList","groupVersion":"multicluster.x-k8s.io/v1alpha1","resources":[]}"#;
const CLUSTER_SCOPED: &str = r#"{"kind":"APIResourceList","groupVersion":"multicluster.x-k8s.io/v1alpha1","resources":[
    {"name":"clusterprofiles","singularName":"clusterprofile","namespaced":false,"kind":"ClusterProfile","verbs":["get","list","watch"]},
    {"name":"clusterprofiles/status","namespaced":false,"kind":"ClusterProfile","verbs":["get"]}]}"#;
const NO_STATUS: &str = r#"{"kind":"APIResourceList","groupVersion":"multicluster.x-k8s.io/v1alpha1","resources":[
    {"name":"clusterprofiles","singularName":"clusterprofile","namespaced":true,"kind":"ClusterProfile","verbs":["get","list","watch"]}]}"#;
const TWO_VERSIONS: &str = r#"{"kind":"APIGroup","name":"multicluster.x-k8s.io","versions":[
    {"groupVersion":"multicluster.x-k8s.io/v1alpha2","version":"v1alpha2"},
    {"groupVersion":"multicluster.x-k8s.io/v1alpha1","version":"v1alpha1"}]}"#;
const OTHER_VERSION: &str = r#"{"kind":"APIGroup","name":"multicluster.x-k8s.io","versions":[
    {"groupVersion":"multicluster.x-k8s.io/v1","version":"v1"}]}"#;
/// What a definition may say that has another scope and no subresource, and whose versions want a conversion.
const ODD_DEFINITION: &str = r#"{"kind":"CustomResourceDefinition","metadata":{"name":"clusterprofiles.multicluster.x-k8s.io"},
    "spec":{"scope":"Cluster","conversion":{"strategy":"Webhook"},"versions":[
    {"name":"v1alpha2","served":true,"storage":true},{"name":"v1alpha1","served":true,"storage":false}]}}"#;
const CONVERSION: &str = r#"{"kind":"Status","status":"Failure","code":500,"reason":"InternalError","message":
    "conversion webhook for multicluster.x-k8s.io/v1alpha2, Kind=ClusterProfile failed: Post \"https://webhook.example/convert\": EOF"}"#;
const CONVERSION_EVENT: &str =
    r#"{"type":"ERROR","object":{"kind":"Status","code":500,"message":"conversion webhook failed: EOF"}}"#;
/// As long as the watch cache of a new CRD is filled.
const INITIALIZING: &str = r#"{"kind":"Status","status":"Failure","code":429,"reason":"TooManyRequests",
    "message":"storage is (re)initializing","details":{"retryAfterSeconds":1}}"#;

pub fn rows() -> Vec<Vec<Fault>> {
    let always = |on: On, act: Act| Fault::always(on, act);
    let mut rows = vec![
        vec![always(On::Profiles, Code(404, None))],
        vec![always(On::Resources, Says(NO_RESOURCES))],
        vec![always(On::Resources, Says(CLUSTER_SCOPED))],
        vec![always(On::Resources, Says(NO_STATUS))],
        vec![always(On::Group, Says(TWO_VERSIONS))],
        vec![always(On::Group, Says(OTHER_VERSION))],
        vec![always(On::Definition, Says(ODD_DEFINITION))],
        vec![always(On::Profiles, Refuses(429, INITIALIZING))],
        vec![always(On::Profiles, Refuses(429, INITIALIZING)).times(3)],
        vec![always(On::Profiles, Refuses(500, CONVERSION))],
        vec![always(On::List, Refuses(500, CONVERSION))],
        vec![always(On::Stream, Line(CONVERSION_EVENT))],
        vec![
            always(On::Stream, Lasts(Duration::from_secs(20))),
            always(On::Profiles, Refuses(500, CONVERSION)).from(1),
        ],
        vec![
            always(On::Stream, Code(422, None)),
            always(On::Resume, Line(CONVERSION_EVENT)),
        ],
    ];
    for event in [
        Event::DeletesDefinition,
        Event::WithdrawsVersion,
        Event::AddsColumn,
        Event::LosesStatus,
    ] {
        for from in [2, 30] {
            rows.push(vec![always(On::Everything, Happens(event)).from(from)]);
        }
    }
    rows
}
