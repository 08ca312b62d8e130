//! The misbehaviours.

use std::time::Duration;

use super::fault::{
    Act::{self, *},
    Fault, On,
};

/// An event that tells of lost history.
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

const KINDS: [On; 9] = [
    On::Version,
    On::Group,
    On::Resources,
    On::Definition,
    On::Reviews,
    On::Namespaces,
    On::List,
    On::Stream,
    On::Secrets,
];

/// What is done to streams of events.
const STREAMS: [Act; 13] = [
    Bookmarks,
    Profiles,
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
    rows.extend(super::storage_rows::rows());
    rows.extend(super::crd_rows::rows());
    rows
}

/// What is done to requests, whatever the hub says of them.
fn requests() -> Vec<Vec<Fault>> {
    let mut rows: Vec<Vec<Fault>> = Vec::new();
    let mut one = |fault: Fault| rows.push(vec![fault]);
    for on in KINDS {
        for act in EVERYWHERE {
            one(Fault::always(on, act));
        }
    }
    // Statuses of all kinds, once the run has begun.
    for code in [
        400, 401, 404, 405, 408, 409, 410, 413, 418, 422, 429, 500, 502, 503, 504, 599,
    ] {
        one(Fault::always(On::Everything, Code(code, None)).from(20));
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
        one(Fault::always(On::Everything, act).from(20));
        one(Fault::always(On::Profiles, act));
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
            one(Fault::always(On::Everything, act).every(every));
        }
        one(Fault::always(On::Everything, act).times(1));
    }
    // Streams.
    for act in STREAMS {
        one(Fault::always(On::Stream, act));
    }
    // Lists.
    for on in [On::List, On::Namespaces, On::Secrets] {
        one(Fault::always(on, Pages { other: false }));
        one(Fault::always(on, Pages { other: true }));
        one(Fault::always(on, Says(r#"{"kind":"List","items":null}"#)));
    }
    one(Fault::always(On::Group, Versions(20_000)));
    for minutes in [-20, -1, 1, 20] {
        one(Fault::always(On::Everything, Skews(minutes)));
    }
    one(Fault::always(On::Everything, Refuses(401, "no such token")));
    // A hub without streaming lists, and more.
    let plain = Fault::always(On::Stream, Code(422, None));
    for act in STREAMS.into_iter().chain(EVERYWHERE) {
        rows.push(vec![plain, Fault::always(On::Resume, act)]);
    }
    for millis in [1, 100, 900, 5_000, 20_000] {
        let lasts = Lasts(Duration::from_millis(millis));
        rows.push(vec![plain, Fault::always(On::Resume, lasts)]);
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
        rows.push(vec![plain, Fault::always(On::Resume, act).every(2)]);
        rows.push(vec![plain, Fault::always(On::Resume, act).times(2)]);
    }
    rows.push(vec![
        plain,
        Fault::always(On::Resume, Hangs),
        Fault::always(On::List, Drips).from(60),
    ]);
    rows
}
