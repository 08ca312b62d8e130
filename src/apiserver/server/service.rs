//! The way of a request: authentication, authorization, faults, handler, audit log.

use std::sync::Arc;

use bytes::Bytes;
use http::{
    HeaderName, HeaderValue, Request, Response,
    header::{ACCEPT, CONTENT_TYPE, DATE, RETRY_AFTER, USER_AGENT},
};
use http_body::Body;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use jiff::fmt::rfc2822::DateTimePrinter;
use tower::BoxError;

use crate::{
    access::{rbac, rbac::RbacAction},
    context::{AuditEntry, Context, ServerState, impersonated},
    object::status::{HandlerResult, StatusFailure},
    request::{Form, Reply, ReplyBody, RequestInfo, ResponseBody, conversions, media_type},
    store::{resource::Family, route::Route},
    verbs::reviews,
};

/// The maximum size of a request, in bytes.
const MAX_REQUEST: usize = 3 * 1024 * 1024;

/// Answers a request.
pub(crate) async fn answer<B>(state: &Arc<ServerState>, request: Request<B>) -> Response<ResponseBody>
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
    let mut entry = AuditEntry::begin(state, &info, &parts.uri, agent);
    let mut warnings = Vec::new();
    let outcome = async {
        let mut user = state.authenticate(&parts.headers)?;
        entry.user("user", &user);
        if let Some(impersonated_user) = impersonated(state, &user, &parts.headers)? {
            user = impersonated_user.into();
            entry.user("impersonatedUser", &user);
        }
        let action = RbacAction::of(&info);
        let decision = state.authorize(&user, &action);
        entry.decision(&decision);
        if !decision.allowed {
            return Err(rbac::forbidden(&user, &action, &decision.reason));
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
        context.dispatch(read_body(body)).await
    };
    let outcome: HandlerResult<Reply> = outcome.await;
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
fn refusal(failure: &StatusFailure, accept: &str, entry: &mut AuditEntry) -> Reply {
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

/// Reads a request's body.
async fn read_body<B>(body: B) -> HandlerResult<Bytes>
where
    B: Body<Data = Bytes, Error: Into<BoxError>>,
{
    let whole = Limited::new(body, MAX_REQUEST).collect().await;
    let whole = whole.map_err(|error| {
        if error.is::<LengthLimitError>() {
            StatusFailure::too_large(&format!("limit is {MAX_REQUEST}"))
        } else {
            StatusFailure::bad_request("failed to read the request's body")
        }
    });
    Ok(whole?.to_bytes())
}

impl Context<'_> {
    /// Calls the handler. Only handlers that want the body read it.
    async fn dispatch(&mut self, body: impl Future<Output = HandlerResult<Bytes>>) -> HandlerResult<Reply> {
        let info = self.info;
        let Some(target) = &info.target else {
            return self.about_server();
        };
        if reviews::is_token_request(target) && info.verb == "create" {
            return self.give_token(target, &body.await?);
        }
        let route = Route::find(&self.state.storage(), target)?;
        let form = Form::requested(self.accept, &info.query)?;
        if route.resource.family == Family::Review {
            let is_routed =
                target.name.is_empty() && route.resource.namespaced != target.namespace.is_empty();
            return match (is_routed, info.verb) {
                (true, "create") => self.review(&route, &body.await?),
                (true, _) => Err(StatusFailure::method_not_routed()),
                (false, _) => Err(StatusFailure::no_such_resource()),
            };
        }
        self.warnings.extend(route.version().warning.clone());
        // Only lists and watches span namespaces.
        let is_everywhere = route.resource.namespaced && target.namespace.is_empty();
        if is_everywhere && !matches!(info.verb, "list" | "watch") {
            return Err(match route.resource.family {
                Family::Custom => StatusFailure::no_such_path(),
                _ => StatusFailure::method_not_routed(),
            });
        }
        let is_custom = route.resource.family == Family::Custom;
        let (is_named, is_whole) = (!target.name.is_empty(), target.subresource.is_empty());
        let reply = match info.verb {
            "get" => self.get(&route),
            "list" => self.list(&route),
            "watch" => self.watch(&route, &form),
            // For custom resources, a create may have a name in its path.
            "create" if is_whole && (is_custom || !is_named) => self.create(&route, &body.await?),
            "update" if is_named => self.update(&route, &body.await?),
            "patch" if is_named => self.patch(&route, &body.await?),
            "delete" if is_whole => self.delete(&route, &body.await?),
            "deletecollection" => self.delete_many(&route, &body.await?),
            _ if !is_custom => Err(StatusFailure::method_not_routed()),
            "update" | "patch" => Err(StatusFailure::bad_request("name must be provided")),
            verb => Err(StatusFailure::method_not_allowed(
                route.resource.qualified(),
                verb,
            )),
        };
        form.reply(reply?, &route, self.state.now())
    }

    /// Answers a request outside of the API.
    fn about_server(&self) -> HandlerResult<Reply> {
        let about = || self.state.about.lock();
        let path = self.info.path.trim_matches('/');
        let reads = matches!(self.info.verb, "get" | "head");
        match path.split_once('/').unwrap_or((path, "")) {
            (endpoint @ ("healthz" | "livez" | "readyz"), "") => {
                Ok(about().health(endpoint, &self.info.query))
            }
            (endpoint @ ("healthz" | "livez" | "readyz"), check) => about().one_check(endpoint, check),
            ("version", "") if !reads => Err(StatusFailure::method_not_routed()),
            _ if !reads => Err(StatusFailure::no_such_resource()),
            ("version", "") => Ok(Reply::value(200, &about().version())),
            // The core group answers with a Status, even for versions that do not exist.
            ("api", version) if !matches!(version, "" | "v1") => Err(StatusFailure::no_such_resource()),
            _ => self.discover(self.info.path.trim_end_matches('/')),
        }
    }
}
