//! Uses credentials that plugins issue to reach members.

use std::sync::Arc;

use evidence::{LoginOutcome, api::address::Address};
use jiff::Timestamp;
use kube::Config;
use serde_json::json;

use super::{
    ask::Asker,
    clean::Clean,
    error::NotTrusted,
    kubeconfig::{KubeconfigFlaw, config},
    plan::Dial,
};
use crate::{
    clock::Clock,
    connect::hidden::Hidden,
    plugins::{Issued, Request, Yield},
};

/// A way in, and how it is kept open where it does not last.
pub(super) type Way = (Asker, Option<Renewal>);

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

/// Runs the plugin, and takes what it yields to where the profile says. Whether that lets anybody in is still to be tried.
///
/// # Errors
/// Why there is nothing to try.
pub(super) async fn open(request: &Arc<Request>, dial: &dyn Dial, clock: Clock) -> Result<Way, LoginOutcome> {
    // Where nothing could be sent, no credential is asked for.
    trusted(request).map_err(|error| LoginOutcome::Unanswered {
        reason: error.to_string().into(),
    })?;
    let no_credential = |reason| LoginOutcome::NoCredential { reason };
    let issued = match request.run(clock).await {
        Yield::Credential(issued) => issued,
        Yield::None(reason) => return Err(no_credential(reason)),
        Yield::NotRun(reason) => {
            return Err(LoginOutcome::Unanswered {
                reason: reason.into(),
            });
        }
    };
    let config = whole(request, &issued)
        .map_err(|_| no_credential("the plugin's credential cannot be used".to_owned()))?;
    let clean = Clean::of(&config.auth_info);
    let client = dial.connect(config).map_err(|reason| {
        let reason = clean.words(&reason.to_string());
        no_credential(format!("the plugin's credential is of no use: {reason}"))
    })?;
    let renewal = Renewal {
        request: Arc::clone(request),
        expires: issued.expires,
    };
    Ok((Asker { client, clean }, Some(renewal)))
}

/// Whether a credential may be sent to where the access provider leads: only to a server that shows who it is.
///
/// # Errors
/// Why not.
fn trusted(request: &Request) -> Result<(), NotTrusted> {
    let provider = || request.provider.clone();
    let server = request.cluster["server"].as_str().unwrap_or_default();
    if !Address::split(server).has_scheme("https") {
        return Err(NotTrusted::NoTls(provider()));
    }
    if server.contains('@') {
        return Err(NotTrusted::UserName(provider()));
    }
    if request.cluster["insecure-skip-tls-verify"] == true {
        return Err(NotTrusted::Unchecked(provider()));
    }
    let alone = json!({"clusters": [{"name": "c", "cluster": request.cluster}]});
    config(Hidden(alone))
        .map(|_| ())
        .map_err(|_| NotTrusted::Malformed(provider()))
}

/// The access provider's cluster with the credential.
fn whole(request: &Request, issued: &Issued) -> Result<Config, KubeconfigFlaw> {
    config(Hidden(json!({
        "clusters": [{"name": "c", "cluster": request.cluster}],
        "users": [{"name": "u", "user": issued.user.0}],
    })))
}
