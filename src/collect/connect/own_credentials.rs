//! Takes the runner's own credentials out of all that a hub says: some hubs repeat what they do not accept, and a hostile one may
//! name objects after them. What is not there is in no evidence, and so in no report.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Poll, ready},
};

use bytes::{Buf as _, Bytes, BytesMut};
use evidence::leak::OWN_CREDENTIAL;
use futures::stream;
use http::Request;
use http_body::{Body as _, Frame};
use http_body_util::{BodyExt as _, StreamBody, combinators::UnsyncBoxBody};
use kube::{Client, client::Body};
use memchr::memmem::Finder;

use super::hub_access::{HubAccess, credentials_in, secrets_in};

/// Replaces a credential.
const TAKEN: &str = "…";

/// The body of the hub's answer, which counts what is read of it.
pub(crate) type AnswerBody = UnsyncBoxBody<Bytes, kube::Error>;

/// The credentials that the runner shows a hub. Goes with each answer, to whoever reads it.
#[derive(Clone)]
pub(crate) struct OwnCredentials {
    kubeconfig: Arc<str>,
}

impl OwnCredentials {
    /// Takes them out of an answer while it arrives. What stands in their place is found like any credential: a profile that
    /// holds one breaks a rule still.
    pub fn veil(&self, mut body: AnswerBody) -> AnswerBody {
        let mut veil = Veil::over(&secrets_in(&self.kubeconfig));
        if veil.forms.is_empty() {
            return body;
        }
        let pieces = stream::poll_fn(move |context| {
            let frame = match ready!(Pin::new(&mut body).poll_frame(context)) {
                Some(Ok(frame)) => frame,
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => {
                    let rest = veil.rest();
                    return Poll::Ready((!rest.is_empty()).then(|| Ok(Frame::data(rest))));
                }
            };
            let veiled = frame.map_data(|piece| veil.take(piece));
            Poll::Ready(Some(Ok(veiled)))
        });
        StreamBody::new(pieces).boxed_unsync()
    }

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

/// Replaces credentials in pieces of a text.
struct Veil {
    forms: Vec<Finder<'static>>,
    /// What may be the beginning of one.
    held: BytesMut,
}

impl Veil {
    fn over(secrets: &[String]) -> Self {
        let telling = secrets.iter().filter(|secret| is_telling(secret));
        let mut forms: Vec<String> = telling
            .flat_map(|secret| {
                let quoted = serde_json::Value::from(secret.as_str()).to_string();
                [secret.clone(), quoted[1..quoted.len() - 1].to_owned()]
            })
            .collect();
        // Of two, one may be a part of the other.
        forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
        forms.dedup();
        let finder = |form: String| Finder::new(form.as_bytes()).into_owned();
        Self {
            forms: forms.into_iter().map(finder).collect(),
            held: BytesMut::new(),
        }
    }

    /// Returns what is whole of the pieces so far.
    fn take(&mut self, piece: Bytes) -> Bytes {
        if self.held.is_empty() && self.first(&piece).is_none() && self.open_end(&piece) == 0 {
            return piece;
        }
        self.held.extend_from_slice(&piece);
        let veiled = self.veiled();
        let open = self.open_end(&self.held);
        let whole = self.held.split_to(self.held.len() - open);
        [veiled, whole].concat().into()
    }

    /// Returns what is left when no piece follows.
    fn rest(&mut self) -> Bytes {
        self.held.split().freeze()
    }

    /// Takes all until the end of the last credential.
    fn veiled(&mut self) -> BytesMut {
        let mut veiled = BytesMut::new();
        while let Some((start, length)) = self.first(&self.held) {
            veiled.extend_from_slice(&self.held[..start]);
            veiled.extend_from_slice(OWN_CREDENTIAL.as_bytes());
            self.held.advance(start + length);
        }
        veiled
    }

    /// Where the first credential is, and its length.
    fn first(&self, text: &[u8]) -> Option<(usize, usize)> {
        let found = self
            .forms
            .iter()
            .filter_map(|form| Some((form.find(text)?, form.needle().len())));
        found.min_by_key(|(start, _)| *start)
    }

    /// How much at the end of a text may be the beginning of a credential.
    fn open_end(&self, text: &[u8]) -> usize {
        let of_form = |form: &Finder<'_>| {
            let most = (form.needle().len() - 1).min(text.len());
            (1..=most)
                .rev()
                .find(|length| text.ends_with(&form.needle()[..*length]))
        };
        self.forms.iter().filter_map(of_form).max().unwrap_or_default()
    }
}

/// True for a credential that is surely no word or name: those are in every answer, and mean something else there.
fn is_telling(secret: &str) -> bool {
    let has = |is_one: fn(&u8) -> bool| secret.as_bytes().iter().any(is_one);
    secret.len() >= 16 || (secret.len() >= 10 && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic))
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
        connect::{
            call::{REQUEST_TIMEOUT, TimedClient, request, send},
            failure::Failure,
        },
        watch::lines::{Event, Lines},
    };

    /// Nothing that a scanner would recognize.
    const TOKEN: &str = "plainword-x7";
    const PASSWORD: &str = "two \"words\"";
    /// What a credential plugin is given, and is no secret.
    const REGION: &str = "ap-southeast-2";

    /// A hub that answers so, asked with these credentials.
    fn hub(code: u16, body: String) -> TimedClient {
        let service = tower::service_fn(move |_: Request<Body>| {
            let response = Response::builder().status(code);
            let response = response.body(Body::from(body.clone().into_bytes()));
            async move { Ok::<_, Infallible>(response.expect("a response")) }
        });
        let region = json!({"name": "AWS_REGION", "value": REGION});
        let user = json!({"token": TOKEN, "password": PASSWORD, "exec": {"env": [region]}});
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

        let profile = json!({"type": "ADDED", "object": {"metadata": {"name": TOKEN, "namespace": REGION}}});
        let failure = json!({"type": "ERROR", "object": status()});
        let watch = hub(200, format!("{profile}\n{failure}\n"));
        let mut lines = Lines::new(send(&watch, request()).await.expect("a watch"));
        let patience = Duration::from_secs(1);
        let line = lines.next(patience).await.expect("a line").expect("a line");
        let Ok(Event::Added(object)) = Event::read(&line) else {
            panic!("{line:?}")
        };
        let object = String::from_utf8_lossy(object);
        assert!(
            !object.contains(TOKEN) && object.contains(OWN_CREDENTIAL) && object.contains(REGION),
            "{object}"
        );
        let line = lines.next(patience).await.expect("a line").expect("a line");
        assert_redacted(&Event::read(&line).expect_err("a failure"));
    }

    /// What comes of a text that arrives in pieces of that size.
    fn veiled(secrets: &[&str], text: &str, size: usize) -> String {
        let secrets: Vec<String> = secrets.iter().map(|secret| (*secret).to_owned()).collect();
        let mut veil = Veil::over(&secrets);
        let mut shown = Vec::new();
        for piece in text.as_bytes().chunks(size) {
            shown.extend_from_slice(&veil.take(Bytes::copy_from_slice(piece)));
        }
        shown.extend_from_slice(&veil.rest());
        String::from_utf8(shown).expect("UTF-8")
    }

    #[test]
    fn no_piece_of_an_answer_shows_a_credential() {
        let secrets = ["aab-aab-0123", "two \"words\" 77"];
        let text = r#"aab-aab-aab-0123 {"a":"aab-aab-0123","b":"two \"words\" 77"} aab-aab-01"#;
        let shown = text
            .replace("aab-aab-0123", OWN_CREDENTIAL)
            .replace(r#"two \"words\" 77"#, OWN_CREDENTIAL);
        for size in 1..text.len() + 1 {
            assert_eq!(veiled(&secrets, text, size), shown, "in pieces of {size}");
        }
    }

    #[test]
    fn what_is_whole_is_not_held_back() {
        let mut veil = Veil::over(&["aab-aab-0123".to_owned()]);
        let line = Bytes::from_static(b"{\"type\":\"ADDED\"}\n");
        assert_eq!(veil.take(line.clone()), line);
        assert_eq!(veil.take(Bytes::from_static(b"x aab-")), "x ");
        assert_eq!(veil.take(Bytes::from_static(b"y\n")), "aab-y\n");
    }

    #[test]
    fn words_and_names_are_no_credentials() {
        let text = "kubernetes password default fleet-east-1 v1alpha1";
        let secrets = ["kubernetes", "password", "default", "v1alpha1"];
        assert_eq!(veiled(&secrets, text, 100), text);
    }
}
