//! Builds answers.

use std::convert::Infallible;

use bytes::Bytes;
use futures::Stream;
use http::{HeaderValue, Response, StatusCode, header};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use serde_json::Value;

use crate::object::field::quoted;

/// The body of a response: JSON, or a stream of watch events.
pub type ResponseBody = UnsyncBoxBody<Bytes, Infallible>;

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
