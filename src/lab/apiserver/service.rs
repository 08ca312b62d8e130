//! The way of a request: who is it, may it, shall it fail; then its handler; then the audit log.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};

use bytes::Bytes;
use http::{HeaderValue, Request, Response};
use http_body::Body;
use tower::Service;

use super::audit::Entry;
use super::auth::impersonated;
use super::body::{self, Reply, ReplyBody, ResponseBody};
use super::context::Context;
use super::form::conversions;
use super::rbac::{self, Act};
use super::request::RequestInfo;
use super::server::ApiServer;
use super::status::{Failure, Outcome};

type Answer = Pin<Box<dyn Future<Output = Result<Response<ResponseBody>, Infallible>> + Send>>;

impl<B> Service<Request<B>> for ApiServer
where
    B: Body<Data = Bytes> + Send + 'static,
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
        B: Body<Data = Bytes>,
    {
        let (parts, body) = request.into_parts();
        let info = RequestInfo::read(&parts.method, &parts.uri);
        let header = |name: http::HeaderName| {
            let value = parts.headers.get(name);
            value
                .and_then(|value| value.to_str().ok())
                .unwrap_or_default()
                .to_owned()
        };
        let agent = header(http::header::USER_AGENT);
        let accept = header(http::header::ACCEPT);
        let mut entry = Entry::begin(
            &self.inner.audit,
            self.new_uid(),
            &info,
            &parts.uri,
            &agent,
            self.audit_time(),
        );
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
            if let Some(latency) = self.inner.faults.latency(&info) {
                tokio::time::sleep(latency).await;
            }
            self.inner.faults.check(&info)?;
            if self.inner.faults.is_to_be_forgotten(&info) {
                self.storage().compact();
            }
            let mut context = Context {
                server: self,
                info: &info,
                user: &user,
                agent: &agent,
                content_type: header(http::header::CONTENT_TYPE),
                accept: accept.clone(),
                entry: &mut entry,
                warnings: &mut warnings,
            };
            context.dispatch(&parts.method, body::read(body)).await
        };
        let outcome: Outcome<Reply> = outcome.await;
        let code = outcome
            .as_ref()
            .map_or_else(|failure| failure.code, |reply| reply.code);
        // Paths that lead nowhere are not told apart, or the series would have no end.
        if info.target.is_none() || code != 404 {
            self.inner.metrics.count(&info, code);
        }
        match outcome {
            Ok(mut reply) => {
                reply.warnings.extend(warnings);
                if let ReplyBody::Json(body) = &reply.body {
                    entry.answer(body);
                }
                // A watch is over when its stream is.
                if !matches!(reply.body, ReplyBody::Events(_)) {
                    entry.complete(reply.code, None, self.audit_time());
                }
                reply.into_response()
            }
            Err(failure) => self.refuse(&failure, warnings, &info, &accept, entry),
        }
    }

    fn refuse(
        &self,
        failure: &Failure,
        warnings: Vec<String>,
        info: &RequestInfo,
        accept: &str,
        mut entry: Entry,
    ) -> Response<ResponseBody> {
        let status = failure.to_value();
        // What is not answered with a Status has none in the log; nor has what nobody wished to be told by one.
        let is_wished = conversions(accept).any(|(kind, ..)| kind.is_empty());
        let told = (failure.plain.is_none() && is_wished).then_some(&status);
        if failure.plain.is_none() {
            entry.answer(status.to_string().as_bytes());
        }
        if failure.code == 401 || info.verb == "watch" {
            entry.started(failure.code, told, self.audit_time());
        }
        if failure.code != 401 {
            entry.complete(failure.code, told, self.audit_time());
        }
        let reply = match failure.plain {
            Some(text) => Reply {
                code: failure.code,
                body: ReplyBody::Text(text.into()),
                warnings,
            },
            None => Reply {
                warnings,
                ..Reply::value(failure.code, &status)
            },
        };
        let mut response = reply.into_response();
        if let Some(seconds) = failure.retry_after {
            let headers = response.headers_mut();
            headers.insert(http::header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// A server as the user with a token sees it.
#[derive(Clone, Debug)]
pub(in crate::lab) struct ClientService {
    server: ApiServer,
    authorization: Option<HeaderValue>,
    agent: Option<HeaderValue>,
}

impl ClientService {
    pub(in crate::lab) fn new(server: ApiServer, token: &str, agent: &str) -> Self {
        let bearer = format!("Bearer {token}");
        Self {
            server,
            authorization: HeaderValue::from_str(&bearer).ok(),
            agent: HeaderValue::from_str(agent).ok(),
        }
    }
}

impl<B> Service<Request<B>> for ClientService
where
    B: Body<Data = Bytes> + Send + 'static,
{
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = Answer;

    fn poll_ready(&mut self, _: &mut TaskContext<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<B>) -> Answer {
        let headers = request.headers_mut();
        if let Some(authorization) = &self.authorization {
            headers.insert(http::header::AUTHORIZATION, authorization.clone());
        }
        if let Some(agent) = &self.agent {
            headers.insert(http::header::USER_AGENT, agent.clone());
        }
        self.server.call(request)
    }
}
