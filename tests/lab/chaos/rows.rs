//! The misbehaviours.

use std::time::Duration;

use super::{
    fault::{
        Act::{self, *},
        Event, Fault,
        On::{self, *},
    },
    proxy::{ADDED, LIST},
};

const fn code(code: u16) -> Act {
    Code(code, None)
}

const fn always(on: On, act: Act) -> Fault {
    Fault::always(on, act)
}

/// The history is lost.
const GONE: &str =
    r#"{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}"#;
/// A `Retry-After` in the body.
const BUSY: &str = r#"{"kind":"Status","status":"Failure","code":429,"details":{"retryAfterSeconds":3600}}"#;
const FAILURE_EVENT: &str =
    r#"{"type":"ERROR","object":{"kind":"Status","code":500,"message":"etcdserver: leader changed"}}"#;
/// The bookmark that a watch begins with.
pub const BOOKMARK: &str = concat!(
    r#"{"type":"BOOKMARK","object":{"kind":"ClusterProfile","apiVersion":"multicluster.x-k8s.io/v1alpha1","#,
    r#""metadata":{"resourceVersion":"VERSION"}}}"#,
    "\n"
);
const HTML: Act = Says(200, "<html>200 OK</html>");
const BLANKS: Act = Repeats("", "\n");

/// Acts upon requests for objects, from the start.
const EVERYWHERE: [Act; 14] = [
    code(500),
    Code(503, Some(3600)),
    Code(429, Some(0)),
    code(403),
    code(404),
    code(410),
    code(302),
    Hangs,
    Resets,
    Drips,
    BLANKS,
    HTML,
    Cuts(100),
    Stops(100),
];

/// Acts upon each other kind of request.
const ELSEWHERE: [Act; 6] = [code(500), code(403), code(404), Hangs, Cuts(100), HTML];

/// Kinds of requests. The first ones are for objects.
pub const KINDS: [On; 9] = [
    List, Stream, Namespaces, Secrets, Version, Group, Resources, Definition, Reviews,
];
const FOR_OBJECTS: usize = 4;

/// Acts upon streams of events.
const STREAMS: [Act; 13] = [
    Repeats("", BOOKMARK),
    Repeats("", ADDED),
    Says(200, BOOKMARK),
    Lines(1),
    Lines(2),
    Says(200, GONE),
    Says(
        200,
        r#"{"type":"ERROR","object":{"kind":"Status","message":"no code"}}"#,
    ),
    Says(200, r#"{"type":"ERROR","object":null}"#),
    Says(200, r#"{"type":"WONDER","object":{}}"#),
    Says(200, "{}"),
    Says(200, r#"{"type":"MODIFIED","object":"#),
    Twice,
    Delays(Duration::from_secs(8)),
];

/// A page that leads to another one: the same, or ever another.
pub const SAME_PAGE: &str = r#"{"kind":"List","apiVersion":"v1","items":[],
    "metadata":{"resourceVersion":"1","continue":"page-0"}}"#;
pub const OTHER_PAGE: &str = r#"{"kind":"List","apiVersion":"v1","items":[],
    "metadata":{"resourceVersion":"1","continue":"page-COUNT"}}"#;

/// A group of so many versions.
fn versions(count: usize) -> Act {
    let versions =
        (0..count).map(|number| format!(r#"{{"groupVersion":"v{number}","version":"v{number}"}}"#));
    let versions = versions.collect::<Vec<_>>().join(",");
    let last = r#"{"groupVersion":"v1alpha1","version":"v1alpha1"}"#;
    let group = format!(r#"{{"kind":"APIGroup","versions":[{versions},{last}]}}"#);
    Says(200, group.leak())
}

pub fn rows() -> Vec<Vec<Fault>> {
    let mut rows = requests();
    rows.extend(storage());
    rows.extend(definition());
    rows
}

/// Faults of requests and answers.
fn requests() -> Vec<Vec<Fault>> {
    let mut rows: Vec<Vec<Fault>> = Vec::new();
    let mut one = |fault: Fault| rows.push(vec![fault]);
    for (place, on) in KINDS.into_iter().enumerate() {
        let acts = if place < FOR_OBJECTS {
            &EVERYWHERE[..]
        } else {
            &ELSEWHERE
        };
        for act in acts {
            one(always(on, *act));
        }
    }
    // Statuses of all kinds, once the run has begun.
    for status in [
        400, 401, 404, 405, 408, 409, 410, 413, 418, 422, 429, 500, 502, 503, 504, 599,
    ] {
        one(always(Everything, code(status)).from(20));
    }
    for act in [
        Hangs,
        Resets,
        Untrusted,
        Drips,
        BLANKS,
        Says(200, ""),
        Says(200, "null"),
        Says(200, "[]"),
        Cuts(0),
        Stops(1),
    ] {
        one(always(Everything, act).from(20));
        one(always(On::Profiles, act));
    }
    // Now and then.
    for act in [
        code(503),
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
        for page in [SAME_PAGE, OTHER_PAGE, r#"{"kind":"List","items":null}"#] {
            one(always(on, Says(200, page)));
        }
    }
    one(always(Group, versions(20_000)));
    for minutes in [-20, -1, 1, 20] {
        one(always(Everything, Skews(minutes)));
    }
    one(always(Everything, Says(401, "no such token")));
    one(always(Everything, Says(429, BUSY)).times(3));
    one(always(Everything, Says(429, BUSY)).from(20));
    // A hub without streaming lists, and more.
    let plain = always(Stream, code(422));
    for act in STREAMS.into_iter().chain(EVERYWHERE) {
        rows.push(vec![plain, always(Resume, act)]);
    }
    for millis in [1, 100, 900, 5_000, 20_000] {
        let lasts = Lasts(Duration::from_millis(millis));
        rows.push(vec![plain, always(Resume, lasts)]);
    }
    for act in [
        Says(200, BOOKMARK),
        Lines(1),
        Says(200, GONE),
        code(410),
        BLANKS,
        Cuts(200),
        Resets,
    ] {
        rows.push(vec![plain, always(Resume, act).every(2)]);
        rows.push(vec![plain, always(Resume, act).times(2)]);
    }
    rows.push(vec![plain, always(Resume, Hangs), always(List, Drips).from(60)]);
    rows
}

/// Deeper than any parser that calls itself can go.
const DEEP: usize = 100_000;

/// Faults of the storage, and answers that need too much memory.
fn storage() -> Vec<Vec<Fault>> {
    // A hub without streaming lists.
    let plain = always(Stream, code(422));
    let mut rows = Vec::new();
    // A resourceVersion that the hub does not have yet.
    let ahead = code(504);
    for on in [List, Stream] {
        rows.push(vec![always(on, ahead).times(2)]);
    }
    rows.push(vec![plain, always(Resume, ahead).times(2)]);
    // A restore from a backup: old lists with old numbers, and no watch from the numbers known so far.
    for refusal in [ahead, code(410), Hangs] {
        rows.push(vec![
            plain,
            always(Resume, Lasts(Duration::from_secs(30))).times(1),
            always(Resume, refusal).from(1),
            always(List, Restored).from(1),
        ]);
    }
    rows.push(vec![plain, always(List, Restored).from(1)]);
    rows.push(vec![always(Stream, Says(200, FAILURE_EVENT))]);
    rows.push(vec![plain, always(Resume, Says(200, FAILURE_EVENT)).every(2)]);
    for on in [List, Namespaces, Secrets] {
        rows.push(vec![always(on, Expires)]);
        rows.push(vec![always(on, Expires).times(2)]);
        rows.push(vec![always(on, Repeats(LIST, "PROFILE,"))]);
    }
    rows.push(vec![plain, always(List, Expires)]);
    for act in [
        code(403),
        code(409),
        Code(429, Some(3600)),
        code(500),
        Hangs,
        Resets,
        Drips,
        BLANKS,
        HTML,
        Says(200, "{}"),
        Cuts(100),
    ] {
        rows.push(vec![always(DryRuns, act)]);
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
/// A definition with another scope, without a subresource, and with a conversion.
const ODD_DEFINITION: &str = r#"{"kind":"CustomResourceDefinition","metadata":{"name":"clusterprofiles.multicluster.x-k8s.io"},
    "spec":{"scope":"Cluster","conversion":{"strategy":"Webhook"},"versions":[
    {"name":"v1alpha2","served":true,"storage":true},{"name":"v1alpha1","served":true,"storage":false}]}}"#;
/// Faults of the CRD. On a hub without it, the group is not found.
fn definition() -> Vec<Vec<Fault>> {
    let mut rows = vec![
        vec![always(On::Profiles, code(404))],
        vec![always(Resources, Says(200, NO_RESOURCES))],
        vec![always(Resources, Says(200, CLUSTER_SCOPED))],
        vec![always(Resources, Says(200, NO_STATUS))],
        vec![always(Group, Says(200, TWO_VERSIONS))],
        vec![always(Group, Says(200, OTHER_VERSION))],
        vec![always(Definition, Says(200, ODD_DEFINITION))],
        // The watch cache of a new CRD is filled, or its conversion webhook fails.
        vec![always(On::Profiles, Code(429, Some(1)))],
        vec![always(On::Profiles, Code(429, Some(1))).times(3)],
        vec![
            always(Stream, Lasts(Duration::from_secs(20))),
            always(On::Profiles, code(500)).from(1),
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
