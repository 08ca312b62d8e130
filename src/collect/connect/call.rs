//! Sends requests to the hub, and sends them again.

use std::{cell::Cell, future::Future, sync::Arc, time::Duration};

use bytes::Bytes;
use evidence::Limits;
use http::{Method, Request, Response, header};
use http_body_util::{BodyExt as _, Limited, combinators::UnsyncBoxBody};
use kube::client::{Body, Client};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::{
    RequestCost,
    failure::{RequestFailure, read_status},
    own_credentials::OwnCredentials,
};

/// How long an answer may take until its end, unless the caller says otherwise.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest time that a request is put off in all, whatever the hub asks for.
const LONGEST_WAITS: Duration = Duration::from_secs(20);
/// How long the reason of a refusal may take. Without it, a refusal is a refusal still.
const REASON: Duration = Duration::from_secs(5);
/// Why an answer is missing that began.
pub(crate) const NO_WHOLE_ANSWER: &str = "no whole answer came";
/// Attempts until a hub that is busy or unhealthy counts as not answering.
pub(crate) const ATTEMPTS: u32 = 5;

pub(crate) type AnswerBody = UnsyncBoxBody<Bytes, kube::Error>;

#[derive(Clone)]
pub(crate) struct TimedClient {
    pub client: Client,
    /// How long an answer may take until its end, lists and watches excepted.
    pub request_timeout: Duration,
    /// How long a list may take until the end of its last page.
    pub list_timeout: Duration,
    /// How many bytes a list may have in all.
    pub most_of_list: u64,
    /// How many bytes another answer may have.
    pub most_of_answer: usize,
    pub cost: Arc<RequestCost>,
    /// The credentials that no answer may show.
    pub secrets: OwnCredentials,
    /// Makes this client's waits differ from those of other clients.
    pub seed: u64,
}

impl TimedClient {
    pub fn new(client: Client, request_timeout: Duration, cost: Arc<RequestCost>, seed: u64) -> Self {
        Self {
            client,
            request_timeout,
            list_timeout: request_timeout,
            most_of_list: Limits::default().whole,
            most_of_answer: LARGEST,
            cost,
            secrets: OwnCredentials::default(),
            seed,
        }
    }

    /// Checks how many bytes of a list have come, so that one without an end does not take all memory.
    pub fn check_list(&self, bytes: u64) -> Result<(), RequestFailure> {
        if bytes > self.most_of_list {
            let most = self.most_of_list >> 20;
            return Err(RequestFailure::broken(format!(
                "the list is too large: more than {most} MiB"
            )));
        }
        Ok(())
    }
}

/// The outcome of `work`, which fails if it takes longer; `silence` begins the reason then.
pub(crate) async fn within<T>(
    limit: Duration,
    silence: &str,
    work: impl Future<Output = Result<T, RequestFailure>>,
) -> Result<T, RequestFailure> {
    let outcome = timeout(limit, work).await;
    outcome.unwrap_or_else(|_| Err(RequestFailure::silent(silence, limit)))
}

/// Sends a request and waits for the head of the answer, whatever its status.
pub(crate) async fn answer(
    client: &TimedClient,
    request: Request<Body>,
) -> Result<Response<AnswerBody>, RequestFailure> {
    client.cost.request();
    let sending = async { Ok(client.client.send(request).await?) };
    let response = within(client.request_timeout, "no answer came", sending).await?;
    let cost = Arc::clone(&client.cost);
    Ok(response.map(|body| {
        let counted_body = body.map_frame(move |frame| {
            cost.bytes(frame.data_ref().map_or(0, Bytes::len));
            frame
        });
        counted_body.boxed_unsync()
    }))
}

/// Sends a request and waits for the head of the answer.
/// Another status than success is a failure, with the `metav1.Status` of the body.
pub(crate) async fn send(
    client: &TimedClient,
    request: Request<Body>,
) -> Result<Response<AnswerBody>, RequestFailure> {
    let response = answer(client, request).await?;
    if response.status().is_success() {
        return Ok(response);
    }
    let code = response.status().as_u16();
    let after = response.headers().get(header::RETRY_AFTER);
    let after = after.and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let limit = REASON.min(client.request_timeout);
    let body = within(limit, NO_WHOLE_ANSWER, body(response, client)).await;
    let body = body.unwrap_or_default();
    let text = client.secrets.redaction().redact_message(&body);
    let mut status = Box::new(read_status(&text));
    status.code = code;
    let details = status.details.as_ref();
    let after = after.or(details.map(|details| details.retry_after_seconds.into()));
    let retry_after = after.map(Duration::from_secs);
    Err(RequestFailure::Status { status, retry_after })
}

/// The largest answer that is read as a whole: etcd holds no object of more than a few megabytes.
const LARGEST: usize = 64 << 20;

/// The whole body of an answer that is known to be small.
pub(crate) async fn body(
    response: Response<AnswerBody>,
    client: &TimedClient,
) -> Result<Bytes, RequestFailure> {
    let body = Limited::new(response.into_body(), client.most_of_answer);
    let body = body.collect().await;
    let body = body.map_err(|error| match error.downcast::<kube::Error>() {
        Ok(error) => RequestFailure::from(*error),
        Err(_) => RequestFailure::broken("the answer is too large"),
    })?;
    Ok(body.to_bytes())
}

/// Retries `work` while `may_pass` accepts its failure, up to `attempts` in all, and not for long.
pub(crate) async fn retry<T, F: Future<Output = Result<T, RequestFailure>>>(
    attempts: u32,
    may_pass: impl Fn(&RequestFailure) -> bool,
    mut work: impl FnMut() -> F,
) -> Result<T, RequestFailure> {
    let (mut failures, mut waited) = (0, Duration::ZERO);
    loop {
        match work().await {
            Err(failure) if may_pass(&failure) && failures + 1 < attempts => {
                failures += 1;
                let wait = failure.wait(failures);
                waited += wait;
                if waited > LONGEST_WAITS {
                    return Err(failure);
                }
                sleep(wait).await;
            }
            outcome => return outcome,
        }
    }
}

/// Accepts the failures of a hub that is busy or unhealthy, and the first connection that breaks off: load balancers reset
/// some. For requests that store nothing.
pub(crate) fn unhealthy_or_cut_off_once() -> impl Fn(&RequestFailure) -> bool {
    let is_second = Cell::new(false);
    move |failure| failure.is_unhealthy() || (failure.is_cut_off() && !is_second.replace(true))
}

/// Sends a request with a small answer; again when the hub is busy or unhealthy, but not when it does not answer.
pub(crate) async fn call<T: DeserializeOwned>(
    client: &TimedClient,
    method: Method,
    path: &str,
    body: Option<&Value>,
) -> Result<T, RequestFailure> {
    retry(ATTEMPTS, RequestFailure::is_unhealthy, || {
        once(client, method.clone(), path, body)
    })
    .await
}

/// Sends a question that stores nothing, and reads its small answer. Asks again if the connection breaks off once.
pub(crate) async fn ask<T: DeserializeOwned>(
    client: &TimedClient,
    path: &str,
    question: &Value,
) -> Result<T, RequestFailure> {
    retry(ATTEMPTS, unhealthy_or_cut_off_once(), || {
        once(client, Method::POST, path, Some(question))
    })
    .await
}

/// Sends a request with a small answer once. A patch is a JSON patch (a list) or a merge patch (an object).
pub(crate) async fn once<T: DeserializeOwned>(
    client: &TimedClient,
    method: Method,
    path: &str,
    body: Option<&Value>,
) -> Result<T, RequestFailure> {
    let content_type = match (&method, body) {
        (&Method::PATCH, Some(Value::Array(_))) => "application/json-patch+json",
        (&Method::PATCH, _) => "application/merge-patch+json",
        _ => "application/json",
    };
    let mut request = request(method, path)?;
    if let Some(body) = body {
        let content_type = header::HeaderValue::from_static(content_type);
        request.headers_mut().insert(header::CONTENT_TYPE, content_type);
        *request.body_mut() = Body::from(body.to_string().into_bytes());
    }
    let whole = async { read(send(client, request).await?, path, client).await };
    within(client.request_timeout, NO_WHOLE_ANSWER, whole).await
}

/// Reads the answer to a request for `path`, which is known to be small.
pub(crate) async fn read<T: DeserializeOwned>(
    response: Response<AnswerBody>,
    path: &str,
    client: &TimedClient,
) -> Result<T, RequestFailure> {
    let answer = within(client.request_timeout, NO_WHOLE_ANSWER, body(response, client)).await?;
    let answer = client.secrets.redaction().redact(&answer).into_owned();
    // The parser's message may quote what it could not read.
    serde_json::from_slice(&answer)
        .map_err(|_| RequestFailure::broken(format!("the answer to {path} cannot be read")))
}

/// Reads an object. Asks again if the connection breaks off once.
pub(crate) async fn get<T: DeserializeOwned>(client: &TimedClient, path: &str) -> Result<T, RequestFailure> {
    retry(ATTEMPTS, unhealthy_or_cut_off_once(), || {
        once(client, Method::GET, path, None)
    })
    .await
}

/// A request without a body.
pub(crate) fn request(method: Method, path: &str) -> Result<Request<Body>, RequestFailure> {
    let mut request = Request::new(Body::empty());
    *request.method_mut() = method;
    // Every part of a path is a constant or went through `segment`, so that only its length can be wrong.
    *request.uri_mut() = path.parse().map_err(|_| {
        RequestFailure::broken("a name, version or token of the API server does not fit into a URL")
    })?;
    let json = header::HeaderValue::from_static("application/json");
    request.headers_mut().insert(header::ACCEPT, json);
    Ok(request)
}

/// What is escaped in a part of a path or query: all that servers might read in another way.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');

pub(crate) fn segment(name: &str) -> String {
    utf8_percent_encode(name, ESCAPED).to_string()
}

/// The path of a resource in a namespace, or in all if the name is empty.
pub(crate) fn in_namespace(namespace: &str, resource: &str) -> String {
    match namespace {
        "" => resource.to_owned(),
        name => format!("namespaces/{}/{resource}", segment(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_makes_no_url_is_no_panic() {
        let path = format!("/apis/{}", segment(&"\u{7f}".repeat(70_000)));
        assert!(request(Method::GET, &path).is_err());
        assert!(request(Method::GET, &format!("/apis/{}", segment("a b/..?#\0"))).is_ok());
    }
}
