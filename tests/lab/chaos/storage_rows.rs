//! Misbehaviours of what is behind a hub, its storage, and of answers that want too much memory.

use std::time::Duration;

use super::fault::{
    Act::{self, *},
    Fault, On,
};

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

pub fn rows() -> Vec<Vec<Fault>> {
    let always = |on: On, act: Act| Fault::always(on, act);
    // A hub without streaming lists.
    let plain = always(On::Stream, Code(422, None));
    let mut rows = Vec::new();
    for on in [On::List, On::Stream] {
        rows.push(vec![always(on, Refuses(504, TOO_LARGE_VERSION))]);
        rows.push(vec![always(on, Refuses(504, TOO_LARGE_VERSION)).times(2)]);
    }
    rows.push(vec![plain, always(On::Resume, Refuses(504, TOO_LARGE_VERSION))]);
    rows.push(vec![
        plain,
        always(On::Resume, Refuses(504, TOO_LARGE_VERSION)).times(2),
    ]);
    // A restore from a backup: old lists with old numbers, and no watch from the numbers known so far.
    for refusal in [Refuses(504, TOO_LARGE_VERSION), Code(410, None), Hangs] {
        rows.push(vec![
            plain,
            always(On::Resume, Lasts(Duration::from_secs(30))).times(1),
            always(On::Resume, refusal).from(1),
            always(On::List, Restored).from(1),
        ]);
    }
    rows.push(vec![plain, always(On::List, Restored).from(1)]);
    for refusal in [
        Refuses(500, NEW_LEADER),
        Refuses(503, NO_LEADER),
        Refuses(500, TIMED_OUT),
        Refuses(500, FULL),
    ] {
        rows.push(vec![always(On::Everything, refusal).every(2)]);
        rows.push(vec![always(On::Everything, refusal).times(3)]);
        rows.push(vec![always(On::Everything, refusal).from(20)]);
    }
    rows.push(vec![always(On::Stream, Line(NEW_LEADER_EVENT))]);
    rows.push(vec![plain, always(On::Resume, Line(NEW_LEADER_EVENT)).every(2)]);
    for on in [On::List, On::Namespaces, On::Secrets] {
        rows.push(vec![always(on, Expires)]);
        rows.push(vec![always(on, Expires).times(2)]);
    }
    rows.push(vec![plain, always(On::List, Expires)]);
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
        rows.push(vec![always(On::DryRuns, act)]);
    }
    for on in [On::List, On::Namespaces, On::Secrets] {
        rows.push(vec![always(on, Items)]);
    }
    for on in [
        On::Version,
        On::Group,
        On::Definition,
        On::Reviews,
        On::Namespaces,
        On::List,
        On::Stream,
        On::Secrets,
        On::DryRuns,
    ] {
        rows.push(vec![always(on, Nests(DEEP))]);
    }
    rows
}
