//! Reads audit logs, rotated ones included, into requests.

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    io::{self, BufRead, BufReader},
    path::{Path, PathBuf},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, value::RawValue};

use super::{RequestsError, body, event::Event};
use crate::evidence::{Gap, Kind, Request, Requests, Window};

/// How long a log may be silent before that is taken for a hole: a kube-apiserver writes events of some kind (leader
/// elections, health checks, node leases) every few seconds.
pub(super) const SILENCE: SignedDuration = SignedDuration::from_secs(60);

/// What an audit log tells of profiles.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditLog {
    /// The write requests, and the span of the hub's time that the log covers.
    pub requests: Requests,
    /// Where requests may be missing within that span.
    pub gaps: Vec<Gap>,
    /// Whether the log ends in the middle of an event: there is at least one that it does not hold.
    pub cut_short: bool,
}

/// Reads the files of one audit log, in any order; events that stand in two of them count once. The time that the log
/// covers is that of its events of any resource.
///
/// # Errors
/// When a file cannot be read, a line other than an unfinished last one is no audit event, or there is no event.
pub fn read_audit_log(paths: &[PathBuf]) -> Result<AuditLog, RequestsError> {
    let mut reading = Reading::default();
    let mut spans = Vec::new();
    for path in paths {
        spans.extend(reading.read_file(path)?);
    }
    spans.sort_by_key(|span| span.covers.from);
    let (Some(first), Some(last)) = (spans.first(), spans.iter().max_by_key(|span| span.covers.until)) else {
        let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        return Err(RequestsError::Empty {
            path: paths.join(", "),
        });
    };
    let covers = Window {
        from: first.covers.from,
        until: last.covers.until,
    };
    let cut_short = last.cut_short;
    let mut gaps = holes(&spans);
    if !reading.knows_profiles {
        gaps.push(gap(
            None,
            "the audit log holds no request on ClusterProfiles, not even one that reads: let the audit policy log \
             `clusterprofiles` of the group multicluster.x-k8s.io at level Metadata or above",
        ));
    }
    Ok(AuditLog {
        requests: Requests {
            covers,
            events: reading.requests(),
        },
        gaps,
        cut_short,
    })
}

/// The time that one file covers.
struct Span {
    covers: Window,
    cut_short: bool,
}

/// Between the files, in their order: where nothing was logged for longer than a hub is silent.
fn holes(spans: &[Span]) -> Vec<Gap> {
    let mut gaps = Vec::new();
    let mut spans = spans.iter();
    let Some(first) = spans.next() else {
        return gaps;
    };
    let mut latest = first;
    for span in spans {
        let silent = span.covers.from.duration_since(latest.covers.until);
        let bearable = if latest.cut_short {
            SignedDuration::ZERO
        } else {
            SILENCE
        };
        if silent > bearable {
            let hole = Window {
                from: latest.covers.until,
                until: span.covers.from,
            };
            gaps.push(gap(
                Some(hole),
                "the audit log has no event of any kind in this time: give the file that lies between",
            ));
        }
        if span.covers.until > latest.covers.until {
            latest = span;
        }
    }
    gaps
}

/// A gap in the requests.
pub(super) fn gap(span: Option<Window>, reason: &str) -> Gap {
    Gap {
        kind: Kind::Requests,
        from: span.map(|span| span.from),
        until: span.map(|span| span.until),
        object: None,
        reason: reason.to_owned(),
    }
}

#[derive(Default)]
struct Reading {
    answered: Vec<Answered>,
    seen: HashSet<String>,
    /// The same few names stand in each event.
    names: HashSet<Arc<str>>,
    /// Whether any event is about profiles: else the policy may leave them out.
    knows_profiles: bool,
}

/// A write, with what tells whether it changed anything.
struct Answered {
    /// When the hub had answered.
    done: Timestamp,
    request: Request,
    /// The resourceVersion that the request was based upon.
    based_on: Option<String>,
    /// The resourceVersion of the object in the answer.
    stored: Option<String>,
}

impl Reading {
    fn read_file(&mut self, path: &Path) -> Result<Option<Span>, RequestsError> {
        let shown = || path.display().to_string();
        let unread = |cause: io::Error| RequestsError::Read { path: shown(), cause };
        let mut reader = BufReader::new(File::open(path).map_err(unread)?);
        if reader.fill_buf().map_err(unread)?.starts_with(&[0x1F, 0x8B]) {
            return Err(RequestsError::Packed { path: shown() });
        }
        let mut span: Option<Span> = None;
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            if reader.read_until(b'\n', &mut line).map_err(unread)? == 0 {
                break;
            }
            if line.trim_ascii().is_empty() {
                continue;
            }
            let at = match self.take(&line) {
                Ok(at) => at,
                // A log that is copied while it is written to ends anywhere.
                Err(_) if !line.ends_with(b"\n") && span.is_some() => {
                    span = span.map(|span| Span {
                        cut_short: true,
                        ..span
                    });
                    break;
                }
                Err(message) => {
                    return Err(RequestsError::Line {
                        path: shown(),
                        line: number,
                        message,
                    });
                }
            };
            let covers = span.map_or(Window { from: at, until: at }, |span| Window {
                from: span.covers.from.min(at),
                until: span.covers.until.max(at),
            });
            span = Some(Span {
                covers,
                cut_short: false,
            });
        }
        Ok(span)
    }

    /// Takes an event, and tells when it was logged.
    fn take(&mut self, line: &[u8]) -> Result<Timestamp, String> {
        let event: Event<'_> = serde_json::from_slice(line).map_err(|error| without_values(&error))?;
        if !event.is_audit() {
            return Err("its kind is not Event of audit.k8s.io".to_owned());
        }
        // Not the time of the request: a watch may have been open for long before the log begins.
        let Some(logged) = event.stage_timestamp.or(event.request_received_timestamp) else {
            return Err("it has no stageTimestamp".to_owned());
        };
        if event.is_of_profiles() {
            self.knows_profiles = true;
            let id = event.audit_id.as_deref().unwrap_or_default();
            if event.is_answered_write() && (id.is_empty() || self.seen.insert(id.to_owned())) {
                let answered = self.answered(&event, logged);
                self.answered.push(answered);
            }
        }
        Ok(logged)
    }

    fn answered(&mut self, event: &Event<'_>, done: Timestamp) -> Answered {
        let verb = event.verb.as_deref().unwrap_or_default();
        let sent = object(event.request_object);
        let stored = object(event.response_object);
        let target = event.object_ref.as_ref();
        let named = target
            .and_then(|target| target.name.as_deref())
            .filter(|name| !name.is_empty());
        let name = named
            .or_else(|| sent["metadata"]["name"].as_str().filter(|name| !name.is_empty()))
            .or_else(|| stored["metadata"]["name"].as_str())
            .unwrap_or_default();
        let version = |object: &Value| object["metadata"]["resourceVersion"].as_str().map(str::to_owned);
        let part = |part: Option<&str>| part.unwrap_or_default().to_owned();
        let namespace = part(target.and_then(|target| target.namespace.as_deref()));
        let subresource = part(target.and_then(|target| target.subresource.as_deref()));
        Answered {
            done,
            request: Request {
                at: event.request_received_timestamp.unwrap_or(done),
                verb: self.shared(verb),
                user: self.shared(event.username()),
                user_agent: self.shared(event.user_agent.as_deref().unwrap_or_default()),
                namespace: self.shared(&namespace),
                name: self.shared(name),
                subresource: self.shared(&subresource),
                code: event
                    .response_status
                    .as_ref()
                    .and_then(|status| status.code)
                    .unwrap_or_default(),
                dry_run: event.is_dry_run(),
                changed: None,
                body: body::read(&sent, verb),
            },
            based_on: version(&sent).filter(|version| !version.is_empty()),
            stored: version(&stored),
        }
    }

    fn shared(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.names.get(name) {
            return Arc::clone(known);
        }
        let name: Arc<str> = name.into();
        self.names.insert(Arc::clone(&name));
        name
    }

    /// The requests in the order in which the hub received them.
    fn requests(self) -> Vec<Request> {
        let mut answered = self.answered;
        answered.sort_by_key(|answered| answered.done);
        tell_changes(&mut answered);
        answered.sort_by_key(|answered| answered.request.at);
        answered.into_iter().map(|answered| answered.request).collect()
    }
}

/// Tells for each write, in the order of the answers, whether it changed its object: a write that changes nothing
/// leaves the resourceVersion as it was.
fn tell_changes(answered: &mut [Answered]) {
    let mut versions: HashMap<(Arc<str>, Arc<str>), String> = HashMap::new();
    for Answered {
        request,
        based_on,
        stored,
        ..
    } in answered
    {
        if !request.is_write() {
            continue;
        }
        let key = (Arc::clone(&request.namespace), Arc::clone(&request.name));
        match &*request.verb {
            "deletecollection" => versions.retain(|(namespace, _), _| *namespace != request.namespace),
            "delete" => {
                versions.remove(&key);
            }
            _ => {
                let before = based_on.take().or_else(|| versions.remove(&key));
                // What the log does not tell of this answer cannot be told of the next one either.
                match stored.take() {
                    Some(stored) => {
                        request.changed = before.map(|before| before != stored);
                        versions.insert(key, stored);
                    }
                    None => {
                        versions.remove(&key);
                    }
                }
                if request.code == 201 {
                    request.changed = Some(true);
                }
            }
        }
    }
}

/// An object of an event; null where there is none or it cannot be read.
fn object(raw: Option<&RawValue>) -> Value {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok())
        .unwrap_or_default()
}

/// What the parser minds, without quoting the event: it may hold anything.
fn without_values(error: &serde_json::Error) -> String {
    match error.classify() {
        serde_json::error::Category::Data => "a field is not of its type".to_owned(),
        serde_json::error::Category::Eof => "it ends in the middle".to_owned(),
        _ => "it does not parse".to_owned(),
    }
}
