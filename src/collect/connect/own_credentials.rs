//! Redacts the runner's own credentials in all that a hub says: some hubs repeat what they do not accept, and a hostile one may
//! name objects after them.

use std::{borrow::Cow, path::Path, sync::Arc};

use evidence::{LARGEST_CREDENTIAL, leak::OWN_CREDENTIAL, read_text};
use memchr::memmem::Finder;
use serde_json::Value;

use crate::subprocess::without;

/// Shorter credentials are not redacted: they would hide too much other text.
const SHORTEST: usize = 6;

/// The credentials that the runner shows a hub. Every reader of an answer redacts them.
#[derive(Clone, Default)]
pub(crate) struct OwnCredentials {
    kubeconfig: Option<Arc<str>>,
}

/// The credentials as they were at some time, in all the forms that JSON has for them.
pub(crate) struct Redaction {
    in_objects: Vec<Finder<'static>>,
    in_messages: Vec<String>,
}

impl OwnCredentials {
    pub fn of(kubeconfig: &str) -> Self {
        Self {
            kubeconfig: Some(kubeconfig.into()),
        }
    }

    /// The credentials as they are now: a token in a file may be renewed at any time.
    pub fn redaction(&self) -> Redaction {
        let kubeconfig = self.kubeconfig.as_deref().unwrap_or_default();
        Redaction::of(&secrets_in(kubeconfig), &credentials_in(kubeconfig))
    }
}

impl Redaction {
    fn of(secrets: &[String], credentials: &[String]) -> Self {
        let recognizable = secrets.iter().filter(|secret| is_recognizable(secret));
        let mut in_objects: Vec<String> = recognizable.flat_map(|secret| forms(secret)).collect();
        // One may be a part of another one.
        in_objects.sort_by_key(|form| std::cmp::Reverse(form.len()));
        in_objects.dedup();
        let finder = |form: String| Finder::new(form.as_bytes()).into_owned();
        Self {
            in_objects: in_objects.into_iter().map(finder).collect(),
            in_messages: credentials.iter().flat_map(|secret| forms(secret)).collect(),
        }
    }

    /// Replaces the credentials in JSON. The replacement is found like any credential: a profile that holds one still
    /// breaks a rule.
    pub fn redact<'j>(&self, json: &'j [u8]) -> Cow<'j, [u8]> {
        let mut json = Cow::Borrowed(json);
        for form in &self.in_objects {
            let mut from = 0;
            while let Some(at) = form.find(&json[from..]) {
                let at = from + at;
                let end = at + form.needle().len();
                json.to_mut().splice(at..end, OWN_CREDENTIAL.bytes());
                from = at + OWN_CREDENTIAL.len();
            }
        }
        json
    }

    /// Replaces all that the kubeconfig gives to a hub or a plugin in a hub's message.
    pub fn redact_message(&self, message: &[u8]) -> String {
        without(&String::from_utf8_lossy(message), &self.in_messages)
    }
}

/// A secret verbatim, and as JSON writes it.
fn forms(secret: &str) -> [String; 2] {
    let quoted = Value::from(secret).to_string();
    [secret.to_owned(), quoted[1..quoted.len() - 1].to_owned()]
}

/// True for a credential that is surely not a word or name: those are in every answer, and mean something else there.
fn is_recognizable(secret: &str) -> bool {
    let has = |is_one: fn(&u8) -> bool| secret.as_bytes().iter().any(is_one);
    secret.len() >= 16 || (secret.len() >= 10 && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic))
}

/// The credentials of a kubeconfig, the tokens in files that it names, and all that it gives to credential plugins, be it a
/// secret, a region or an address; none if it cannot be read.
pub(crate) fn credentials_in(kubeconfig: &str) -> Vec<String> {
    credentials_under(kubeconfig, |_| true)
}

/// The credentials of a kubeconfig, without values that it gives to plugins under a name that is not a secret's, for example a region.
pub(crate) fn secrets_in(kubeconfig: &str) -> Vec<String> {
    credentials_under(kubeconfig, names_a_secret)
}

/// Whether a value of that name is a secret, for example `id-token` or `AWS_SECRET_ACCESS_KEY`.
fn names_a_secret(name: &str) -> bool {
    const WORDS: [&str; 7] = [
        "token",
        "secret",
        "password",
        "passwd",
        "access-key",
        "api-key",
        "private-key",
    ];
    const PLACES: [&str; 8] = [
        "-file",
        "-path",
        "-url",
        "-uri",
        "-endpoint",
        "-expiry",
        "-type",
        "-audience",
    ];
    let name = name.to_ascii_lowercase().replace('_', "-");
    WORDS.iter().any(|word| name.contains(word)) && !PLACES.iter().any(|end| name.ends_with(end))
}

fn credentials_under(kubeconfig: &str, is_secret: impl Fn(&str) -> bool) -> Vec<String> {
    let kubeconfig: Value = serde_saphyr::from_str(kubeconfig).unwrap_or_default();
    let mut credentials = Vec::new();
    for entry in kubeconfig["users"].as_array().into_iter().flatten() {
        let user = &entry["user"];
        for key in ["token", "password", "client-key-data"] {
            credentials.extend(user[key].as_str().map(str::to_owned));
        }
        if let Some(path) = user["tokenFile"].as_str() {
            credentials.extend(read_text(Path::new(path), LARGEST_CREDENTIAL).ok());
        }
        let config = user["auth-provider"]["config"].as_object().into_iter().flatten();
        let config = config.map(|(name, value)| (name.as_str(), value));
        let variables = user["exec"]["env"].as_array().into_iter().flatten();
        let variables =
            variables.map(|variable| (variable["name"].as_str().unwrap_or_default(), &variable["value"]));
        for (name, value) in config.chain(variables) {
            let secret = value.as_str().filter(|_| is_secret(name));
            credentials.extend(secret.map(str::to_owned));
        }
    }
    let trimmed = credentials.iter().map(|secret| secret.trim().to_owned());
    trimmed.filter(|secret| secret.len() >= SHORTEST).collect()
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, time::Duration};

    use http::{Method, Request, Response};
    use kube::{Client, client::Body};
    use serde_json::json;

    use super::*;
    use crate::{
        connect::{
            call::{REQUEST_TIMEOUT, TimedClient, read, request, send},
            failure::RequestFailure,
        },
        watch::lines::{WatchEvent, WatchLines},
    };

    /// Nothing that a scanner would recognize.
    const TOKEN: &str = "plainword-x7";
    const PASSWORD: &str = "two \"words\"";
    /// A credential plugin is given it, and it is not a secret.
    const REGION: &str = "ap-southeast-2";

    /// A hub that answers so, for a runner with these credentials.
    fn hub(code: u16, body: String) -> TimedClient {
        let service = tower::service_fn(move |_: Request<Body>| {
            let response = Response::builder().status(code);
            let response = response.body(Body::from(body.clone().into_bytes()));
            async move { Ok::<_, Infallible>(response.expect("a response")) }
        });
        let region = json!({"name": "AWS_REGION", "value": REGION});
        let user = json!({"token": TOKEN, "password": PASSWORD, "exec": {"env": [region]}});
        let kubeconfig = json!({"users": [{"name": "u", "user": user}]}).to_string();
        let client = Client::new(service, "default");
        TimedClient {
            secrets: OwnCredentials::of(&kubeconfig),
            ..TimedClient::new(client, REQUEST_TIMEOUT, Arc::default(), 0)
        }
    }

    fn status() -> Value {
        let message = format!("user {TOKEN} is not known, nor {PASSWORD}");
        json!({"kind": "Status", "code": 403, "reason": TOKEN, "message": message,
            "details": {"causes": [{"field": TOKEN, "message": message}]}})
    }

    #[track_caller]
    fn assert_redacted(failure: &RequestFailure) {
        let shown = format!("{failure} {failure:?}");
        assert!(!shown.contains(TOKEN) && !shown.contains("words"), "{shown}");
        assert!(shown.contains("user … is not known, nor …"), "{shown}");
    }

    #[tokio::test]
    async fn a_hub_that_repeats_a_credential_is_redacted() {
        let request = || request(Method::GET, "/apis").expect("a request");
        let refused = send(&hub(403, status().to_string()), request()).await;
        assert_redacted(&refused.expect_err("it is refused"));

        let object = json!({"metadata": {"name": TOKEN, "namespace": REGION}});
        let client = hub(200, object.to_string());
        let response = send(&client, request()).await.expect("an object");
        let found: Value = read(response, "/apis", &client).await.expect("an object");
        assert_eq!(
            found["metadata"],
            json!({"name": OWN_CREDENTIAL, "namespace": REGION})
        );

        let profile = json!({"type": "ADDED", "object": object});
        let failure = json!({"type": "ERROR", "object": status()});
        let watch = hub(200, format!("{profile}\n{failure}\n"));
        let mut lines = WatchLines::new(
            send(&watch, request()).await.expect("a watch"),
            watch.secrets.clone(),
        );
        let patience = Duration::from_secs(1);
        let line = lines.next(patience).await.expect("a line").expect("a line");
        let Ok(WatchEvent::Added(object)) = WatchEvent::read(&line) else {
            panic!("{line:?}")
        };
        assert_eq!(serde_json::from_slice::<Value>(object).expect("JSON"), found);
        let line = lines.next(patience).await.expect("a line").expect("a line");
        assert_redacted(&WatchEvent::read(&line).expect_err("a failure"));
    }

    #[test]
    fn all_forms_are_replaced_and_words_are_not() {
        let secrets = ["aab-aab-0123", "two \"words\" 77", "kubernetes", "v1alpha1"];
        let redaction = Redaction::of(&secrets.map(str::to_owned), &[]);
        let text =
            r#"aab-aab-aab-0123 kubernetes v1alpha1 {"a":"aab-aab-0123","b":"two \"words\" 77"} aab-aab-01"#;
        let expected = text
            .replace("aab-aab-0123", OWN_CREDENTIAL)
            .replace(r#"two \"words\" 77"#, OWN_CREDENTIAL);
        assert_eq!(*redaction.redact(text.as_bytes()), *expected.as_bytes());
    }

    /// Profiles name regions and addresses, too, and no profile is wrong for naming those of the runner's plugin.
    #[test]
    fn a_plugin_s_variable_is_a_secret_by_its_name() {
        let users = r"
users:
- name: a
  user:
    exec:
      env:
      - {name: AWS_REGION, value: ap-southeast-2}
      - {name: AWS_PROFILE, value: platform-production}
      - {name: AWS_WEB_IDENTITY_TOKEN_FILE, value: /var/run/secrets/token}
      - {name: AWS_SECRET_ACCESS_KEY, value: CANARY-1}
      - {name: VAULT_TOKEN, value: CANARY-2}
- name: b
  user:
    token: CANARY-5
    username: somebody
    password: short
    client-key-data: CANARY-6
    auth-provider:
      config: {idp-issuer-url: 'https://login.example.com', client-id: kubernetes-login, client-secret: CANARY-3, id-token: CANARY-4}
";
        assert_eq!(credentials_in(users).len(), 11);
        let mut secrets = secrets_in(users);
        secrets.sort_unstable();
        assert_eq!(
            secrets,
            [1, 2, 3, 4, 5, 6].map(|number| format!("CANARY-{number}"))
        );
        assert!(credentials_in("users: {").is_empty());
    }
}
