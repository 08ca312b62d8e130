//! The way of a request: who is it, may it, shall it fail; then its handler; then the audit log.

use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    task::{Context as TaskContext, Poll},
};

use bytes::Bytes;
use http::{
    HeaderName, HeaderValue, Request, Response,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER, USER_AGENT},
};
use http_body::Body;
use tower::{BoxError, Service, util::MapRequest};

use super::{
    body::{self, Reply, ReplyBody, ResponseBody},
    context::{Context, media_type},
    form::conversions,
    request::RequestInfo,
};
use crate::{
    about::audit::Entry,
    access::{auth::impersonated, rbac, rbac::Act},
    object::status::{Failure, Outcome},
    server::ApiServer,
};

type Answer = Pin<Box<dyn Future<Output = Result<Response<ResponseBody>, Infallible>> + Send>>;

impl<B> Service<Request<B>> for ApiServer
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = Answer;

    fn poll_ready(&mut self, _: &mut TaskContext<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Answer {
        let server = self.clone();
        Box::pin(async move { Ok(server.answer(request).await) })
    }
}

impl ApiServer {
    async fn answer<B>(&self, request: Request<B>) -> Response<ResponseBody>
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
        let mut entry = Entry::begin(self, &info, &parts.uri, agent);
        let mut warnings = Vec::new();
        let outcome = async {
            let mut user = self.authenticate(&parts.headers)?;
            entry.user("user", &user);
            let act = Act::of(&info);
            if let Some(other) = impersonated(self, &user, &parts.headers, &act)? {
                user = other.into();
                entry.user("impersonatedUser", &user);
            }
            let decision = self.authorize(&user, &act);
            entry.decision(&decision);
            if !decision.allowed {
                return Err(rbac::forbidden(&user, &act, &decision.reason));
            }
            let fate = self.inner.faults.befall(&info);
            if !fate.latency.is_zero() {
                tokio::time::sleep(fate.latency).await;
            }
            fate.failure.map_or(Ok(()), Err)?;
            if fate.forgets {
                self.storage().compact();
            }
            let mut context = Context {
                server: self,
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
        // A watch is over when its stream is.
        if reply.code != 401 && !matches!(reply.body, ReplyBody::Events(_)) {
            entry.complete(reply.code);
        }
        // Paths that lead nowhere are not told apart, or the series would have no end.
        if info.target.is_none() || reply.code != 404 {
            self.inner.metrics.count(&info, reply.code);
        }
        let mut response = reply.into_response(warnings);
        if let Some(seconds) = retry_after {
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        response
    }

    /// The server as a client in process sees it that sends this bearer token and this User-Agent.
    pub fn seen_with(
        &self,
        token: &str,
        agent: &str,
    ) -> MapRequest<
        Self,
        impl FnMut(Request<kube::client::Body>) -> Request<kube::client::Body> + Clone + use<>,
    > {
        let headers = [
            (AUTHORIZATION, format!("Bearer {token}")),
            (USER_AGENT, agent.to_owned()),
        ];
        let headers = headers.map(|(name, value)| Some((name, HeaderValue::try_from(value).ok()?)));
        MapRequest::new(self.clone(), move |mut request: Request<_>| {
            for (name, value) in headers.iter().flatten() {
                request.headers_mut().insert(name, value.clone());
            }
            request
        })
    }
}

/// The answer to what failed. The log tells of the Status only where there is one, and somebody wished to be told so.
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
