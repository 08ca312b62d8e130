//! Answers requests to a stand-in, while it is reachable, and makes clients for it.

use std::{
    convert::Infallible,
    future::Future,
    io,
    pin::Pin,
    task::{Context, Poll},
};

use apiserver::{ApiServer, ResponseBody};
use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use http_body::Body;
use tower::Service;

use super::stand_in::StandIn;

impl StandIn {
    /// A client in process for `user`, with this User-Agent.
    pub fn client_as(&self, user: &str, user_agent: &str) -> kube::Client {
        self.client_with_token(&ApiServer::token(user), user_agent)
    }

    /// A client in process with this bearer token. The member refuses a token that it does not know.
    pub fn client_with_token(&self, token: &str, user_agent: &str) -> kube::Client {
        let inner = self.server().seen_with(token, user_agent);
        kube::Client::new(self.service(inner), "default")
    }

    /// The member's service: that of its API server, while the member is reachable.
    pub(super) fn service<S>(&self, inner: S) -> MemberService<S> {
        MemberService {
            member: self.clone(),
            inner,
        }
    }
}

/// Applies a stand-in's state to requests to its API server, `inner`.
#[derive(Clone)]
pub(super) struct MemberService<S> {
    member: StandIn,
    inner: S,
}

impl<S, B> Service<Request<B>> for MemberService<S>
where
    S: Service<Request<B>, Response = Response<ResponseBody>, Error = Infallible, Future: Send + 'static>,
    B: Body<Data = Bytes> + Send + 'static,
{
    type Response = Response<ResponseBody>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, io::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        if !self.member.is_reachable() {
            return Box::pin(async { Err(io::ErrorKind::ConnectionRefused.into()) });
        }
        self.member.freshen(request.uri().path());
        let date = self.member.date();
        let answer = self.inner.call(request);
        Box::pin(async move {
            let Ok(mut response) = answer.await;
            if let Ok(date) = HeaderValue::from_str(&date) {
                response.headers_mut().insert(header::DATE, date);
            }
            Ok(response)
        })
    }
}
