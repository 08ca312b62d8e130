//! Credential plugins of kubeconfigs.

use std::{convert::Infallible, fs, path::Path};

use http::Response;
use parking_lot::Mutex;

use super::*;

const V1: &str = "client.authentication.k8s.io/v1";

/// A configuration whose plugin is that script.
fn config(script: &str) -> Config {
    let exec = json!({"apiVersion": V1, "command": "sh", "args": ["-c", script],
        "interactiveMode": "Never"});
    let mut config = Config::new("https://127.0.0.1:1".parse().expect("an address"));
    config.auth_info.exec = serde_json::from_value(exec).expect("a plugin");
    config
}

fn answer(status: &serde_json::Value) -> String {
    format!(
        "echo '{}'",
        json!({"apiVersion": V1, "kind": "ExecCredential", "status": status})
    )
}

/// Connects to a hub that notes the credentials which it is shown.
async fn connected(
    mut config: Config,
    limit: Duration,
) -> Result<(Client, Arc<Mutex<Vec<String>>>), ClientError> {
    let shown = Arc::<Mutex<Vec<String>>>::default();
    let noted = Arc::clone(&shown);
    let service = tower::service_fn(move |request: Request<Body>| {
        let header = request.headers().get(header::AUTHORIZATION);
        let header = header.and_then(|header| header.to_str().ok()).unwrap_or("none");
        noted.lock().push(header.to_owned());
        async { Ok::<_, Infallible>(Response::new(Body::empty())) }
    });
    let login = log_in(&mut config, limit).await?;
    Ok((with_login(Client::new(service, "default"), login), shown))
}

async fn ask(client: &Client) -> Result<(), kube::Error> {
    client.send(Request::new(Body::empty())).await.map(drop)
}

#[tokio::test]
async fn an_auth_provider_that_runs_a_command_is_refused() {
    let mut config = config("exit 1");
    config.auth_info.exec = None;
    let provider = json!({"name": "gcp", "config": {"cmd-path": "sleep", "cmd-args": "1000"}});
    config.auth_info.auth_provider = serde_json::from_value(provider).expect("an auth-provider");
    let error = connected(config, PATIENCE).await.err().expect("no credential");
    assert!(
        error.to_string().contains("auth-provider `gcp` runs a command"),
        "{error}"
    );
}

#[tokio::test]
async fn a_token_is_shown_until_it_expires() {
    let folder = tempfile::tempdir().expect("a folder");
    let runs = |path: &Path| fs::read_to_string(path).unwrap_or_default().len();
    for (expires, expected) in [("2999-01-01T00:00:00Z", 1), ("2000-01-01T00:00:00Z", 3)] {
        let count = folder.path().join(expires);
        let given = answer(&json!({"token": "CANARY", "expirationTimestamp": expires}));
        let script = format!("printf x >> {}; {given}", count.display());
        let (client, shown) = connected(config(&script), PATIENCE).await.expect("a client");
        ask(&client).await.expect("an answer");
        ask(&client).await.expect("an answer");
        assert_eq!(*shown.lock(), ["Bearer CANARY", "Bearer CANARY"]);
        assert_eq!(runs(&count), expected);
    }
}

#[tokio::test]
async fn a_plugin_that_hangs_later_fails_the_request() {
    let folder = tempfile::tempdir().expect("a folder");
    let given = answer(&json!({"token": "CANARY", "expirationTimestamp": "2000-01-01T00:00:00Z"}));
    let been = folder.path().join("been");
    let script = format!(
        "[ -e {0} ] && exec sleep 1000; touch {0}; {given}",
        been.display()
    );
    let (client, shown) = connected(config(&script), Duration::from_secs(2))
        .await
        .expect("a client");
    let error = ask(&client).await.expect_err("no token");
    assert!(
        crate::connect::cause(&error).contains(
            "the kubeconfig's credential plugin `sh` gave no credential within 2 s and was ended; it may wait for \
             the user to log in"
        ),
        "{error}"
    );
    assert!(!crate::connect::failure::is_cut_off(&error));
    assert!(shown.lock().is_empty());
}

#[tokio::test]
async fn a_certificate_takes_the_place_of_the_plugin() {
    let status = json!({"clientCertificateData": "C", "clientKeyData": "K"});
    let mut config = config(&answer(&status));
    let login = log_in(&mut config, PATIENCE).await.expect("a credential");
    assert!(login.is_none());
    let used = config.auth_info;
    assert!(used.exec.is_none());
    assert_eq!(used.client_certificate_data.as_deref(), Some("Qw=="));
    assert!(used.client_key_data.is_some());
}

#[tokio::test]
async fn errors_do_not_quote_the_plugin() {
    let unprintable = answer(&json!({"token": "CANARY\u{1}"}));
    for (script, message) in [
        ("echo CANARY; exit 3", "`sh` ended with exit code 3"),
        ("yes CANARY", "could not be read: it is larger than 1024 KiB"),
        (&unprintable, "characters that no HTTP header may have"),
    ] {
        let error = connected(config(script), PATIENCE)
            .await
            .err()
            .expect("no credential");
        assert!(error.to_string().contains(message), "{error}");
        assert!(!format!("{error} {error:?}").contains("CANARY"), "{error:?}");
    }
    let mut absent = config("");
    absent.auth_info.exec.as_mut().expect("a plugin").command = Some("/none/such".to_owned());
    let error = connected(absent, PATIENCE).await.err().expect("no credential");
    assert!(
        error
            .to_string()
            .starts_with("the credential plugin `/none/such` could not be started: "),
        "{error}"
    );
}

fn read(answer: &str) -> Result<ExecCredential, String> {
    ExecCredential::read(answer.as_bytes(), Some(V1))
}

fn printed(status: &Value) -> String {
    json!({"apiVersion": V1, "kind": "ExecCredential", "status": status}).to_string()
}

#[test]
fn credentials_are_read_as_clients_read_them() {
    let time = "2026-01-01T01:00:00+01:00";
    let timed = read(&printed(&json!({"token": "t", "expirationTimestamp": time}))).expect("a credential");
    assert_eq!(timed.user.0, json!({"token": "t"}));
    assert_eq!(timed.expires, "2026-01-01T00:00:00Z".parse().ok());
    let pair = json!({"clientCertificateData": "c", "clientKeyData": "k", "expirationTimestamp": null});
    let certified = read(&printed(&pair)).expect("a credential");
    assert!(certified.expires.is_none());
    let user = json!({"client-certificate-data": "Yw==", "client-key-data": "aw=="});
    assert_eq!(certified.user.0, user);
    let yaml = format!("apiVersion: {V1}\nkind: ExecCredential\nstatus:\n  token: t\n");
    for version in [Some(V1), None] {
        let any = ExecCredential::read(yaml.as_bytes(), version).expect("a credential");
        assert_eq!(any.field("token"), Some("t"));
    }
}

#[test]
fn other_answers_are_refused_without_quoting_them() {
    let of = |version: &str, kind: &str| {
        json!({"apiVersion": version, "kind": kind, "status": {"token": "CANARY"}}).to_string()
    };
    for (answer, expected) in [
        ("CANARY: [".to_owned(), "not an ExecCredential"),
        (of(V1, "Secret"), "not an ExecCredential"),
        (
            of("v1beta1", "ExecCredential"),
            "another version than the client.authentication.k8s.io/v1 that",
        ),
        (printed(&json!("CANARY")), "not an ExecCredential"),
        (printed(&json!({"token": ""})), "neither a token nor"),
        (
            printed(&json!({"token": "CANARY", "clientKeyData": "CANARY"})),
            "and not both",
        ),
        (
            printed(&json!({"token": "CANARY", "expirationTimestamp": "CANARY"})),
            "not a time in RFC 3339",
        ),
    ] {
        let error = read(&answer).err().expect("no credential");
        assert!(error.contains(expected) && !error.contains("CANARY"), "{error}");
    }
}
