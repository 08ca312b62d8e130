//! What crosses a boundary of trust: secrets, and files that no reader should have to survive.
//!
//! Each secret that is planted has one of these words in it. Nothing that the command prints or leaves may have
//! [`SECRET`] in it. [`EXPOSED`] stands in profiles, where no credential belongs: the evidence holds profiles as the hub
//! does, and nothing else may repeat it.

mod credentials;
mod evil;

use std::{fs, path::PathBuf};

use apiserver::{ApiServer, Misbehaviour};
use collect::clock::Clock;
use evil::{Evil, Manner};
use http::Method;
use jiff::SignedDuration;
use lab::{
    hub::Hub,
    member::{FakeMember, MemberState},
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};

use crate::{
    command::{Folder, command, kubeconfig},
    served_lab::ServedLab,
};

const SECRET: &str = "CANARY";
const EXPOSED: &str = "MAGPIE";

/// What one call of the command left to see: its code, both streams, and every file in its folder.
struct Left {
    code: Option<i32>,
    out: Vec<u8>,
    err: Vec<u8>,
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl Left {
    fn places(&self) -> impl Iterator<Item = (String, &[u8])> {
        let files = self.files.iter();
        let files = files.map(|(path, bytes)| (path.display().to_string(), bytes.as_slice()));
        [
            ("stdout".to_owned(), &*self.out),
            ("stderr".to_owned(), &*self.err),
        ]
        .into_iter()
        .chain(files)
    }

    fn printed(&self) -> String {
        String::from_utf8_lossy(&[&*self.out, &*self.err].concat()).into_owned()
    }

    /// None of the words is anywhere, but for those that the evidence may hold.
    fn is_clean(&self, what: &str) {
        for (place, bytes) in self.places() {
            let text = String::from_utf8_lossy(bytes);
            assert!(!text.contains(SECRET), "{what}: a secret is in {place}: {text}");
            // They quote profiles, of which these words are no recognizable credentials.
            let shows_profiles = [".jsonl", ".jsonl.zst", ".html"];
            let shows_profiles = shows_profiles.iter().any(|end| place.ends_with(end));
            assert!(
                shows_profiles || !text.contains(EXPOSED),
                "{what}: a credential is in {place}: {text}"
            );
        }
    }

    fn file(&self, name: &str) -> &[u8] {
        let found = self.files.iter().find(|(path, _)| path.ends_with(name));
        &found.unwrap_or_else(|| panic!("no {name}: {}", self.printed())).1
    }
}

/// Calls the command with all reports, in a folder of its own.
fn call(line: impl AsRef<str>) -> Left {
    call_without_pages(format!(
        "{} --html report.html --markdown report.md",
        line.as_ref()
    ))
}

/// Calls the command without the HTML and Markdown reports.
fn call_without_pages(line: impl AsRef<str>) -> Left {
    let folder = tempfile::tempdir().expect("a folder");
    let outputs = "--json report.json --junit report.xml --record evidence.jsonl";
    let mut command = command(format!("{} {outputs}", line.as_ref()));
    let output = command
        .current_dir(folder.path())
        .output()
        .expect("the command runs");
    let entries = fs::read_dir(folder.path()).expect("the folder");
    let files = entries.map(|entry| {
        let path = entry.expect("an entry").path();
        let bytes = fs::read(&path).expect("a file");
        (path, bytes)
    });
    Left {
        code: output.status.code(),
        out: output.stdout,
        err: output.stderr,
        files: files.collect(),
    }
}

/// A consumer's kubeconfig with a secret in every field that can hold one. Its token is `token`.
fn kubeconfig_of_consumer(token: &str) -> String {
    kubeconfig(
        "server: 'https://u:CANARY-server@east.example:6443/?t=CANARY', proxy-url: 'http://u:CANARY-proxy@p'",
        &format!(
            "token: '{token}', client-key-data: Q0FOQVJZLWtleQ==, username: n, password: CANARY-password, \
             exec: {{command: c, args: [CANARY-arg], env: [{{name: E, value: CANARY-env}}]}}, \
             auth-provider: {{name: oidc, config: {{id-token: CANARY-id, refresh-token: CANARY-refresh}}}}"
        ),
    )
}

fn profile(name: &str) -> Value {
    json!({
        "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
        "metadata": {
            "name": name, "namespace": "default",
            "labels": {"x-k8s.io/cluster-manager": "eyJhbGciOi.MAGPIE-label.x"},
            "annotations": {"note": "MAGPIE-annotation"},
        },
        "spec": {"displayName": name, "clusterManager": {"name": "eyJhbGciOj.MAGPIE-name.x"}},
        "status": {
            "properties": [
                {"name": "cluster-endpoints.k8s.io", "value": "https://u:MAGPIE-endpoint@east.example:6443/ x"},
                {"name": "location.topology.k8s.io", "value": "Bearer MAGPIE-0123456789012345"},
            ],
            "conditions": [{
                "type": "Joined", "status": "True", "reason": "Joined", "message": "MAGPIE-message",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }],
            "accessProviders": [{"name": "p", "cluster": {
                "server": "https://u:MAGPIE-access@east.example", "proxy-url": "http://u:MAGPIE-proxy@p",
                "extensions": [{"name": "client.authentication.k8s.io/exec", "extension": {"token": "MAGPIE-extension"}}],
            }}],
        },
    })
}

fn secret(name: &str, namespace: &str, config: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {
            "name": name, "namespace": namespace,
            "labels": {"x-k8s.io/cluster-profile": "a", "x-k8s.io/cluster-profile-namespace": "default"},
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{\"stringData\": \"CANARY-applied\"}"},
        },
        "stringData": {"Config": config, "another": "CANARY-another"},
    })
}

/// The hub's objects, or a dump's.
fn objects() -> Vec<Value> {
    let consumer = |name: &str| {
        json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": name, "labels": {"x-k8s.io/cluster-inventory-consumer": name}},
        })
    };
    vec![
        consumer("one"),
        consumer("two"),
        profile("a"),
        // One credential for two, so that a rule has something to tell of it.
        secret("shared", "one", &kubeconfig_of_consumer("CANARY-token")),
        secret("shared", "two", &kubeconfig_of_consumer("CANARY-token")),
        secret(
            "broken",
            "one",
            "users:\n- name: u\n  user: {token: \"CANARY-broken\n",
        ),
        secret("odd", "two", "users: [{name: u, user: {token: [CANARY-odd]}}]"),
        secret("text", "two", "CANARY-text"),
    ]
}

/// A served lab hub with these objects.
async fn hub(objects: Vec<Value>) -> ServedLab {
    let lab = ServedLab::new(Hub::lab(Clock::system()).await.expect("a hub")).await;
    // A rule with a grace period does not judge a new profile.
    lab.server()
        .misbehave(Misbehaviour::SkewClock(-SignedDuration::from_hours(1)));
    for object in objects {
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
        let path = match object["kind"].as_str() {
            Some("Namespace") => "/api/v1/namespaces".to_owned(),
            Some("Secret") => format!("/api/v1/namespaces/{namespace}/secrets"),
            _ => format!("/apis/multicluster.x-k8s.io/v1alpha1/namespaces/{namespace}/clusterprofiles"),
        };
        let mut stored = send(&lab, Method::POST, &path, &object).await;
        if object["status"].is_object() {
            stored["status"] = object["status"].clone();
            send(&lab, Method::PUT, &format!("{path}/a/status"), &stored).await;
        }
    }
    lab.server().misbehave(Misbehaviour::Recover);
    lab
}

/// Sends an object as the hub's administrator.
async fn send(lab: &ServedLab, method: Method, path: &str, object: &Value) -> Value {
    let admin = lab.server().client("admin");
    let stored = crate::send::send(&admin, method, path, Some(object.clone())).await;
    stored.expect("the hub takes it")
}

async fn call_in_background(line: String) -> Left {
    let call = move || call(line);
    tokio::task::spawn_blocking(call).await.expect("it is called")
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_of_a_hub_gets_out() {
    let lab = hub(objects()).await;
    let folder = &lab.folder;
    let path = folder.flag("kubeconfig");
    let token = ApiServer::token("conformance");
    let mut digests = Vec::new();
    for format in ["pretty", "terse", "json"] {
        let flags = "--observe 0s --probe --feature consumer-secrets --consumer one";
        let left = call_in_background(format!("run --kubeconfig {path} {flags} --format {format}")).await;
        assert_eq!(left.code, Some(1), "{}", left.printed());
        left.is_clean(format);
        for (place, bytes) in left.places() {
            assert!(
                !String::from_utf8_lossy(bytes).contains(&token),
                "the runner's token is in {place}"
            );
        }
        let report: Value = serde_json::from_slice(left.file("report.json")).expect("JSON");
        let has_found = |rule: &str| {
            let verdicts = report["verdicts"].as_array().expect("verdicts");
            let mut of_rule = verdicts.iter().filter(|verdict| verdict["rule"] == rule);
            of_rule.any(|verdict| verdict["verdict"] == "fail" || verdict["verdict"] == "warn")
        };
        // The rules that look at what was planted have looked.
        for rule in [
            "consumers/secret-single-consumer",
            "consumers/secret-has-kubeconfig",
            "identity/manager-label-matches",
            "access/no-secrets",
        ] {
            assert!(has_found(rule), "{rule}");
        }
        let evidence = String::from_utf8(left.file("evidence.jsonl").to_vec()).expect("UTF-8");
        assert!(evidence.contains(EXPOSED));
        let run = shared_digests(&evidence);
        assert!(
            run.len() == 2 && run[0] == run[1] && !run[0].is_empty(),
            "{run:?}"
        );
        digests.push(run[0].clone());

        let replayed = call(format!("replay {}", folder.write("e.jsonl", &evidence)));
        let again: Value = serde_json::from_slice(replayed.file("report.json")).expect("JSON");
        assert_eq!(again["verdicts"], report["verdicts"]);
        replayed.is_clean("replayed");
    }
    for format in ["pretty", "json"] {
        let done = lab
            .call("conformance", &format!("doctor --format {format}"))
            .await;
        let printed = done.out + &done.err;
        assert_eq!(done.code, Some(0), "{printed}");
        assert!(printed.contains("1 profile in 1 Namespace"), "{printed}");
        for secret in [SECRET, EXPOSED, &token] {
            assert!(!printed.contains(secret), "{secret} is in {printed}");
        }
    }
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), 3, "a digest tells of another run: {digests:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_of_a_plugin_gets_out() {
    let fake_member = FakeMember::new("a", Clock::system(), MemberState::default());
    fake_member.admit("CANARY-token", "consumer", FakeMember::CONSUMER);
    let served = fake_member.serve().await.expect("a port");
    let ca = base64::Engine::encode(&base64::prelude::BASE64_STANDARD, served.ca());
    let mut profile = profile("a");
    let cluster = json!({"server": served.server(), "certificate-authority-data": ca});
    profile["status"]["accessProviders"][0]["cluster"] = cluster;
    let lab = hub(vec![profile]).await;
    let folder = &lab.folder;
    let kubeconfig = folder.flag("kubeconfig");
    let version = "client.authentication.k8s.io/v1";
    let answer = |status: Value| json!({"apiVersion": version, "kind": "ExecCredential", "status": status});
    // What is printed where, and how the plugin ends.
    let cases = [
        (answer(json!({"token": "CANARY-token"})).to_string(), "CANARY-token", 0, "accepted"),
        (answer(json!({"token": "CANARY-other"})).to_string(), "CANARY-other", 0, "refused"),
        (answer(json!({"token": "CANARY-token"})).to_string(), "got CANARY-token\nin CANARY-variable", 1, "noCredential"),
        (answer(json!({"token": "CANARY\u{1}"})).to_string(), "", 0, "noCredential"),
        (
            answer(json!({"clientCertificateData": "CANARY-certificate", "clientKeyData": "CANARY-key"})).to_string(),
            "CANARY-key",
            0,
            "noCredential",
        ),
        (
            json!({"kind": "CANARY", "status": {"clientKeyData": "-----BEGIN PRIVATE KEY-----\nCANARY-key\n"}}).to_string(),
            "-----BEGIN PRIVATE KEY-----\nCANARY-key",
            2,
            "noCredential",
        ),
        ("CANARY-garbage".to_owned(), "CANARY-garbage", 0, "noCredential"),
        (String::new(), "key = CANARYabcdefgh0123456789", 1, "noCredential"),
    ];
    // Side by side: a run asks a plugin that fails again, and waits before it does.
    let mut runs = JoinSet::new();
    for (number, (out, err, end, answered)) in cases.into_iter().enumerate() {
        let out = folder.write(&format!("out-{number}"), &out);
        let err = folder.write(&format!("err-{number}"), err);
        let script = format!("#!/bin/sh\ncat {out}; cat {err} >&2; exit {end}\n");
        let plugin = folder.write(&format!("plugin-{number}"), &script);
        let may_run = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        fs::set_permissions(&plugin, may_run).expect("a program");
        let providers = json!({"providers": [{"name": "p", "execConfig": {
            "apiVersion": version, "command": plugin, "args": ["CANARY-argument"],
            "env": [{"name": "E", "value": "CANARY-variable"}],
        }}]});
        let providers = folder.write(&format!("providers-{number}.json"), providers.to_string());
        let run = format!("run --kubeconfig {kubeconfig} --provider-file {providers} --observe 0s");
        let left = call_in_background(run);
        runs.spawn(async move { (script, answered, left.await) });
    }
    for (script, answered, left) in runs.join_all().await {
        left.is_clean(&script);
        let evidence = String::from_utf8(left.file("evidence.jsonl").to_vec()).expect("UTF-8");
        let mut lines = evidence
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let login = lines
            .find(|line| line["login"].is_object())
            .expect("it was tried");
        assert_eq!(login["login"]["outcome"]["answer"], answered, "{login}");
    }
}

/// The digests of the token in the two Secrets that share it.
fn shared_digests(evidence: &str) -> Vec<String> {
    let lines = evidence
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let secrets = lines.filter(|line: &Value| line["secret"]["name"] == "shared");
    let digest = |line: Value| {
        let credentials = &line["secret"]["kubeconfig"]["users"][0]["credentials"];
        let token = credentials
            .as_array()
            .expect("credentials")
            .iter()
            .find(|one| one["kind"] == "token");
        token.expect("a token")["digest"]
            .as_str()
            .expect("a digest")
            .to_owned()
    };
    secrets.map(digest).collect()
}

/// Members that repeat the credentials which they are shown, that fail, and that are not there.
#[tokio::test(flavor = "multi_thread")]
async fn no_secret_of_a_member_gets_out() {
    let lab = hub(objects()).await;
    let folder = &lab.folder;
    let mut evils = Vec::new();
    for manner in [Manner::Refusing, Manner::Redirecting, Manner::Echoing] {
        evils.push(Evil::new(manner).await);
    }
    let plain = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let plain_port = plain.local_addr().expect("an address").port();
    let server = lab.server().clone();
    tokio::spawn(async move { server.serve(plain).await });

    let mut clusters: Vec<String> = evils.iter().map(Evil::cluster).collect();
    clusters.extend([
        format!("server: 'https://{}'", evils[0].address()),
        format!("server: 'https://127.0.0.1:{plain_port}'"),
        "server: 'https://u:CANARY-server@127.0.0.1:1', proxy-url: 'http://u:CANARY-proxy@127.0.0.1:1'"
            .to_owned(),
        "server: 'https://127.0.0.1:1'".to_owned(),
    ]);
    let users = [
        "token: CANARY-member-token".to_owned(),
        "username: n, password: CANARY-member-password".to_owned(),
        "exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, args: ['-c', 'echo CANARY >&2; exit 3'], \
         interactiveMode: Never}"
            .to_owned(),
        "token: \"CANARY-member\\u0001\"".to_owned(),
    ];
    let mut members = String::new();
    for (number, (cluster, user)) in clusters
        .iter()
        .flat_map(|cluster| users.iter().map(move |user| (cluster, user)))
        .enumerate()
    {
        folder.write(&format!("{number}.kubeconfig"), kubeconfig(cluster, user));
        let name = if number == 0 {
            "a".to_owned()
        } else {
            format!("m{number}")
        };
        members += &format!("default/{name}: {{kubeconfig: {number}.kubeconfig}}\n");
        let pushed = secret(&format!("pushed-{number}"), "one", &kubeconfig(cluster, user));
        send(&lab, Method::POST, "/api/v1/namespaces/one/secrets", &pushed).await;
    }
    let members = folder.write("members.yaml", &members);
    let runner = folder.flag("kubeconfig");
    let left = call_in_background(format!("doctor --kubeconfig {runner} --members {members}")).await;
    assert_eq!(left.code, Some(0), "{}", left.printed());
    assert!(
        left.printed().contains("default/a (context here of"),
        "{}",
        left.printed()
    );
    left.is_clean("members of the doctor");
    let flags = format!("--observe 1s --settle 0s --members {members} --members from-secrets");
    let left = call_in_background(format!("run --kubeconfig {runner} {flags}")).await;
    assert_eq!(left.code, Some(1), "{}", left.printed());
    left.is_clean("members");
    assert!(
        evils.iter().all(Evil::was_asked),
        "all of them were shown a credential"
    );
    let evidence = String::from_utf8(left.file("evidence.jsonl").to_vec()).expect("UTF-8");
    let count = |kind: &str| {
        evidence
            .lines()
            .filter(|line| line.starts_with(&format!("{{\"{kind}\"")))
            .count()
    };
    assert_eq!(count("member"), clusters.len() * users.len());
    assert!(
        count("login") >= clusters.len() * users.len() && count("endpointCall") > 0,
        "{evidence}"
    );
    for told in [
        "\"answer\":\"accepted\",\"user\":\"…\"",
        "\"code\":401",
        "302 Found",
    ] {
        assert!(evidence.contains(told), "{told}: {evidence}");
    }
}

/// The lab's own tokens stay in the lab.
#[test]
fn no_secret_of_the_lab_gets_out() {
    let left = call("run --hub lab --manager reference --observe 1m");
    let report = String::from_utf8_lossy(left.file("report.json")).into_owned();
    assert!(report.contains("consumers/kubeconfig-works"));
    for (place, bytes) in left.places() {
        assert!(
            !String::from_utf8_lossy(bytes).contains(apiserver::TOKEN_PREFIX),
            "a token is in {place}"
        );
    }
}

#[test]
fn no_secret_of_a_dump_gets_out() {
    let folder = Folder::new();
    let mut items = objects();
    for (number, item) in items.iter_mut().enumerate() {
        item["metadata"]["uid"] = json!(format!("u-{number}"));
        item["metadata"]["resourceVersion"] = json!(number.to_string());
    }
    let whole = json!({"apiVersion": "v1", "kind": "List", "items": items});
    let left = call(format!(
        "run --from {}",
        folder.write("dump.json", whole.to_string())
    ));
    assert_eq!(left.code, Some(1), "{}", left.printed());
    left.is_clean("a whole dump");

    let head = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: one, labels: {x-k8s.io/cluster-profile: a}}\n";
    let misfit = |status: Value| {
        let mut misfit = profile("a");
        misfit["status"] = status;
        misfit.to_string()
    };
    let evidence = r#"{"header":{"format":"conformance.clusterprofile/evidence/v3"}}"#;
    for (number, text) in [
        format!("{head}stringData: {{Config: \"CANARY"),
        format!("{head}stringData:\n  Config: CANARY\n Config: CANARY\n"),
        format!("{head}stringData: &CANARY [*CANARY, *CANARIES]"),
        format!("{head}stringData: {{Config: !!int CANARY}}"),
        format!("{head}stringData: {{Config: \"\\CANARY\"}}"),
        format!("{head}stringData: CANARY\n"),
        format!("{head}data: {{Config: CANARY!, other: [CANARY]}}\n"),
        format!(
            "{head}data: {{Config: CANARY}}\ndata: {{Config: CANARY}}\n---\n{}",
            misfit(json!({}))
        ),
        whole.to_string()[..whole.to_string().len() - 3].to_owned(),
        "{\"kind\": \"Secret\", \"data\": CANARY}".to_owned(),
        misfit(json!({"conditions": "CANARY-conditions"})),
        misfit(json!({"properties": [{"name": "p", "value": {"CANARY": ["CANARY"]}}]})),
        misfit(json!("CANARY, expected \"CANARY")),
        format!("{evidence}\n{{\"secret\":{{\"labels\":\"CANARY\"}}}}\n"),
        format!("{evidence}\n{{\"secret\":{{\"name\":CANARY}}}}\n"),
    ]
    .iter()
    .enumerate()
    {
        let left = call(format!(
            "run --from {}",
            folder.write(&format!("{number}.yaml"), text)
        ));
        assert_ne!(left.code, Some(0), "{text}");
        left.is_clean(text);
    }
}

#[test]
fn no_secret_of_the_runner_gets_out() {
    let folder = Folder::new();
    let server = "server: 'https://127.0.0.1:1'";
    let token = "token: CANARY-token";
    let exec = |script: &str| {
        format!(
            "exec: {{apiVersion: client.authentication.k8s.io/v1, command: sh, args: ['-c', '{script}', CANARY-arg], \
             env: [{{name: FIRST, value: CANARY-env}}, {{name: PASSWORD, value: 'CANARY env'}}], interactiveMode: Never}}"
        )
    };
    let answer = |token: &str| {
        exec(&format!(
            r#"echo "{{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{{\"token\":\"{token}\"}}}}""#
        ))
    };
    let cases = [
        (server, token.to_owned()),
        (server, "token: \"CANARY".to_owned()),
        (server, "token: [CANARY]".to_owned()),
        (server, "token: CANARY, token: CANARY".to_owned()),
        (server, "token: &CANARY CANARY, password: *CANARIES".to_owned()),
        (server, "token: \"CANARY\\n\"".to_owned()),
        (server, "username: n, password: \"CANARY\\u0001\"".to_owned()),
        (server, "tokenFile: /CANARY".to_owned()),
        (server, "client-certificate: /none, client-key: CANARY".to_owned()),
        // The key itself in the place of its path, in PEM and in DER.
        (
            server,
            "client-certificate-data: YQ==, client-key: LS0tLS1CRUdJTiBCANARY".to_owned(),
        ),
        (
            server,
            format!(
                "client-certificate-data: YQ==, client-key: MII{}",
                "CANARY".repeat(20)
            ),
        ),
        (
            server,
            "client-certificate-data: YQ==, client-key-data: CANARY!".to_owned(),
        ),
        (
            server,
            "client-certificate-data: YQ==, client-key-data: Q0FOQVJZ".to_owned(),
        ),
        (
            server,
            "auth-provider: {name: oidc, config: {id-token: CANARY, refresh-token: CANARY}}".to_owned(),
        ),
        (
            server,
            "auth-provider: {name: gcp, config: {cmd-path: CANARY, cmd-args: CANARY}}".to_owned(),
        ),
        (server, exec("echo CANARY; exit 3")),
        (server, exec("echo CANARY")),
        (server, exec("echo {\\\"CANARY\\\": [CANARY]}")),
        (server, answer("CANARY-exec")),
        (server, answer("CANARY\\\\u0001")),
        ("server: 'https://u:CANARY@127.0.0.1:1'", token.to_owned()),
        ("server: 'https://u:CANARY@ 127.0.0.1:1'", token.to_owned()),
        (
            "server: 'https://127.0.0.1:1', proxy-url: 'ftp://u:CANARY@p'",
            token.to_owned(),
        ),
        (
            "server: 'https://127.0.0.1:1', proxy-url: 'http://u:CANARY@127.0.0.1:1'",
            token.to_owned(),
        ),
        (
            "server: 'https://127.0.0.1:1', proxy-url: 'socks5://u:CANARY@127.0.0.1:1'",
            token.to_owned(),
        ),
        (
            "server: 'https://127.0.0.1:1', proxy-url: 'u:CANARY@ p'",
            token.to_owned(),
        ),
        (
            "server: 'https://127.0.0.1:1', certificate-authority-data: CANARY!",
            token.to_owned(),
        ),
    ];
    for (cluster, user) in cases {
        let path = folder.write("kubeconfig", kubeconfig(cluster, &user));
        let left = call(format!("run --kubeconfig {path} --observe 0s"));
        // A file that is not a kubeconfig is bad usage.
        let is_parsed = !left.printed().contains("not a valid kubeconfig");
        let code = if is_parsed { 4 } else { 2 };
        assert_eq!(left.code, Some(code), "{user}: {}", left.printed());
        let errors = left
            .printed()
            .lines()
            .filter(|line| line.starts_with("error: "))
            .count();
        assert_eq!(errors, 1, "{}", left.printed());
        left.is_clean(&format!("{cluster} {user}"));
        let left = call(format!("doctor --kubeconfig {path}"));
        assert_eq!(left.code, Some(code), "{user}: {}", left.printed());
        left.is_clean(&format!("the doctor and {cluster} {user}"));
    }
}

/// What no reader should have to survive is refused in good order.
#[test]
fn what_cannot_be_read_is_told_in_good_order() {
    let folder = Folder::new();
    let bomb: String = (1..40)
        .map(|level| {
            format!(
                "a{level}: &a{level} [{}]\n",
                vec![format!("*a{}", level - 1); 9].join(", ")
            )
        })
        .collect();
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(100_000), close.repeat(100_000));
    for (number, text) in [
        deep("[", "]"),
        deep("{\"a\":", "}"),
        format!("a: {}", deep("[", "]")),
        format!("- {}", "- ".repeat(100_000)),
        format!("a0: &a0 [x]\n{bomb}"),
        "{\"items\": [1e999, 99999999999999999999]}".to_owned(),
        "\u{0}\u{0}".to_owned(),
    ]
    .iter()
    .enumerate()
    {
        let left = call(format!(
            "run --from {}",
            folder.write(&format!("{number}.yaml"), text)
        ));
        assert_eq!(left.code, Some(2), "{number}: {}", left.printed());
        assert!(left.printed().len() < 2000, "{number}: {}", left.printed());
    }
    let path = folder.write("bytes.json", b"\xff\xfe{\x80");
    assert_eq!(call(format!("run --from {path}")).code, Some(2));
}
