//! Reads request bodies up to a limit, and builds answers.

use std::convert::Infallible;

use bytes::Bytes;
use futures::Stream;
use http::{HeaderValue, Response, StatusCode, header};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited, StreamBody, combinators::UnsyncBoxBody};
use serde_json::Value;
use tower::BoxError;

use crate::object::{
    field::quoted,
    status::{Failure, Outcome},
};

/// The body of a response: JSON, or a stream of watch events.
pub type ResponseBody = UnsyncBoxBody<Bytes, Infallible>;

/// The maximum size of a request, in bytes.
const MAX_REQUEST: usize = 3 * 1024 * 1024;

/// Reads a request's body.
pub(crate) async fn read<B>(body: B) -> Outcome<Bytes>
where
    B: Body<Data = Bytes, Error: Into<BoxError>>,
{
    let whole = Limited::new(body, MAX_REQUEST).collect().await;
    let whole = whole.map_err(|error| {
        if error.is::<LengthLimitError>() {
            let why = format!("Request entity too large: limit is {MAX_REQUEST}");
            Failure::new(413, "RequestEntityTooLarge", why)
        } else {
            Failure::bad_request("failed to read the request's body")
        }
    });
    Ok(whole?.to_bytes())
}

/// A handler's answer.
pub(crate) struct Reply {
    pub(crate) code: u16,
    pub(crate) body: ReplyBody,
}

pub(crate) enum ReplyBody {
    Json(Bytes),
    /// Content with its content type, empty for none.
    Typed(&'static str, Bytes),
    /// Watch events, which close their audit event themselves.
    Events(ResponseBody),
}

impl Reply {
    pub(crate) fn json(code: u16, body: impl Into<Bytes>) -> Self {
        let body = ReplyBody::Json(body.into());
        Self { code, body }
    }

    pub(crate) fn value(code: u16, value: &Value) -> Self {
        Self::json(code, value.to_string())
    }

    pub(crate) fn typed(kind: &'static str, body: impl Into<Bytes>) -> Self {
        let body = ReplyBody::Typed(kind, body.into());
        Self { code: 200, body }
    }

    /// A plain text.
    pub(crate) fn text(code: u16, text: impl Into<Bytes>) -> Self {
        let text = text.into();
        let kind = if text.is_empty() {
            ""
        } else {
            "text/plain; charset=utf-8"
        };
        Self {
            code,
            ..Self::typed(kind, text)
        }
    }

    pub(crate) fn events(stream: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        let frames = futures::StreamExt::map(stream, |event| Ok(Frame::data(event)));
        let body = ReplyBody::Events(StreamBody::new(frames).boxed_unsync());
        Self { code: 200, body }
    }

    /// The HTTP response, with these warnings as headers.
    pub(crate) fn into_response(self, warnings: Vec<String>) -> Response<ResponseBody> {
        let (kind, body) = match self.body {
            ReplyBody::Json(bytes) => ("application/json", Full::new(bytes).boxed_unsync()),
            ReplyBody::Typed(kind, bytes) => (kind, Full::new(bytes).boxed_unsync()),
            ReplyBody::Events(events) => ("application/json", events),
        };
        let mut response = Response::new(body);
        *response.status_mut() = StatusCode::from_u16(self.code).unwrap_or(StatusCode::OK);
        let headers = response.headers_mut();
        if !kind.is_empty() {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        headers.insert(
            header::CACHE_CONTROL,
            HeaderValue::from_static("no-cache, private"),
        );
        let warnings = warnings
            .iter()
            .map(|warning| format!("299 - {}", quoted(warning)));
        for warning in warnings.flat_map(HeaderValue::try_from) {
            headers.append(header::WARNING, warning);
        }
        response
    }
}
