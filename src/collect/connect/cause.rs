//! Describes in one line, without secrets, why a request failed.

use std::error::Error;

use kube::client::AuthError;

use super::error::ClientError;

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
        // Their message shows the URL, which may hold a password.
        kube::Error::ProxyProtocolUnsupported { .. } | kube::Error::ProxyProtocolDisabled { .. } => {
            "its proxy-url is neither http, https nor socks5".to_owned()
        }
        // Its message quotes what it could not read.
        kube::Error::SerdeError(_) => {
            "the hub answered with something that is no JSON of that kind".to_owned()
        }
        other => root(other),
    }
}

/// What the TLS library says of a connection that was cut off: its own words lead away from that.
const CUT_OFF: &str = "close_notify";

/// Whether the two sides could not agree on a secure connection. One that was cut off later had been secure.
pub(crate) fn is_tls(error: &kube::Error) -> bool {
    if text_of_root(error).contains(CUT_OFF) {
        return false;
    }
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        if [
            "certificate",
            "tls",
            "fatal alert",
            "InvalidContentType",
            "corrupt message",
        ]
        .iter()
        .any(|word| text.contains(word))
        {
            return true;
        }
        next = deeper(error);
    }
    false
}

/// Whether there was no connection, or it broke off. Missing credentials do not count.
pub(super) fn is_cut_off(error: &kube::Error) -> bool {
    match error {
        kube::Error::Service(error) => !error.is::<AuthError>() && !error.is::<ClientError>(),
        kube::Error::HyperError(_) => true,
        _ => false,
    }
}

/// Describes the last of what an error was caused by.
pub fn root(error: &(dyn Error + 'static)) -> String {
    let text = text_of_root(error);
    if text.contains(CUT_OFF) {
        "the connection was cut off".to_owned()
    } else {
        text
    }
}

fn text_of_root(error: &(dyn Error + 'static)) -> String {
    let mut last = error;
    while let Some(next) = deeper(last) {
        last = next;
    }
    last.to_string()
}

/// What an error was caused by. An `io::Error` shows what it wraps as itself, so that is looked into.
fn deeper<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    error
        .downcast_ref::<std::io::Error>()
        .and_then(|error| error.get_ref())
        .map(|error| error as &(dyn Error + 'static))
        .or_else(|| error.source())
}

fn credentials(error: &AuthError) -> String {
    match error {
        // The command comes with its environment before it, which may hold a password.
        AuthError::AuthExecRun { out, .. } => {
            format!("the kubeconfig's credential plugin failed ({})", out.status)
        }
        AuthError::AuthExecStart(source) => format!("the credential plugin could not be started: {source}"),
        // Without its path: who mixes up `token` and `tokenFile` has the token there.
        AuthError::ReadTokenFile(source, _) => {
            format!("the kubeconfig's token file could not be read: {source}")
        }
        AuthError::MissingCommand => "the credential plugin has no command in the kubeconfig".to_owned(),
        AuthError::AuthExecParse(_) | AuthError::ExecPluginFailed | AuthError::ParseTokenKey(_) => {
            "the credential plugin's answer could not be read".to_owned()
        }
        AuthError::InvalidBasicAuth(_) | AuthError::InvalidBearerToken(_) => {
            "the credential holds characters that no HTTP header may have".to_owned()
        }
        _ => "the credentials of the kubeconfig could not be used".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn a_connection_that_was_cut_off_is_told_as_such() {
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
