//! Bodies: reading them within bounds, and the answers' own kind.

use std::borrow::Cow;
use std::convert::Infallible;

use bytes::{Bytes, BytesMut};
use futures::Stream;
use http::{Response, StatusCode};
use http_body::{Body, Frame};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use serde_json::Value;

use super::status::{Failure, Outcome};

/// The body of an answer: one piece of JSON, or a stream of watch events.
pub type ResponseBody = UnsyncBoxBody<Bytes, Infallible>;

/// The largest request that is read, in bytes.
const MAX_REQUEST: usize = 3 * 1024 * 1024;

/// Reads a request's body.
pub(super) async fn read<B>(body: B) -> Outcome<Bytes>
where
    B: Body<Data = Bytes>,
{
    let mut body = std::pin::pin!(body);
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Failure::bad_request("failed to read the request's body"))?;
        let Ok(data) = frame.into_data() else { continue };
        if whole.len() + data.len() > MAX_REQUEST {
            let message = format!("Request entity too large: limit is {MAX_REQUEST}");
            return Err(Failure::too_large(message));
        }
        whole.extend_from_slice(&data);
    }
    Ok(whole.freeze())
}

/// What a handler answers with.
pub(super) struct Reply {
    pub(super) code: u16,
    pub(super) body: ReplyBody,
    /// Texts for `Warning` headers.
    pub(super) warnings: Vec<String>,
}

pub(super) enum ReplyBody {
    Json(Bytes),
    Text(Cow<'static, str>),
    /// JSON that is told under a name of its own.
    Typed(&'static str, Bytes),
    /// Watch events. Their audit entry is theirs to close.
    Events(ResponseBody),
}

impl Reply {
    pub(super) fn json(code: u16, body: impl Into<Bytes>) -> Self {
        Self {
            code,
            body: ReplyBody::Json(body.into()),
            warnings: Vec::new(),
        }
    }

    pub(super) fn value(code: u16, value: &Value) -> Self {
        Self::json(code, value.to_string())
    }

    pub(super) fn typed(kind: &'static str, body: impl Into<Bytes>) -> Self {
        Self {
            body: ReplyBody::Typed(kind, body.into()),
            ..Self::json(200, Bytes::new())
        }
    }

    pub(super) fn events(stream: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        let frames = futures::StreamExt::map(stream, |event| Ok::<_, Infallible>(Frame::data(event)));
        Self {
            code: 200,
            body: ReplyBody::Events(StreamBody::new(frames).boxed_unsync()),
            warnings: Vec::new(),
        }
    }

    pub(super) fn into_response(self) -> Response<ResponseBody> {
        let (kind, body) = match self.body {
            ReplyBody::Json(bytes) => ("application/json", Full::new(bytes).boxed_unsync()),
            ReplyBody::Text(text) => (
                if text.is_empty() {
                    ""
                } else {
                    "text/plain; charset=utf-8"
                },
                Full::new(bytes_of(text)).boxed_unsync(),
            ),
            ReplyBody::Typed(kind, bytes) => (kind, Full::new(bytes).boxed_unsync()),
            ReplyBody::Events(events) => ("application/json", events),
        };
        let mut response = Response::new(body);
        *response.status_mut() = StatusCode::from_u16(self.code).unwrap_or(StatusCode::OK);
        let headers = response.headers_mut();
        if !kind.is_empty() {
            headers.insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static(kind));
        }
        headers.insert(
            http::header::CACHE_CONTROL,
            http::HeaderValue::from_static("no-cache, private"),
        );
        for warning in self.warnings {
            let text = format!("299 - {}", super::field::quoted(&warning));
            if let Ok(value) = http::HeaderValue::from_str(&text) {
                headers.append(http::header::WARNING, value);
            }
        }
        response
    }
}

fn bytes_of(text: Cow<'static, str>) -> Bytes {
    match text {
        Cow::Borrowed(text) => Bytes::from_static(text.as_bytes()),
        Cow::Owned(text) => text.into(),
    }
}
