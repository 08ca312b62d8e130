//! The way of a request: authentication, authorization, faults, handler, audit log.

use std::sync::Arc;

use bytes::Bytes;
use http::{
    HeaderName, HeaderValue, Request, Response,
    header::{ACCEPT, CONTENT_TYPE, DATE, RETRY_AFTER, USER_AGENT},
};
use http_body::Body;
use jiff::fmt::rfc2822::DateTimePrinter;
use tower::BoxError;

use super::body;
use crate::{
    access::{rbac, rbac::Act},
    context::{audit::Entry, auth::impersonated, request::Context, state::State},
    object::status::{Failure, Outcome},
    request::{
        form::{conversions, media_type},
        info::RequestInfo,
        reply::{Reply, ReplyBody, ResponseBody},
    },
};

/// Answers a request.
pub(crate) async fn answer<B>(state: &Arc<State>, request: Request<B>) -> Response<ResponseBody>
where
    B: Body<Data = Bytes, Error: Into<BoxError>>,
{
    let (parts, body) = request.into_parts();
    let info = RequestInfo::read(&parts.method, &parts.uri);
    let header = |name: HeaderName| {
        let value = parts.headers.get(name).map(HeaderValue::to_str);
        value.and_then(Result::ok).unwrap_or_default()
    };
    let (agent, accept) = (header(USER_AGENT), header(ACCEPT));
    let mut entry = Entry::begin(state, &info, &parts.uri, agent);
    let mut warnings = Vec::new();
    let outcome = async {
        let mut user = state.authenticate(&parts.headers)?;
        entry.user("user", &user);
        let act = Act::of(&info);
        if let Some(other) = impersonated(state, &user, &parts.headers, &act)? {
            user = other.into();
            entry.user("impersonatedUser", &user);
        }
        let decision = state.authorize(&user, &act);
        entry.decision(&decision);
        if !decision.allowed {
            return Err(rbac::forbidden(&user, &act, &decision.reason));
        }
        let fate = state.faults.befall(&info);
        if !fate.latency.is_zero() {
            tokio::time::sleep(fate.latency).await;
        }
        fate.failure.map_or(Ok(()), Err)?;
        if fate.forgets {
            state.storage().compact();
        }
        let mut context = Context {
            state,
            info: &info,
            user: &user,
            agent,
            content_type: media_type(header(CONTENT_TYPE)),
            accept,
            entry: &mut entry,
            warnings: &mut warnings,
        };
        context.dispatch(body::read(body)).await
    };
    let outcome: Outcome<Reply> = outcome.await;
    let failure = outcome.as_ref().err();
    let retry_after = failure.and_then(|failure| failure.details.as_ref()?["retryAfterSeconds"].as_u64());
    let reply = outcome.unwrap_or_else(|failure| refusal(&failure, accept, &mut entry));
    if let ReplyBody::Json(body) = &reply.body {
        entry.answer(body);
    }
    if reply.code == 401 || reply.code >= 400 && info.verb == "watch" {
        entry.started(reply.code);
    }
    // A watch writes its own last event.
    if reply.code != 401 && !matches!(reply.body, ReplyBody::Events(_)) {
        entry.complete(reply.code);
    }
    let mut response = reply.into_response(warnings);
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    // Clients compare their clock with this one. An HTTP server would stamp the machine's time.
    let date = DateTimePrinter::new().timestamp_to_rfc9110_string(&state.now());
    if let Some(date) = date.ok().and_then(|date| HeaderValue::try_from(date).ok()) {
        response.headers_mut().insert(DATE, date);
    }
    response
}

/// The answer to a failed request. The audit event has the Status only if the client accepts one.
fn refusal(failure: &Failure, accept: &str, entry: &mut Entry) -> Reply {
    if let Some(text) = failure.plain {
        return Reply::text(failure.code, text);
    }
    let status = failure.to_value();
    let reply = Reply::value(failure.code, &status);
    if conversions(accept).any(|(kind, ..)| kind.is_empty()) {
        entry.status = status;
    }
    reply
}
