//! Credentials that plugins have issued, as ways to members.

use std::sync::Arc;

use jiff::Timestamp;
use kube::Config;
use serde_json::json;

use super::{
    ask::Asker,
    clean::Clean,
    kubeconfig::{Hidden, config},
    plan::Dial,
};
use crate::{
    clock::Clock,
    collect::plugins::{Issued, Request, Yield},
    evidence::LoginOutcome,
};

/// What a credential opens.
pub(super) enum Opened {
    /// This way to its member, which is still to be tried.
    Way(Box<Asker>, Option<Renewal>),
    /// Nothing.
    Nothing(LoginOutcome),
    /// Nobody is to be called there.
    Nobody,
}

/// How a credential is renewed, and when.
pub(super) struct Renewal {
    pub request: Arc<Request>,
    expires: Option<Timestamp>,
}

impl Renewal {
    /// Whether the credential has expired.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }
}

/// Runs the plugin, and takes what it yields to where the profile says.
pub(super) async fn open(request: &Arc<Request>, dial: &dyn Dial, clock: Clock) -> Opened {
    // Where nothing could be sent, no credential is asked for.
    if let Err(reason) = trusted(request) {
        return Opened::Nothing(LoginOutcome::Unanswered { reason });
    }
    let issued = match request.run(clock).await {
        Yield::Credential(issued) => issued,
        Yield::None(reason) => return Opened::Nothing(LoginOutcome::NoCredential { reason }),
        Yield::NotRun(reason) => return Opened::Nothing(LoginOutcome::Unanswered { reason }),
        Yield::Nobody => return Opened::Nobody,
    };
    let no_credential = |reason| Opened::Nothing(LoginOutcome::NoCredential { reason });
    let config = match whole(request, &issued) {
        Ok(config) => config,
        Err(reason) => return no_credential(reason),
    };
    let clean = Clean::of(&config.auth_info);
    match dial.connect(config) {
        Ok(Some(client)) => Opened::Way(
            Box::new(Asker { client, clean }),
            Some(Renewal {
                request: Arc::clone(request),
                expires: issued.expires,
            }),
        ),
        Ok(None) => Opened::Nobody,
        Err(reason) => no_credential(format!(
            "the plugin's credential is of no use: {}",
            clean.words(&reason)
        )),
    }
}

/// Whether a credential may be sent to where the access provider leads: only to a server that shows who it is.
///
/// # Errors
/// Why not.
fn trusted(request: &Request) -> Result<(), String> {
    let entry = || format!("access provider {}", request.provider);
    let server = request.cluster["server"].as_str().unwrap_or_default();
    if !server.starts_with("https://") {
        return Err(format!(
            "the server of {} is not reached over TLS, and no credential is sent without",
            entry()
        ));
    }
    if server.contains('@') {
        return Err(format!("the server of {} holds a user's name", entry()));
    }
    if request.cluster["insecure-skip-tls-verify"] == true {
        return Err(format!(
            "{} leaves the server's certificate unchecked, and no credential is sent to who cannot show one",
            entry()
        ));
    }
    let alone = json!({"clusters": [{"name": "c", "cluster": request.cluster}]});
    config(Hidden(alone))
        .map(|_| ())
        .map_err(|_| format!("{} cannot be used: a field of its cluster is malformed", entry()))
}

/// The access provider's cluster with the credential.
fn whole(request: &Request, issued: &Issued) -> Result<Config, String> {
    config(Hidden(json!({
        "clusters": [{"name": "c", "cluster": request.cluster}],
        "users": [{"name": "u", "user": issued.user.0}],
    })))
    .map_err(|_| "the plugin's credential cannot be used".to_owned())
}
