//! What handlers get: the server's state, the user, the audit event.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use http::HeaderMap;
use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::{
    about::{ActiveFaults, AuditBackend, AuditLevel, VersionAndHealth},
    access::{
        rbac,
        rbac::{AccessDecision, RbacAction},
        user::{ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, User, UsersByToken, account_of},
    },
    clock::ServerClock,
    object::{
        meta,
        status::{HandlerResult, StatusFailure, unless_empty},
    },
    request::{RequestInfo, decoded},
    store::{
        builtin,
        resource::id,
        storage::{Storage, Stored, key},
    },
};

/// The server's state.
pub(crate) struct ServerState {
    clock: ServerClock,
    storage: Mutex<Storage>,
    pub(crate) users: UsersByToken,
    pub(crate) audit: Mutex<AuditBackend>,
    pub(crate) faults: ActiveFaults,
    pub(crate) about: Mutex<VersionAndHealth>,
    /// Incremented to end all open watches.
    pub(crate) drops: watch::Sender<u64>,
    serial: AtomicU64,
}

impl ServerState {
    /// The state of a server with the built-in resources and no objects.
    pub(crate) fn new(clock: ServerClock) -> Self {
        let mut storage = Storage::default();
        for resource in builtin::resources() {
            storage.serve(resource);
        }
        Self {
            clock,
            storage: Mutex::new(storage),
            users: UsersByToken::default(),
            audit: Mutex::default(),
            faults: ActiveFaults::default(),
            about: Mutex::default(),
            drops: watch::Sender::new(0),
            serial: AtomicU64::new(0),
        }
    }

    pub(crate) fn storage(&self) -> MutexGuard<'_, Storage> {
        self.storage.lock()
    }

    /// The current time by the server's clock, which may be skewed.
    pub(crate) fn now(&self) -> Timestamp {
        let now = self.clock.now();
        now.saturating_add(self.faults.skew()).unwrap_or(now)
    }

    /// The current time in objects: with seconds.
    pub(crate) fn time(&self) -> String {
        self.time_in(0)
    }

    /// The time in so many seconds, as objects show it.
    pub(crate) fn time_in(&self, seconds: i64) -> String {
        let seconds = self.now().as_second().saturating_add(seconds);
        let moment = Timestamp::from_second(seconds).unwrap_or_default();
        moment.to_string()
    }

    /// A new UID. Every server makes the same sequence, so that runs can be compared.
    pub(crate) fn new_uid(&self) -> String {
        let mut bytes = self.random();
        // Version 4, RFC 4122.
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        let hex = format!("{:032x}", u128::from_be_bytes(bytes));
        [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
    }

    /// A random suffix for generated names.
    pub(crate) fn name_suffix(&self) -> String {
        const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        let letter = |byte: &u8| char::from(ALPHABET[usize::from(*byte) % ALPHABET.len()]);
        self.random()[..5].iter().map(letter).collect()
    }

    fn random(&self) -> [u8; 16] {
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        let digest = digest(&SHA256, &serial.to_be_bytes());
        std::array::from_fn(|i| digest.as_ref()[i])
    }
}

/// Omits objects and tokens.
impl fmt::Debug for ServerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerState")
            .field("clock", &self.clock)
            .finish_non_exhaustive()
    }
}

pub(crate) struct Context<'a> {
    pub(crate) state: &'a Arc<ServerState>,
    pub(crate) info: &'a RequestInfo,
    pub(crate) user: &'a User,
    /// The User-Agent.
    pub(crate) agent: &'a str,
    /// The body's media type.
    pub(crate) content_type: &'a str,
    pub(crate) accept: &'a str,
    pub(crate) entry: &'a mut AuditEntry,
    /// `Warning` headers, sent even if the request fails.
    pub(crate) warnings: &'a mut Vec<String>,
}

impl ServerState {
    /// Lets `token` authenticate `user`.
    pub(crate) fn add_token(&self, token: &str, user: User) {
        self.users.lock().insert(token.to_owned(), user.into());
    }

    /// The user of a token. A service account's token is valid while the account exists.
    fn user_of(&self, token: &str) -> Option<Arc<User>> {
        let user = self.users.lock().get(token).cloned()?;
        let is_there = account_of(&user.name).is_none_or(|(namespace, name)| {
            let account = self.service_account(namespace, name);
            account.is_some_and(|account| meta::text(account.object(), "uid") == user.uid)
        });
        is_there.then_some(user)
    }

    pub(crate) fn service_account(&self, namespace: &str, name: &str) -> Option<Arc<Stored>> {
        self.storage()
            .get(&id("", "serviceaccounts"), &key(namespace, name))
    }

    /// Authorizes an action. Masters may do everything.
    pub(crate) fn authorize(&self, user: &User, action: &RbacAction<'_>) -> AccessDecision {
        if user.is_master() {
            // Does not wait for the storage.
            AccessDecision::WITHOUT_REASON
        } else {
            rbac::authorize(&self.storage(), user, action)
        }
    }

    /// Returns the user who sent a request.
    pub(crate) fn authenticate(&self, headers: &HeaderMap) -> HandlerResult<Arc<User>> {
        let header = headers.get(http::header::AUTHORIZATION);
        let token = header
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.strip_prefix("Bearer "));
        let user = token.and_then(|token| self.user_of(token.trim()));
        user.ok_or_else(|| StatusFailure::new(401, "Unauthorized", "Unauthorized"))
    }
}

/// The user whom the headers ask to impersonate, with the requested groups.
fn requested_user(headers: &HeaderMap) -> HandlerResult<Option<User>> {
    let texts = |name: &str| -> Vec<String> {
        let values = headers.get_all(name).iter();
        values
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
            .collect()
    };
    let first = |name: &str| texts(name).into_iter().next().unwrap_or_default();
    let extra = headers.keys().filter_map(|name| {
        let key = name.as_str().strip_prefix("impersonate-extra-")?;
        Some((decoded(key), texts(name.as_str())))
    });
    let impersonated = User {
        name: first("impersonate-user"),
        uid: first("impersonate-uid"),
        groups: texts("impersonate-group"),
        extra: extra.collect(),
        rules: Vec::new(),
    };
    if impersonated.name.is_empty() && impersonated != User::default() {
        return Err(StatusFailure::bad_request(
            "requested impersonation without impersonating a user name",
        ));
    }
    Ok(Some(impersonated).filter(|user| !user.name.is_empty()))
}

/// Returns the impersonated user, if `asker` may impersonate it.
pub(crate) fn impersonated(
    state: &ServerState,
    asker: &User,
    headers: &HeaderMap,
) -> HandlerResult<Option<User>> {
    let Some(user) = requested_user(headers)? else {
        return Ok(None);
    };
    for action in actions(&user) {
        let decision = state.authorize(asker, &action);
        if !decision.allowed {
            return Err(rbac::forbidden(asker, &action, &decision.reason));
        }
    }
    Ok(Some(complete(user)))
}

/// The permissions that impersonation needs.
fn actions(user: &User) -> Vec<RbacAction<'_>> {
    const GROUP: &str = "authentication.k8s.io";
    let action = |group, resource, name| RbacAction {
        verb: "impersonate",
        group,
        resource,
        name,
        ..RbacAction::default()
    };
    let mut actions = vec![match account_of(&user.name) {
        Some((namespace, name)) => RbacAction {
            namespace,
            ..action("", "serviceaccounts", name)
        },
        None => action("", "users", &user.name),
    }];
    if !user.uid.is_empty() {
        actions.push(action(GROUP, "uids", &user.uid));
    }
    actions.extend(user.groups.iter().map(|name| action("", "groups", name)));
    for (subresource, values) in &user.extra {
        actions.extend(values.iter().map(|value| RbacAction {
            subresource,
            ..action(GROUP, "userextras", value)
        }));
    }
    actions
}

/// Adds the implied groups.
fn complete(mut user: User) -> User {
    if let (Some((namespace, name)), true) = (account_of(&user.name), user.groups.is_empty()) {
        user.groups = User::account(namespace, name, "").groups;
    }
    let group = match user.name.as_str() {
        ANONYMOUS => UNAUTHENTICATED,
        _ if user.is_in(UNAUTHENTICATED) => return user,
        _ => AUTHENTICATED,
    };
    if !user.is_in(group) {
        user.groups.push(group.to_owned());
    }
    user
}

/// The audit event of one request, filled in on the way.
#[derive(Clone, Debug)]
pub(crate) struct AuditEntry {
    state: Arc<ServerState>,
    event: Value,
    /// The answered Status, if the answer is one.
    pub(crate) status: Value,
}

impl AuditEntry {
    /// Starts the event of a request.
    pub(crate) fn begin(state: &Arc<ServerState>, info: &RequestInfo, uri: &http::Uri, agent: &str) -> Self {
        let mut event = json!({
            "kind": "Event", "apiVersion": "audit.k8s.io/v1", "auditID": state.new_uid(), "verb": info.verb,
            "requestURI": uri.path_and_query().map_or("/", |uri| uri.as_str()), "user": {},
            "sourceIPs": ["127.0.0.1"], "requestReceivedTimestamp": time(state),
        });
        if !agent.is_empty() {
            event["userAgent"] = agent.into();
        }
        if let Some(target) = &info.target {
            event["objectRef"] = unless_empty([
                ("resource", target.resource.as_str()),
                ("namespace", &target.namespace),
                ("name", &target.name),
                ("apiGroup", &target.group),
                ("apiVersion", &target.version),
                ("subresource", &target.subresource),
            ]);
        }
        Self {
            state: state.clone(),
            event,
            status: Value::Null,
        }
    }

    /// Records the `user`, or the `impersonatedUser`.
    pub(crate) fn user(&mut self, field: &str, user: &User) {
        self.event[field] = json!(user);
    }

    pub(crate) fn decision(&mut self, AccessDecision { allowed, reason }: &AccessDecision) {
        let decision = if *allowed { "allow" } else { "forbid" };
        self.event["annotations"] =
            json!({"authorization.k8s.io/decision": decision, "authorization.k8s.io/reason": reason});
    }

    /// Records the object that was sent, and the name and identity in it.
    pub(crate) fn object(&mut self, object: &Value) {
        let reference = &mut self.event["objectRef"];
        for key in ["name", "namespace", "uid", "resourceVersion"] {
            let value = meta::text(object, key);
            if !value.is_empty() && reference.get(key).is_none() {
                reference[key] = value.into();
            }
        }
        self.request(object);
    }

    /// Records what was sent: an object, a patch, the options of a deletion.
    pub(crate) fn request(&mut self, body: &Value) {
        if self.level() >= AuditLevel::Request {
            self.event["requestObject"] = body.clone();
        }
    }

    /// Records the answer's JSON.
    pub(crate) fn answer(&mut self, body: &[u8]) {
        if self.level() == AuditLevel::RequestResponse
            && let Ok(answer) = serde_json::from_slice(body)
        {
            self.event["responseObject"] = answer;
        }
    }

    /// The level of this request. Reads stay at Metadata: their answers would make the log as long as all lists
    /// together.
    fn level(&self) -> AuditLevel {
        let (verb, object) = (self.event["verb"].as_str(), &self.event["objectRef"]);
        let is_read = matches!(verb, Some("get" | "list" | "watch"));
        let is_secret = matches!(
            object["resource"].as_str(),
            None | Some("secrets" | "tokenreviews")
        );
        if is_read || is_secret || object["subresource"] == "token" {
            AuditLevel::Metadata
        } else {
            self.state.audit.lock().level
        }
    }

    /// Writes the event of an answer that begins: a watch, or a refusal of an unknown user.
    pub(crate) fn started(&mut self, code: u16) {
        self.write("ResponseStarted", code);
    }

    /// Writes the event of a finished request.
    pub(crate) fn complete(&mut self, code: u16) {
        self.write("ResponseComplete", code);
    }

    fn write(&mut self, stage: &str, code: u16) {
        let mut status = json!({"metadata": {}, "code": code});
        for key in ["status", "message", "reason", "details"] {
            if let Some(value) = self.status.get(key) {
                status[key] = value.clone();
            }
        }
        self.event["level"] = json!(self.level());
        self.event["stage"] = stage.into();
        self.event["responseStatus"] = status;
        self.event["stageTimestamp"] = time(&self.state).into();
        self.state.audit.lock().push(&self.event);
    }
}

/// The current time in events: with microseconds.
fn time(state: &ServerState) -> String {
    format!("{:.6}", state.now())
}
