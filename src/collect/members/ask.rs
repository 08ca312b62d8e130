//! Sends requests to a member, with limits of time and size.

use std::{future::Future, time::Duration};

use bytes::Bytes;
use evidence::{Reason, ReasonId};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Limited};
use kube::{
    client::{Body, Client},
    config::AuthInfo,
};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use zeroize::Zeroizing;

use crate::{
    connect::{self, error::one_line, own_credentials::secrets_in},
    watch::{
        list::next_page,
        splitter::{FrameMetadata, Splitter},
    },
};

/// How long a request may take in all.
pub(super) const REQUEST: Duration = Duration::from_secs(10);
/// How long a member that is busy or ailing is left alone before a request is sent once more.
const BREATH: Duration = Duration::from_secs(1);
/// The largest answer that is one object.
const LARGEST: usize = 1 << 20;
/// The largest list, of whole objects and of metadata, which is read item by item and not kept.
const LARGEST_LIST: usize = 4 << 20;
const LARGEST_METADATA: usize = 64 << 20;

/// How many pages of a list are read.
const PAGES: usize = 200;

/// Why a member that does not accept the credential is missing.
pub(super) const NOT_ACCEPTED: &str =
    "the member answered 401 Unauthorized: it does not accept the credential";

const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// Asks for the metadata of what is listed, where the server can leave out the rest.
const METADATA: HeaderValue = HeaderValue::from_static(
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
);

/// A member, as it is asked.
pub(super) struct Asker {
    pub client: Client,
    pub clean: Clean,
}

/// Why there is no answer to use. Holds nothing of what the member said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NoAnswer {
    /// The member answered with this status.
    Refused(StatusCode),
    /// There was no answer, or none that makes sense.
    Silent(String),
}

/// A whole answer, whatever its status.
pub(super) struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl NoAnswer {
    /// The answer makes no sense.
    pub fn unreadable() -> Self {
        NoAnswer::Silent("what the member answered cannot be read".to_owned())
    }

    /// In one line. `right` is what would let the runner in.
    pub fn describe(&self, right: &str) -> Reason {
        match self {
            NoAnswer::Silent(cause) => cause.clone().into(),
            NoAnswer::Refused(StatusCode::UNAUTHORIZED) => NOT_ACCEPTED.into(),
            NoAnswer::Refused(StatusCode::FORBIDDEN) => {
                let told = format!("the member answered 403 Forbidden: grant {right} on the member");
                Reason::of(ReasonId::MemberForbidden, told)
            }
            NoAnswer::Refused(status) if status.is_redirection() => {
                format!("the member answered {status}, which is not followed").into()
            }
            NoAnswer::Refused(status) => format!("the member answered {status}").into(),
        }
    }

    /// Whether the same request may succeed a moment later.
    fn may_pass(&self) -> bool {
        matches!(self, NoAnswer::Refused(status) if status.is_server_error() || *status == StatusCode::TOO_MANY_REQUESTS)
    }
}

impl Asker {
    /// Gets what is at `path`, whatever the member answers.
    ///
    /// # Errors
    /// When there is no whole answer.
    pub async fn answer(&self, path: &str) -> Result<Answer, NoAnswer> {
        in_time(self.whole(request(Method::GET, path, JSON, Body::empty())?)).await
    }

    /// Reads the object at `path`, with the headers of the answer.
    ///
    /// # Errors
    /// When there is none.
    pub async fn get(&self, path: &str) -> Result<(Value, HeaderMap), NoAnswer> {
        twice(|| async {
            let answer = self.answer(path).await?;
            read(&answer).map(|object| (object, answer.headers))
        })
        .await
    }

    /// Asks a question about oneself, which stores nothing.
    ///
    /// # Errors
    /// When it is not answered.
    pub async fn review(&self, path: &str, review: &Value) -> Result<Value, NoAnswer> {
        twice(|| async {
            let mut request = request(Method::POST, path, JSON, review.to_string().into_bytes().into())?;
            request.headers_mut().insert(header::CONTENT_TYPE, JSON);
            read(&in_time(self.whole(request)).await?)
        })
        .await
    }

    /// Lists the metadata of what is at `path`, or all of it where the server can do no less, and hands each item's JSON
    /// to `each`. With `last` the connection is closed: members are many.
    ///
    /// # Errors
    /// When there is no whole list. Items may have been handed on by then.
    pub async fn list(
        &self,
        path: &str,
        accept: Wanted,
        mut each: impl FnMut(&[u8]),
    ) -> Result<FrameMetadata, NoAnswer> {
        in_time(async {
            let mut request = request(Method::GET, path, accept.header(), Body::empty())?;
            if accept == Wanted::MetadataAtLast {
                let close = HeaderValue::from_static("close");
                request.headers_mut().insert(header::CONNECTION, close);
            }
            let response = self.send(request).await?;
            if !response.status().is_success() {
                return Err(NoAnswer::Refused(response.status()));
            }
            let mut body = Limited::new(response.into_body(), accept.largest());
            let mut splitter = Splitter::default();
            while let Some(frame) = body.frame().await {
                let frame = frame.map_err(|error| self.broken(error))?;
                if let Ok(piece) = frame.into_data() {
                    splitter
                        .feed(&piece, &mut each)
                        .map_err(|_| NoAnswer::unreadable())?;
                }
            }
            let frame = splitter.finish().map_err(|_| NoAnswer::unreadable())?;
            Ok(frame.metadata)
        })
        .await
    }

    /// The same for all pages of a list: servers may cut a list without being asked.
    ///
    /// # Errors
    /// When there is no whole list. Items may have been handed on by then.
    pub async fn list_all(
        &self,
        path: &str,
        accept: Wanted,
        mut each: impl FnMut(&[u8]),
    ) -> Result<(), NoAnswer> {
        let mut page = path.to_owned();
        for _ in 0..PAGES {
            let metadata = self.list(&page, accept, &mut each).await?;
            if metadata.rest.is_empty() {
                return Ok(());
            }
            page = next_page(path, &metadata.rest);
        }
        Err(NoAnswer::Silent(
            "the member's list has more pages than are read".to_owned(),
        ))
    }

    async fn whole(&self, request: Request<Body>) -> Result<Answer, NoAnswer> {
        let response = self.send(request).await?;
        let (head, body) = response.into_parts();
        let body = Limited::new(body, LARGEST).collect().await;
        Ok(Answer {
            status: head.status,
            headers: head.headers,
            body: body.map_err(|error| self.broken(error))?.to_bytes(),
        })
    }

    async fn send(&self, request: Request<Body>) -> Result<Response<Body>, NoAnswer> {
        let response = self.client.send(request).await;
        response.map_err(|error| self.silent(&error))
    }

    fn silent(&self, error: &kube::Error) -> NoAnswer {
        let cause = self.clean.words(&connect::cause(error));
        NoAnswer::Silent(if connect::is_tls(error) {
            format!("no secure connection: {cause}")
        } else {
            cause
        })
    }

    fn broken(&self, error: Box<dyn std::error::Error + Send + Sync>) -> NoAnswer {
        match error.downcast::<kube::Error>() {
            Ok(error) => self.silent(&error),
            Err(_) => NoAnswer::Silent("what the member answered is too large".to_owned()),
        }
    }
}

/// What of a list is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// All of it.
    All,
    /// The metadata.
    Metadata,
    /// The metadata, and nothing more for now: the connection is closed, as members are many.
    MetadataAtLast,
}

impl Wanted {
    fn largest(self) -> usize {
        match self {
            Wanted::All => LARGEST_LIST,
            Wanted::Metadata | Wanted::MetadataAtLast => LARGEST_METADATA,
        }
    }

    fn header(self) -> HeaderValue {
        match self {
            Wanted::All => JSON,
            Wanted::Metadata | Wanted::MetadataAtLast => METADATA,
        }
    }
}

fn request(method: Method, path: &str, accept: HeaderValue, body: Body) -> Result<Request<Body>, NoAnswer> {
    let mut request = Request::new(body);
    *request.method_mut() = method;
    // A member's continue token may be too long to be a part of it.
    *request.uri_mut() = path.parse().map_err(|_| NoAnswer::unreadable())?;
    request.headers_mut().insert(header::ACCEPT, accept);
    Ok(request)
}

async fn in_time<T>(work: impl Future<Output = Result<T, NoAnswer>>) -> Result<T, NoAnswer> {
    let late = |_| NoAnswer::Silent(format!("no whole answer came for {} s", REQUEST.as_secs()));
    timeout(REQUEST, work).await.map_err(late)?
}

/// Does it once more where that may help.
async fn twice<T, F: Future<Output = Result<T, NoAnswer>>>(
    mut work: impl FnMut() -> F,
) -> Result<T, NoAnswer> {
    match work().await {
        Err(no) if no.may_pass() => {
            sleep(BREATH).await;
            work().await
        }
        outcome => outcome,
    }
}

fn read(answer: &Answer) -> Result<Value, NoAnswer> {
    if !answer.status.is_success() {
        return Err(NoAnswer::Refused(answer.status));
    }
    // The parser's message may quote what it could not read.
    let object: Option<Value> = serde_json::from_slice(&answer.body).ok();
    object.filter(Value::is_object).ok_or_else(NoAnswer::unreadable)
}

/// Shorter values are words that other texts contain, too.
const SHORTEST_SECRET: usize = 8;
/// How many characters of a member's words are kept.
const LONGEST_WORDS: usize = 200;

/// Redacts the credentials of a kubeconfig, which a member's answers may repeat. Can neither be printed nor written, and is
/// wiped when dropped.
#[derive(Default)]
pub(super) struct Clean(Zeroizing<Vec<String>>);

impl Clean {
    /// Redacts the credentials of a kubeconfig's user.
    pub fn of(user: &AuthInfo) -> Self {
        let kubeconfig = Zeroizing::new(json!({"users": [{"user": user}]}).to_string());
        // What rules compare may contain a region or a profile's name, which a kubeconfig may also give to a plugin.
        let secrets = secrets_in(&kubeconfig).into_iter();
        let secrets: Vec<String> = secrets.filter(|secret| secret.len() >= SHORTEST_SECRET).collect();
        Self(secrets.into())
    }

    /// A member's words in one line, without credentials.
    pub fn words(&self, text: &str) -> String {
        one_line(&self.value(text), LONGEST_WORDS)
    }

    /// A value without the credentials.
    pub fn value(&self, text: &str) -> String {
        let secrets = self.0.iter();
        secrets.fold(text.to_owned(), |text, secret| text.replace(secret, "…"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_that_repeats_its_credential_tells_nothing() {
        let user = r#"{"token": " CANARY-token\n", "password": "short", "client-key-data": "Q0FOQVJZ"}"#;
        let clean = Clean::of(&serde_json::from_str(user).expect("a user"));
        assert_eq!(
            clean.words("a CANARY-token, short\nand Q0FOQVJZ"),
            "a …, short and …"
        );
        assert_eq!(clean.value("CANARY-token"), "…");
        assert_eq!(clean.words(&"é".repeat(300)), format!("{}…", "é".repeat(200)));
        assert_eq!(Clean::default().words("Bearer abcdefghijklmnopqrstuvwxyz"), "…");
    }
}
