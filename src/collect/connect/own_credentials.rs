//! Takes the runner's own credentials out of what a hub says of a failure: some hubs repeat what they do not accept.

use std::sync::Arc;

use http::Request;
use kube::{Client, client::Body};

use super::{HubAccess, credentials_in};

/// Replaces a credential.
const TAKEN: &str = "…";

/// The credentials that the runner shows a hub. Goes with each answer, to whoever reads it.
#[derive(Clone)]
pub(crate) struct OwnCredentials {
    kubeconfig: Arc<str>,
}

impl OwnCredentials {
    /// Redacts them, verbatim and as JSON writes them. A token in a file may be renewed at any time, so they are read now.
    pub fn redact(&self, text: &str) -> String {
        credentials_in(&self.kubeconfig)
            .iter()
            .fold(text.to_owned(), |text, secret| {
                let quoted = serde_json::Value::from(secret.as_str()).to_string();
                text.replace(secret.as_str(), TAKEN)
                    .replace(&quoted[1..quoted.len() - 1], TAKEN)
            })
    }
}

/// A client whose answers carry the credentials of that access.
pub(super) fn with_credentials(client: Client, access: &HubAccess) -> Client {
    let own = OwnCredentials {
        kubeconfig: access.kubeconfig.as_str().into(),
    };
    let namespace = client.default_namespace().to_owned();
    let service = tower::service_fn(move |request: Request<Body>| {
        let (client, own) = (client.clone(), own.clone());
        async move {
            let mut response = client.send(request).await?;
            response.extensions_mut().insert(own);
            Ok::<_, kube::Error>(response)
        }
    });
    Client::new(service, namespace)
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, time::Duration};

    use http::{Method, Response};
    use serde_json::json;

    use super::*;
    use crate::{
        call::{Failure, REQUEST_TIMEOUT, TimedClient, request, send},
        lines::{Event, Lines},
    };

    /// Nothing that a scanner would recognize.
    const TOKEN: &str = "plainword-x";
    const PASSWORD: &str = "two \"words\"";

    /// A hub that answers so, asked with these credentials.
    fn hub(code: u16, body: String) -> TimedClient {
        let service = tower::service_fn(move |_: Request<Body>| {
            let response = Response::builder().status(code);
            let response = response.body(Body::from(body.clone().into_bytes()));
            async move { Ok::<_, Infallible>(response.expect("a response")) }
        });
        let user = json!({"token": TOKEN, "password": PASSWORD});
        let access = HubAccess {
            server: "https://hub.example".to_owned(),
            kubeconfig: json!({"users": [{"name": "u", "user": user}]}).to_string(),
        };
        let client = with_credentials(Client::new(service, "default"), &access);
        TimedClient::new(client, REQUEST_TIMEOUT, Arc::default(), 0)
    }

    fn status() -> serde_json::Value {
        let said = format!("user {TOKEN} is not known, nor {PASSWORD}");
        json!({"kind": "Status", "code": 403, "reason": TOKEN, "message": said,
            "details": {"causes": [{"field": TOKEN, "message": said}]}})
    }

    #[track_caller]
    fn assert_redacted(failure: &Failure) {
        let told = format!("{failure} {failure:?}");
        assert!(!told.contains(TOKEN) && !told.contains("words"), "{told}");
        assert!(told.contains("user … is not known, nor …"), "{told}");
    }

    #[tokio::test]
    async fn a_hub_that_repeats_a_credential_tells_nothing() {
        let request = || request(Method::GET, "/apis").expect("a request");
        let refused = send(&hub(403, status().to_string()), request()).await;
        assert_redacted(&refused.expect_err("it is refused"));

        // In the events of a watch, only failures are the hub's own words.
        let profile = json!({"type": "ADDED", "object": {"metadata": {"name": TOKEN}}});
        let failure = json!({"type": "ERROR", "object": status()});
        let watch = hub(200, format!("{profile}\n{failure}\n"));
        let mut lines = Lines::new(send(&watch, request()).await.expect("a watch"));
        let patience = Duration::from_secs(1);
        let line = lines.next(patience).await.expect("a line").expect("a line");
        let Ok(Event::Added(object)) = Event::read(&line) else {
            panic!("{line:?}")
        };
        assert!(String::from_utf8_lossy(object).contains(TOKEN));
        let line = lines.next(patience).await.expect("a line").expect("a line");
        assert_redacted(&Event::read(&line).expect_err("a failure"));
    }
}
