//! Why a connection or a request failed, in words without secrets.

use std::{error::Error, time::Duration};

use evidence::redact::without_credentials;
use kube::client::AuthError;

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
         somebody to log in",
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
            "its token holds characters that no HTTP header may have, such as a line break".to_owned(),
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

/// Cuts a text after `longest` characters.
pub(crate) fn cut(text: String, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

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
}
