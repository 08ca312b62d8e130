//! A proxy before the hub that injects scheduled faults.

use std::{
    future::ready,
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use futures::{FutureExt as _, Stream, StreamExt as _, future::pending, stream};
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::Frame;
use jiff::{SignedDuration, Timestamp, fmt::rfc2822};
use kube::{Client, client::Body};
use serde_json::{Value, json};
use tokio::time::{Instant, advance, sleep};
use tokio_rustls::rustls::{self, CertificateError};

use super::{
    fault::{Act, Fault, On},
    rows::BOOKMARK,
    world::{CANARY, profile},
};

pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
pub type Answer = Response<UnsyncBoxBody<Bytes, BoxError>>;

trait Pieces: Stream<Item = Result<Bytes, BoxError>> + Send + 'static {}

impl<S: Stream<Item = Result<Bytes, BoxError>> + Send + 'static> Pieces for S {}

#[derive(Debug, Default)]
pub struct Traffic {
    pub requests: Vec<String>,
    first_list: Option<Bytes>,
}

struct Proxy {
    hub: Client,
    faults: Vec<Fault>,
    /// How many requests each fault has met.
    met: Mutex<Vec<u16>>,
    traffic: Arc<Mutex<Traffic>>,
    began: Instant,
    now: Box<dyn Fn() -> Timestamp + Send + Sync>,
}

/// A client for the hub through such a proxy. `now` is the hub's clock.
pub fn client(
    hub: Client,
    faults: &[Fault],
    now: impl Fn() -> Timestamp + Send + Sync + 'static,
) -> (Client, Arc<Mutex<Traffic>>) {
    let traffic = Arc::<Mutex<Traffic>>::default();
    let proxy = Arc::new(Proxy {
        hub,
        faults: faults.to_vec(),
        met: Mutex::new(vec![0; faults.len()]),
        traffic: Arc::clone(&traffic),
        began: Instant::now(),
        now: Box::new(now),
    });
    let service = tower::service_fn(move |request: Request<Body>| {
        let proxy = Arc::clone(&proxy);
        async move { proxy.answer(request).await }
    });
    (Client::new(service, "default"), traffic)
}

impl Proxy {
    async fn answer(&self, request: Request<Body>) -> Result<Answer, BoxError> {
        let uri = request.uri().to_string();
        let log = format!("{} {} {uri}", self.began.elapsed().as_secs(), request.method());
        self.traffic.lock().expect("a lock").requests.push(log);
        match self.act(&uri) {
            Some(act) => self.misbehave(act, request, &uri).await,
            None if On::List.holds(&uri) => self.list(request).await,
            None => Ok(self.honest(request).await?.map(pass)),
        }
    }

    fn act(&self, uri: &str) -> Option<Act> {
        let seconds = self.began.elapsed().as_secs();
        let mut due = None;
        for (place, fault) in self.faults.iter().enumerate() {
            let is_event = matches!(fault.act, Act::Happens(_));
            if due.is_some() || is_event || !fault.on.holds(uri) || seconds < u64::from(fault.from) {
                continue;
            }
            let met = &mut self.met.lock().expect("a lock")[place];
            *met = met.saturating_add(1);
            if met.is_multiple_of(fault.every) && *met / fault.every <= fault.times {
                due = Some(fault.act);
            }
        }
        due
    }

    async fn honest(&self, request: Request<Body>) -> Result<Response<Body>, BoxError> {
        Ok(self.hub.send(request).await?)
    }

    /// An honest list, which is kept if it is the first one.
    async fn list(&self, request: Request<Body>) -> Result<Answer, BoxError> {
        let (head, body) = self.honest(request).await?.into_parts();
        let body = body.collect().await?.to_bytes();
        let mut traffic = self.traffic.lock().expect("a lock");
        traffic.first_list.get_or_insert_with(|| body.clone());
        Ok(Response::from_parts(head, boxed(stream::iter([Ok(body)]))))
    }

    async fn misbehave(&self, act: Act, request: Request<Body>, uri: &str) -> Result<Answer, BoxError> {
        Ok(match act {
            Act::Code(code, after) => {
                let mut answer = failure(code, "Misbehaves", &format!("no for Bearer {CANARY}"), json!({}));
                if let Some(after) = after {
                    answer.headers_mut().insert(header::RETRY_AFTER, after.into());
                }
                if (300..400).contains(&code) {
                    let there = HeaderValue::from_static("https://elsewhere.example/");
                    answer.headers_mut().insert(header::LOCATION, there);
                }
                answer
            }
            Act::Says(code, text) => {
                let count = self.traffic.lock().expect("a lock").requests.len();
                let text = with_version(text, uri).replace("COUNT", &count.to_string());
                let is_ended = text.is_empty() || text.ends_with('\n');
                whole(code, text + if is_ended { "" } else { "\n" })
            }
            Act::Repeats(first, text) => {
                let pieces = repeated(first, &with_version(text, uri));
                Response::new(boxed(slowly(pieces)))
            }
            Act::Floods => {
                let event = ADDED.replace("PROFILE", &profile("flood").to_string());
                let bookmarks = with_version(BOOKMARK, uri).repeat(999);
                let pieces = repeated("", &(event + &bookmarks));
                Response::new(boxed(pieces.inspect(|_| pass_time())))
            }
            Act::Hangs => pending().await,
            Act::Resets => return Err(reset()),
            Act::Untrusted => {
                let error = rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer);
                return Err(io::Error::new(io::ErrorKind::InvalidData, error).into());
            }
            Act::Delays(by) => {
                sleep(by).await;
                self.honest(request).await?.map(pass)
            }
            Act::Expires if uri.contains("continue=") => {
                let message =
                    "The provided continue parameter is too old to display a consistent list result.";
                failure(410, "Expired", message, json!({"continue": "page-3"}))
            }
            Act::Expires => {
                let (head, body) = self.honest(request).await?.into_parts();
                let mut list: Value = serde_json::from_slice(&body.collect().await?.to_bytes())?;
                list["metadata"]["continue"] = json!("page-2");
                if let Some(items) = list["items"].as_array_mut() {
                    items.truncate(items.len().div_ceil(2));
                }
                Response::from_parts(head, boxed(stream::iter([Ok(list.to_string().into())])))
            }
            Act::Restored => {
                let first = self.traffic.lock().expect("a lock").first_list.clone();
                match first {
                    Some(list) => Response::new(boxed(stream::iter([Ok(list)]))),
                    None => self.list(request).await?,
                }
            }
            Act::Nests(depth) => whole(200, one_object(uri, &("[".repeat(depth) + &"]".repeat(depth)))),
            Act::Large(bytes) => whole(200, one_object(uri, &format!("\"{}\"", "x".repeat(bytes)))),
            Act::Happens(_) => unreachable!("it is done to no request"),
            Act::Skews(minutes) => {
                let mut answer = self.honest(request).await?.map(pass);
                let date = (self.now)() + SignedDuration::from_mins(minutes.into());
                let date = rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&date)?;
                answer.headers_mut().insert(header::DATE, date.parse()?);
                answer
            }
            Act::Cuts(_) | Act::Stops(_) | Act::Lines(_) | Act::Lasts(_) | Act::Drips | Act::Twice => {
                self.honest(request).await?.map(|body| spoilt(act, pieces(body)))
            }
        })
    }
}

/// The pieces of an honest answer after that act.
fn spoilt(act: Act, pieces: impl Pieces) -> UnsyncBoxBody<Bytes, BoxError> {
    match act {
        Act::Cuts(bytes) => boxed(first(pieces, bytes, |_| true).chain(stream::once(async { Err(reset()) }))),
        Act::Stops(bytes) => boxed(first(pieces, bytes, |_| true)),
        Act::Lines(lines) => boxed(first(pieces, lines, |byte| byte == b'\n')),
        Act::Lasts(time) => boxed(pieces.take_until(sleep(time))),
        Act::Drips => boxed(slowly(pieces.flat_map(|piece| {
            let piece = piece.unwrap_or_default();
            stream::iter((0..piece.len()).map(move |at| Ok(piece.slice(at..=at))))
        }))),
        // The lab sends each event as a piece of its own.
        Act::Twice => boxed(pieces.flat_map(|piece| match piece {
            Ok(piece) => stream::iter(vec![Ok(piece.clone()), Ok(piece)]),
            Err(error) => stream::iter(vec![Err(error)]),
        })),
        _ => unreachable!("it spoils no honest answer"),
    }
}

pub const ADDED: &str = "{\"type\":\"ADDED\",\"object\":PROFILE}\n";
pub const LIST: &str = r#"{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":["#;

/// A profile with that JSON in an annotation, as a list or a watch of it.
fn one_object(uri: &str, annotation: &str) -> String {
    let annotations = format!(r#""annotations":{{"odd":{annotation}}},"labels":"#);
    let profile = profile("odd")
        .to_string()
        .replacen(r#""labels":"#, &annotations, 1);
    if uri.contains("watch=true") {
        return ADDED.replace("PROFILE", &profile);
    }
    format!("{LIST}{profile}]}}")
}

fn with_version(text: &str, uri: &str) -> String {
    let asked = uri.split("resourceVersion=").nth(1).unwrap_or("1");
    text.replace("VERSION", asked.split('&').next().unwrap_or_default())
}

fn reset() -> BoxError {
    io::Error::new(io::ErrorKind::ConnectionReset, "connection reset by peer").into()
}

fn whole(code: u16, body: String) -> Answer {
    let body = stream::iter([Ok(Bytes::from(body))]);
    let mut answer = Response::new(boxed(body));
    *answer.status_mut() = StatusCode::from_u16(code).expect("a code");
    answer
}

fn failure(code: u16, reason: &str, message: &str, metadata: Value) -> Answer {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
        "reason": reason, "message": message, "metadata": metadata});
    whole(code, status.to_string())
}

fn pass(body: Body) -> UnsyncBoxBody<Bytes, BoxError> {
    body.map_err(Into::into).boxed_unsync()
}

fn pieces(body: Body) -> impl Pieces {
    body.into_data_stream().map(|piece| piece.map_err(Into::into))
}

fn boxed(pieces: impl Pieces) -> UnsyncBoxBody<Bytes, BoxError> {
    StreamBody::new(pieces.map(|piece| piece.map(Frame::data))).boxed_unsync()
}

/// The items, one each half second.
fn slowly<T>(items: impl Stream<Item = T>) -> impl Stream<Item = T> {
    items.then(|item| async {
        sleep(Duration::from_millis(500)).await;
        item
    })
}

/// Moves the paused clock, which stands still while a stream is never idle, without giving way to other tasks.
fn pass_time() {
    let _ = advance(Duration::from_millis(100)).now_or_never();
}

/// The first text, and then the second one without end.
fn repeated(first: &'static str, text: &str) -> impl Pieces + use<> {
    let text = text.to_owned();
    let start = stream::iter([first]).filter(|first| ready(!first.is_empty()));
    let start = start.map(|first| Ok(Bytes::from_static(first.as_bytes())));
    start.chain(stream::iter(0_u64..).map(move |number| {
        let profile = profile(&format!("flood-{number}")).to_string();
        Ok(text.replace("PROFILE", &profile).into())
    }))
}

/// A body up to the last of so many bytes that count.
fn first(pieces: impl Pieces, count: usize, counts: fn(u8) -> bool) -> impl Pieces {
    pieces.scan(count, move |left, piece| {
        let is_over = *left == 0;
        let piece = piece.map(|mut piece| {
            let mut counted = piece.iter().enumerate().filter(|(_, byte)| counts(**byte));
            match counted.nth(left.saturating_sub(1)) {
                Some((place, _)) => {
                    piece.truncate(place + 1);
                    *left = 0;
                }
                None => *left -= piece.iter().filter(|byte| counts(**byte)).count(),
            }
            piece
        });
        ready((!is_over).then_some(piece))
    })
}
