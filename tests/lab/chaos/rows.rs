//! The misbehaviours.

use std::time::Duration;

use super::fault::{
    Act::{self, *},
    Event, Fault,
    On::{self, *},
};

/// Hits all such requests.
const fn always(on: On, act: Act) -> Fault {
    Fault::always(on, act)
}

/// The history is lost.
const GONE: &str =
    r#"{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}"#;

/// What is done to each kind of request from the start on.
const EVERYWHERE: [Act; 14] = [
    Code(500, None),
    Code(503, Some(3600)),
    Code(429, Some(0)),
    Code(403, None),
    Code(404, None),
    Code(410, None),
    Redirects(302),
    Hangs,
    Resets,
    Drips,
    Blanks,
    Says("<html>200 OK</html>"),
    Cuts(100),
    Stops(100),
];

/// Requests by what they are for.
pub const KINDS: [On; 9] = [
    Version, Group, Resources, Definition, Reviews, Namespaces, List, Stream, Secrets,
];

/// What is done to streams of events.
const STREAMS: [Act; 13] = [
    Bookmarks,
    Act::Profiles,
    OneBookmark,
    Lines(1),
    Lines(2),
    Line(GONE),
    Line(r#"{"type":"ERROR","object":{"kind":"Status","message":"no code"}}"#),
    Line(r#"{"type":"ERROR","object":null}"#),
    Line(r#"{"type":"WONDER","object":{}}"#),
    Line("{}"),
    Line(r#"{"type":"MODIFIED","object":"#),
    Twice,
    Delays(Duration::from_secs(8)),
];

pub fn rows() -> Vec<Vec<Fault>> {
    let mut rows = requests();
    rows.extend(storage());
    rows.extend(definition());
    rows
}

/// What is done to requests, whatever the hub says of them.
fn requests() -> Vec<Vec<Fault>> {
    let mut rows: Vec<Vec<Fault>> = Vec::new();
    let mut one = |fault: Fault| rows.push(vec![fault]);
    for on in KINDS {
        for act in EVERYWHERE {
            one(always(on, act));
        }
    }
    // Statuses of all kinds, once the run has begun.
    for code in [
        400, 401, 404, 405, 408, 409, 410, 413, 418, 422, 429, 500, 502, 503, 504, 599,
    ] {
        one(always(Everything, Code(code, None)).from(20));
    }
    for act in [
        Hangs,
        Resets,
        Drips,
        Blanks,
        Says(""),
        Says("null"),
        Says("[]"),
        Cuts(0),
        Stops(1),
    ] {
        one(always(Everything, act).from(20));
        one(always(On::Profiles, act));
    }
    // Now and then.
    for act in [
        Code(503, None),
        Code(429, Some(1)),
        Resets,
        Cuts(50),
        Delays(Duration::from_secs(3)),
    ] {
        for every in [2, 3] {
            one(always(Everything, act).every(every));
        }
        one(always(Everything, act).times(1));
    }
    // Streams.
    for act in STREAMS {
        one(always(Stream, act));
    }
    // Lists.
    for on in [List, Namespaces, Secrets] {
        one(always(on, Pages { other: false }));
        one(always(on, Pages { other: true }));
        one(always(on, Says(r#"{"kind":"List","items":null}"#)));
    }
    one(always(Group, Versions(20_000)));
    for minutes in [-20, -1, 1, 20] {
        one(always(Everything, Skews(minutes)));
    }
    one(always(Everything, Refuses(401, "no such token")));
    // A hub without streaming lists, and more.
    let plain = always(Stream, Code(422, None));
    for act in STREAMS.into_iter().chain(EVERYWHERE) {
        rows.push(vec![plain, always(Resume, act)]);
    }
    for millis in [1, 100, 900, 5_000, 20_000] {
        let lasts = Lasts(Duration::from_millis(millis));
        rows.push(vec![plain, always(Resume, lasts)]);
    }
    for act in [
        OneBookmark,
        Lines(1),
        Line(GONE),
        Code(410, None),
        Blanks,
        Cuts(200),
        Resets,
    ] {
        rows.push(vec![plain, always(Resume, act).every(2)]);
        rows.push(vec![plain, always(Resume, act).times(2)]);
    }
    rows.push(vec![plain, always(Resume, Hangs), always(List, Drips).from(60)]);
    rows
}

const TOO_LARGE_VERSION: &str = r#"{"kind":"Status","status":"Failure","code":504,"reason":"Timeout",
    "message":"Timeout: Too large resource version: 4711, current: 12","details":{"causes":[
    {"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1}}"#;
const NEW_LEADER: &str =
    r#"{"kind":"Status","status":"Failure","code":500,"message":"etcdserver: leader changed"}"#;
const NO_LEADER: &str =
    r#"{"kind":"Status","status":"Failure","code":503,"message":"etcdserver: no leader"}"#;
const TIMED_OUT: &str =
    r#"{"kind":"Status","status":"Failure","code":500,"message":"etcdserver: request timed out"}"#;
const FULL: &str = r#"{"kind":"Status","status":"Failure","code":500,"message":"etcdserver: mvcc: database space exceeded"}"#;
const NEW_LEADER_EVENT: &str =
    r#"{"type":"ERROR","object":{"kind":"Status","code":500,"message":"etcdserver: leader changed"}}"#;
/// Deeper than any parser that calls itself can go.
const DEEP: usize = 100_000;

/// What is behind a hub, its storage, and answers that want too much memory.
fn storage() -> Vec<Vec<Fault>> {
    // A hub without streaming lists.
    let plain = always(Stream, Code(422, None));
    let mut rows = Vec::new();
    for on in [List, Stream] {
        rows.push(vec![always(on, Refuses(504, TOO_LARGE_VERSION))]);
        rows.push(vec![always(on, Refuses(504, TOO_LARGE_VERSION)).times(2)]);
    }
    rows.push(vec![plain, always(Resume, Refuses(504, TOO_LARGE_VERSION))]);
    rows.push(vec![
        plain,
        always(Resume, Refuses(504, TOO_LARGE_VERSION)).times(2),
    ]);
    // A restore from a backup: old lists with old numbers, and no watch from the numbers known so far.
    for refusal in [Refuses(504, TOO_LARGE_VERSION), Code(410, None), Hangs] {
        rows.push(vec![
            plain,
            always(Resume, Lasts(Duration::from_secs(30))).times(1),
            always(Resume, refusal).from(1),
            always(List, Restored).from(1),
        ]);
    }
    rows.push(vec![plain, always(List, Restored).from(1)]);
    for refusal in [
        Refuses(500, NEW_LEADER),
        Refuses(503, NO_LEADER),
        Refuses(500, TIMED_OUT),
        Refuses(500, FULL),
    ] {
        rows.push(vec![always(Everything, refusal).every(2)]);
        rows.push(vec![always(Everything, refusal).times(3)]);
        rows.push(vec![always(Everything, refusal).from(20)]);
    }
    rows.push(vec![always(Stream, Line(NEW_LEADER_EVENT))]);
    rows.push(vec![plain, always(Resume, Line(NEW_LEADER_EVENT)).every(2)]);
    for on in [List, Namespaces, Secrets] {
        rows.push(vec![always(on, Expires)]);
        rows.push(vec![always(on, Expires).times(2)]);
    }
    rows.push(vec![plain, always(List, Expires)]);
    for act in [
        Refuses(500, FULL),
        Refuses(500, NEW_LEADER),
        Code(403, None),
        Code(409, None),
        Code(429, Some(3600)),
        Hangs,
        Resets,
        Drips,
        Blanks,
        Says("<html>200 OK</html>"),
        Says("{}"),
        Cuts(100),
    ] {
        rows.push(vec![always(DryRuns, act)]);
    }
    for on in [List, Namespaces, Secrets] {
        rows.push(vec![always(on, Items)]);
    }
    for on in KINDS.into_iter().chain([DryRuns]) {
        rows.push(vec![always(on, Nests(DEEP))]);
    }
    rows
}

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

/// What is about the CRD. A hub without it is one whose group is not found.
fn definition() -> Vec<Vec<Fault>> {
    let mut rows = vec![
        vec![always(On::Profiles, Code(404, None))],
        vec![always(Resources, Says(NO_RESOURCES))],
        vec![always(Resources, Says(CLUSTER_SCOPED))],
        vec![always(Resources, Says(NO_STATUS))],
        vec![always(Group, Says(TWO_VERSIONS))],
        vec![always(Group, Says(OTHER_VERSION))],
        vec![always(Definition, Says(ODD_DEFINITION))],
        vec![always(On::Profiles, Refuses(429, INITIALIZING))],
        vec![always(On::Profiles, Refuses(429, INITIALIZING)).times(3)],
        vec![always(On::Profiles, Refuses(500, CONVERSION))],
        vec![always(List, Refuses(500, CONVERSION))],
        vec![always(Stream, Line(CONVERSION_EVENT))],
        vec![
            always(Stream, Lasts(Duration::from_secs(20))),
            always(On::Profiles, Refuses(500, CONVERSION)).from(1),
        ],
        vec![
            always(Stream, Code(422, None)),
            always(Resume, Line(CONVERSION_EVENT)),
        ],
    ];
    for event in [
        Event::DeletesDefinition,
        Event::WithdrawsVersion,
        Event::AddsColumn,
        Event::LosesStatus,
    ] {
        for from in [2, 30] {
            rows.push(vec![always(Everything, Happens(event)).from(from)]);
        }
    }
    rows
}
