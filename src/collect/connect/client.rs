//! Makes clients that name themselves.

use std::{
    cell::Cell,
    panic::{self, AssertUnwindSafe},
    sync::Once,
    thread,
};

use http::{HeaderValue, header};
use kube::{Client, Config};

use super::{cause::cause, error::ClientError};

/// How the suite names itself to a hub. A name that looks like curl or a browser would be answered with indented
/// JSON, nearly twice as long.
pub const USER_AGENT: &str = concat!("clusterprofile-conformance/", env!("CARGO_PKG_VERSION"));

/// A client that names itself, and that shows the server's faults rather than to retry by itself.
///
/// # Errors
/// When the configuration leads to no client.
pub fn client(mut config: Config) -> Result<Client, ClientError> {
    config.default_retry = false;
    let agent = HeaderValue::from_static(USER_AGENT);
    config.headers.push((header::USER_AGENT, agent));
    // It panics at a token that makes no header, be it the kubeconfig's or a plugin's.
    match silently(|| Client::try_from(config)) {
        Ok(client) => client.map_err(|error| ClientError::Refused(cause(&error))),
        Err(_) => Err(ClientError::Token),
    }
}

thread_local! {
    /// Whether this thread may panic without a word.
    static SILENT: Cell<bool> = const { Cell::new(false) };
}

/// Catches a panic whose message might quote a secret. Panics of other threads are printed as ever.
fn silently<T>(work: impl FnOnce() -> T) -> thread::Result<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !SILENT.get() {
                before(info);
            }
        }));
    });
    SILENT.set(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(work));
    SILENT.set(false);
    outcome
}
