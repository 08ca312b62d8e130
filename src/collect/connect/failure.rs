//! Why a connection or a request failed, in words without secrets, and whether to send a request again.

use std::{error::Error, fmt, time::Duration};

use evidence::redact::without_credentials;
use http::StatusCode;
use kube::{client::AuthError, core::Status};
use serde_json::{Map, Value};

/// The longest wait before a request is sent again.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(15);

#[derive(Clone, Debug)]
pub(crate) enum RequestFailure {
    Status {
        status: Box<Status>,
        /// How long the hub wants to be left alone.
        retry_after: Option<Duration>,
    },
    NoAnswer {
        /// What happened, in words that hold no secret.
        cause: String,
        how: How,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// The answer makes no sense, or the request could not be sent.
    Broken,
    /// There is no connection, or it broke off.
    CutOff,
    Insecure,
    /// Nothing came for too long.
    Silent,
    /// The hub no longer has the history in which it was asked.
    Restored,
}

const LONGEST_TEXT: usize = 2000;

/// Reads a `metav1.Status`, each of its texts as one redacted line; the default if it is not one. Admission webhooks may
/// set `status` to any text, and leave fields null.
pub(crate) fn read_status(body: &str) -> Status {
    let mut object: Map<String, Value> = serde_json::from_str(body).unwrap_or_default();
    object.retain(|name, value| name != "status" && name != "metadata" && !value.is_null());
    let mut status: Status = serde_json::from_value(object.into()).unwrap_or_default();
    let causes = status.details.iter_mut().flat_map(|details| &mut details.causes);
    let causes = causes.flat_map(|cause| [&mut cause.reason, &mut cause.message, &mut cause.field]);
    for text in causes.chain([&mut status.reason, &mut status.message]) {
        *text = one_line(text, LONGEST_TEXT);
    }
    status
}

impl RequestFailure {
    /// There was no answer that makes sense.
    pub fn broken(cause: impl Into<String>) -> Self {
        RequestFailure::NoAnswer {
            cause: cause.into(),
            how: How::Broken,
        }
    }

    /// Nothing came for that long; `what` begins the sentence.
    pub fn silent(what: &str, patience: Duration) -> Self {
        RequestFailure::NoAnswer {
            cause: format!("{what} for {} s", patience.as_secs()),
            how: How::Silent,
        }
    }

    /// The hub's newest resourceVersion is older than one that it has given out.
    pub fn restored(earlier: u64, newest: u64) -> Self {
        RequestFailure::NoAnswer {
            cause: format!(
                "the hub's resourceVersion went back from {earlier} to {newest}, as after a restored backup"
            ),
            how: How::Restored,
        }
    }

    /// Whether the hub has a new history.
    pub fn is_restored(&self) -> bool {
        self.how() == Some(How::Restored)
    }

    /// Whether nothing came for too long.
    pub fn is_silence(&self) -> bool {
        self.how() == Some(How::Silent)
    }

    fn how(&self) -> Option<How> {
        match self {
            RequestFailure::Status { .. } => None,
            RequestFailure::NoAnswer { how, .. } => Some(*how),
        }
    }

    /// HTTP status code; 0 where there was no answer.
    pub fn code(&self) -> u16 {
        match self {
            RequestFailure::Status { status, .. } => status.code,
            RequestFailure::NoAnswer { .. } => 0,
        }
    }

    /// Whether there is no connection, or it broke off.
    pub fn is_cut_off(&self) -> bool {
        self.how() == Some(How::CutOff)
    }

    /// Whether the same request may succeed a moment later. One that has used all its time is not sent again.
    pub fn may_pass(&self) -> bool {
        matches!(self.code(), 0 | 429 | 500..) && !self.is_silence() && !self.is_restored()
    }

    /// Whether the hub is there, but busy or unhealthy.
    pub fn is_unhealthy(&self) -> bool {
        self.code() != 0 && self.may_pass()
    }

    /// How long to wait before the next attempt, after `failures` of them in a row.
    pub fn wait(&self, failures: u32) -> Duration {
        let growing = Duration::from_millis(500) * 2_u32.saturating_pow(failures.saturating_sub(1).min(8));
        growing.max(self.asked_wait()).min(LONGEST_WAIT)
    }

    /// How long the hub asks to be left alone.
    pub fn asked_wait(&self) -> Duration {
        match self {
            RequestFailure::Status { retry_after, .. } => retry_after.unwrap_or_default(),
            RequestFailure::NoAnswer { .. } => Duration::ZERO,
        }
    }
}

impl fmt::Display for RequestFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RequestFailure::NoAnswer { cause, .. } => f.write_str(cause),
            RequestFailure::Status { status, .. } => {
                write!(f, "the hub answered {}", code_name(status.code))?;
                match status.message.as_str() {
                    "" => Ok(()),
                    message => write!(f, ": {message}"),
                }
            }
        }
    }
}

impl std::error::Error for RequestFailure {}

impl From<kube::Error> for RequestFailure {
    fn from(error: kube::Error) -> Self {
        let how = if is_tls(&error) {
            How::Insecure
        } else if is_cut_off(&error) {
            How::CutOff
        } else {
            How::Broken
        };
        RequestFailure::NoAnswer {
            cause: cause(&error),
            how,
        }
    }
}

/// A status code with its name, for example `404 Not Found`.
pub(crate) fn code_name(code: u16) -> String {
    match StatusCode::from_u16(code) {
        Ok(status) => status.to_string(),
        Err(_) => code.to_string(),
    }
}

/// Why there is no connection to a hub. The message holds no secret of a kubeconfig.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct ConnectError {
    /// What is at fault.
    pub fault: ConnectFault,
    message: String,
}

/// What is at fault if there is no connection to a hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectFault {
    /// The kubeconfig file cannot be used.
    File,
    /// The kubeconfig has no context of that name.
    UnknownContext,
    /// Neither the caller nor the kubeconfig names a context.
    NoContext,
    /// The kubeconfig has no contexts at all.
    Empty,
    /// The context does not lead to a hub.
    Context,
    /// The credential plugin of the context took too long.
    SlowPlugin,
    /// There is neither a kubeconfig nor a service account.
    NoHub,
    /// The service account of this pod cannot be used.
    ServiceAccount,
}

impl ConnectError {
    /// An error with that message.
    pub fn new(fault: ConnectFault, message: impl Into<String>) -> Self {
        Self {
            fault,
            message: message.into(),
        }
    }
}

/// Why a configuration leads to no client. Keeps no source: the client library's own errors may quote a credential.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// The kubeconfig's credential plugin did not end in time.
    #[error(
        "the kubeconfig's credential plugin `{command}` gave no credential within {} s and was ended; it may wait for \
         the user to log in",
        limit.as_secs()
    )]
    SlowPlugin {
        /// The program.
        command: String,
        /// The time that it had.
        limit: Duration,
    },
    /// Another reason, in words.
    #[error("{0}")]
    Refused(String),
}

impl ClientError {
    /// The client can have no such token.
    pub(super) fn token() -> Self {
        Self::Refused(
            "its token holds characters that no HTTP header may have, for example a line break".to_owned(),
        )
    }
}

/// Describes the root of an error in one line. Errors of credential plugins come without the plugin's output and
/// arguments, which may hold a token.
pub fn cause(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        kube::Error::Auth(error) => credentials(error),
        kube::Error::Service(error) => match error.downcast_ref::<AuthError>() {
            Some(error) => credentials(error),
            None => root(&**error),
        },
        // The message shows the URL, which may hold a password.
        kube::Error::ProxyProtocolUnsupported { .. } | kube::Error::ProxyProtocolDisabled { .. } => {
            "its proxy-url is not http, https or socks5".to_owned()
        }
        // The message quotes what it could not read.
        kube::Error::SerdeError(_) => "the hub's answer is not JSON of the expected kind".to_owned(),
        other => root(other),
    }
}

/// What the TLS library says of a connection that was cut off: its own words lead away from that.
const CUT_OFF: &str = "close_notify";

/// Whether the two sides could not agree on a secure connection. One that was cut off later had been secure.
pub(crate) fn is_tls(error: &kube::Error) -> bool {
    const WORDS: [&str; 5] = [
        "certificate",
        "tls",
        "fatal alert",
        "InvalidContentType",
        "corrupt message",
    ];
    let texts = || chain(error).map(ToString::to_string);
    let is_about_tls = |text: String| WORDS.iter().any(|word| text.contains(word));
    texts().last().is_none_or(|root| !root.contains(CUT_OFF)) && texts().any(is_about_tls)
}

/// Whether there was no connection, or it broke off. Missing credentials do not count.
pub(super) fn is_cut_off(error: &kube::Error) -> bool {
    match error {
        kube::Error::Service(error) => !error.is::<AuthError>() && !error.is::<ClientError>(),
        kube::Error::HyperError(_) => true,
        _ => false,
    }
}

/// Describes the root cause of an error.
pub fn root(error: &(dyn Error + 'static)) -> String {
    let text = chain(error).last().map(ToString::to_string).unwrap_or_default();
    if text.contains(CUT_OFF) {
        "the connection was cut off".to_owned()
    } else {
        text
    }
}

/// An error and its causes. An `io::Error` shows what it wraps as itself, so its content counts as its cause.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error: &&'a (dyn Error + 'static)| {
        let error = *error;
        match error
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::get_ref)
        {
            Some(wrapped) => Some(wrapped as &(dyn Error + 'static)),
            None => error.source(),
        }
    })
}

fn credentials(error: &AuthError) -> String {
    match error {
        // Without the path: a user who mixes up `token` and `tokenFile` has the token there.
        AuthError::ReadTokenFile(source, _) => {
            format!("the kubeconfig's token file could not be read: {source}")
        }
        AuthError::InvalidBasicAuth(_) | AuthError::InvalidBearerToken(_) => {
            "the credential holds characters that no HTTP header may have".to_owned()
        }
        _ => "the credentials of the kubeconfig could not be used".to_owned(),
    }
}

/// Makes one redacted line of a text, of at most `longest` characters.
pub(crate) fn one_line(text: &str, longest: usize) -> String {
    cut(without_credentials(text).replace(['\n', '\r'], " "), longest)
}

pub(crate) fn cut(text: String, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_broken_connection_is_not_a_tls_error() {
        // As rustls words it.
        let text =
            "peer closed connection without sending TLS close_notify: https://docs.rs/rustls/latest/rustls/";
        let cut = kube::Error::Service(Box::new(io::Error::new(io::ErrorKind::UnexpectedEof, text)));
        assert_eq!(cause(&cut), "the connection was cut off");
        assert!(!is_tls(&cut));
        let wrong = io::Error::other("invalid peer certificate: UnknownIssuer");
        assert!(is_tls(&kube::Error::Service(Box::new(wrong))));
    }

    #[test]
    fn the_hubs_words_are_one_line_without_credentials() {
        let token = "eyJhbGciOi.CANARY-CANARY.x";
        let status = json!({
            "reason": token, "message": format!("no\ntest result: ok {token} {}", "x".repeat(5000)),
            "details": {"causes": [{"field": token, "message": format!("Bearer {}", "CANARY".repeat(5))}]},
        });
        let status = read_status(&status.to_string());
        let shown = format!("{status:?}");
        assert!(!shown.contains("CANARY"), "{shown}");
        assert!(status.message.starts_with("no test result: ok … x"), "{shown}");
        assert_eq!(status.message.chars().count(), LONGEST_TEXT + 1);
    }

    #[test]
    fn the_status_of_a_webhook_is_read() {
        let status = json!({"status": "Denied", "code": 403, "message": "no", "reason": null});
        let status = read_status(&status.to_string());
        assert_eq!((status.code, &*status.message), (403, "no"));
    }
}
