//! Secrets, and hostile files.
//!
//! Each planted secret contains one of two words. Nothing that the command prints or writes may contain [`SECRET`].
//! [`EXPOSED`] is in profiles, where no credential belongs: the evidence has profiles as they are on the hub, and nothing
//! else may repeat it.

mod credentials;
mod echoing_member;
mod runner;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::PermissionsExt,
};

use apiserver::{ApiServer, Misbehaviour};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use collect::clock::Clock;
use echoing_member::{EchoingMember, Manner};
use http::Method;
use jiff::SignedDuration;
use lab::{
    hub::Hub,
    member::{FakeMember, MemberState},
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};

use crate::{
    command::{Folder, assert_contains, command, in_background, kubeconfig, table, verdict_of},
    served_lab::ServedLab,
};

const SECRET: &str = "CANARY";
const EXPOSED: &str = "MAGPIE";

/// What one call of the command left: its exit code, both streams, and every file in its folder, by name.
struct Left {
    code: Option<i32>,
    texts: BTreeMap<String, String>,
}

impl Left {
    fn printed(&self) -> String {
        format!("{}{}", self.texts["stdout"], self.texts["stderr"])
    }

    /// Asserts that the words are nowhere, except `EXPOSED` where profiles are quoted.
    fn is_clean(&self, what: &str) {
        self.lacks(what, SECRET);
        // These quote profiles, in which the words are not recognizable as credentials.
        let shows_profiles = |place: &str| [".jsonl", ".html"].iter().any(|end| place.ends_with(end));
        for (place, text) in self.texts.iter().filter(|(place, _)| !shows_profiles(place)) {
            assert!(
                !text.contains(EXPOSED),
                "{what}: a credential is in {place}: {text}"
            );
        }
    }

    fn lacks(&self, what: &str, secret: &str) {
        for (place, text) in &self.texts {
            assert!(!text.contains(secret), "{what}: {secret} is in {place}: {text}");
        }
    }

    fn text(&self, name: &str) -> &str {
        let text = self.texts.get(name);
        text.unwrap_or_else(|| panic!("no {name}: {}", self.printed()))
    }

    fn report(&self) -> Value {
        serde_json::from_str(self.text("report.json")).expect("JSON")
    }

    fn records(&self, kind: &str) -> Vec<Value> {
        let lines = self.text("evidence.jsonl").lines();
        let records = lines.map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let records = records.map(|mut record| record[kind].take());
        records.filter(Value::is_object).collect()
    }
}

/// Calls the command with all reports on a dump of that text.
fn call_with_dump(text: impl AsRef<[u8]>) -> Left {
    let folder = Folder::new();
    call(format!("run --from {}", folder.write("dump.yaml", text)))
}

/// Calls the command with all reports, in a folder of its own.
fn call(line: impl AsRef<str>) -> Left {
    let folder = tempfile::tempdir().expect("a folder");
    let outputs = "--json report.json --junit report.xml --record evidence.jsonl --html report.html \
                   --markdown report.md --report report.yaml --badge badge.svg";
    let mut command = command(format!("{} {outputs}", line.as_ref()));
    let output = command.current_dir(folder.path()).output().expect("it runs");
    let streams = [("stdout", output.stdout), ("stderr", output.stderr)];
    let streams = streams.map(|(name, bytes)| (name.to_owned(), bytes));
    let files = fs::read_dir(folder.path()).expect("the folder").map(|entry| {
        let entry = entry.expect("an entry");
        let bytes = fs::read(entry.path()).expect("a file");
        (entry.file_name().to_string_lossy().into_owned(), bytes)
    });
    let text = |(name, bytes): (String, Vec<u8>)| (name, String::from_utf8_lossy(&bytes).into_owned());
    Left {
        code: output.status.code(),
        texts: streams.into_iter().chain(files).map(text).collect(),
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

fn objects() -> Vec<Value> {
    let consumer = |name: &str| {
        json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": name, "labels": {"x-k8s.io/cluster-inventory-consumer": name}},
        })
    };
    let broken = "users:\n- name: u\n  user: {token: \"CANARY-broken\n";
    vec![
        consumer("one"),
        consumer("two"),
        profile("a"),
        // Two Secrets with one credential, for a rule to report.
        secret("shared", "one", &kubeconfig_of_consumer("CANARY-token")),
        secret("shared", "two", &kubeconfig_of_consumer("CANARY-token")),
        secret("broken", "one", broken),
        secret("odd", "two", "users: [{name: u, user: {token: [CANARY-odd]}}]"),
        secret("text", "two", "CANARY-text"),
    ]
}

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

async fn send(lab: &ServedLab, method: Method, path: &str, object: &Value) -> Value {
    let admin = lab.server().client("admin");
    let stored = crate::send::send(&admin, method, path, Some(object.clone())).await;
    stored.expect("the hub takes it")
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_of_a_hub_gets_out() {
    let lab = hub(objects()).await;
    let folder = &lab.folder;
    let path = folder.flag("kubeconfig");
    let token = ApiServer::token("conformance");
    let mut digests = BTreeSet::new();
    for format in ["pretty", "github"] {
        let flags = "--observe 0s --probe --feature consumer-secrets --consumer one";
        let line = format!("run --kubeconfig {path} {flags} --format {format}");
        let left = in_background(move || call(line)).await;
        assert_eq!(left.code, Some(1), "{}", left.printed());
        left.is_clean(format);
        left.lacks(format, &token);
        // The rules that examine what was planted have found it.
        let report = left.report();
        for rule in [
            "consumers/secret-single-consumer",
            "consumers/secret-has-kubeconfig",
            "identity/manager-label-matches",
            "access/no-secrets",
        ] {
            let verdict = verdict_of(&report, rule);
            let is_broken = verdict["verdict"] == "fail" || verdict["verdict"] == "warn";
            assert!(is_broken, "{verdict}");
        }
        assert!(left.text("evidence.jsonl").contains(EXPOSED));
        let shared = shared_digests(&left);
        assert_eq!(shared.len(), 1, "{shared:?}");
        digests.extend(shared);

        let evidence = folder.write("e.jsonl", left.text("evidence.jsonl"));
        let replayed = call(format!("replay {evidence}"));
        assert_eq!(replayed.report()["verdicts"], report["verdicts"]);
        replayed.is_clean("replayed");
    }
    assert_eq!(digests.len(), 2, "a digest links two runs: {digests:?}");
    for format in ["pretty", "json"] {
        let doctor = format!("doctor --format {format}");
        let done = lab.call("conformance", &doctor).await;
        let printed = done.out + &done.err;
        assert_eq!(done.code, Some(0), "{printed}");
        assert_contains(&printed, &["1 profile of 1 manager"]);
        for secret in [SECRET, EXPOSED, &token] {
            assert!(!printed.contains(secret), "{secret} is in {printed}");
        }
    }
}

/// The digests of the token in the two Secrets that share it.
fn shared_digests(left: &Left) -> BTreeSet<String> {
    let mut secrets = left.records("secret");
    secrets.retain(|secret| secret["name"] == "shared");
    assert_eq!(secrets.len(), 2);
    let digest = |secret: &Value| {
        let credentials = &secret["kubeconfig"]["users"][0]["credentials"];
        let mut credentials = credentials.as_array().expect("credentials").iter();
        let token = credentials.find(|credential| credential["kind"] == "token");
        let digest = token.expect("a token")["digest"].as_str();
        digest.expect("a digest").to_owned()
    };
    secrets.iter().map(digest).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_of_a_plugin_gets_out() {
    let fake_member = FakeMember::new("a", Clock::system(), MemberState::default());
    fake_member.admit("CANARY-token", "consumer", FakeMember::CONSUMER);
    let served = fake_member.serve().await.expect("a port");
    let ca = BASE64_STANDARD.encode(served.ca());
    let mut profile = profile("a");
    let cluster = json!({"server": served.server(), "certificate-authority-data": ca});
    profile["status"]["accessProviders"][0]["cluster"] = cluster;
    let lab = hub(vec![profile]).await;
    let folder = &lab.folder;
    let kubeconfig = folder.flag("kubeconfig");
    let version = "client.authentication.k8s.io/v1";
    let credential = |status: Value| {
        json!({"apiVersion": version, "kind": "ExecCredential", "status": status}).to_string()
    };
    let token = |token: &str| credential(json!({"token": token}));
    let certificate = json!({"clientCertificateData": "CANARY-certificate", "clientKeyData": "CANARY-key"});
    let key = "-----BEGIN PRIVATE KEY-----\nCANARY-key";
    let other_kind = json!({"kind": "CANARY", "status": {"clientKeyData": key}}).to_string();
    let variable = "got CANARY-token\nin CANARY-variable";
    // Standard output, standard error, the exit code, and the answer.
    let cases = [
        (token("CANARY-token"), "CANARY-token", 0, "accepted"),
        (token("CANARY-other"), "CANARY-other", 0, "refused"),
        (token("CANARY-token"), variable, 1, "noCredential"),
        (token("CANARY\u{1}"), "", 0, "noCredential"),
        (credential(certificate), "CANARY-key", 0, "noCredential"),
        (other_kind, key, 2, "noCredential"),
        ("CANARY-garbage".to_owned(), "CANARY-garbage", 0, "noCredential"),
        (String::new(), "key = CANARYabcdefgh0123456789", 1, "noCredential"),
    ];
    // In parallel: a run waits before it calls a failed plugin again.
    let mut runs = JoinSet::new();
    for (number, (out, err, code, answer)) in cases.into_iter().enumerate() {
        let out = folder.write(&format!("out-{number}"), &out);
        let err = folder.write(&format!("err-{number}"), err);
        let script = format!("#!/bin/sh\ncat {out}; cat {err} >&2; exit {code}\n");
        let plugin = folder.write(&format!("plugin-{number}"), &script);
        fs::set_permissions(&plugin, PermissionsExt::from_mode(0o700)).expect("a program");
        let providers = json!({"providers": [{"name": "p", "execConfig": {
            "apiVersion": version, "command": plugin, "args": ["CANARY-argument"],
            "env": [{"name": "E", "value": "CANARY-variable"}],
        }}]});
        let providers = folder.write(&format!("providers-{number}.json"), providers.to_string());
        let run = format!("run --kubeconfig {kubeconfig} --provider-file {providers} --observe 0s");
        let left = in_background(move || call(run));
        runs.spawn(async move { (script, answer, left.await) });
    }
    for (script, answer, left) in runs.join_all().await {
        left.is_clean(&script);
        let logins = left.records("login");
        let login = logins.first().expect("a login");
        assert_eq!(login["outcome"]["answer"], answer, "{logins:?}");
    }
}

/// Users of a member, each a line of YAML.
const MEMBER_USERS: &str = r#"
token: CANARY-member-token
username: n, password: CANARY-member-password
exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, args: ['-c', 'echo CANARY >&2; exit 3'], interactiveMode: Never}
token: "CANARY-member\u0001"
"#;

/// Members that repeat the credentials that they receive, that fail, and that do not exist.
#[tokio::test(flavor = "multi_thread")]
async fn no_secret_of_a_member_gets_out() {
    let lab = hub(objects()).await;
    let folder = &lab.folder;
    let mut echoing_members = Vec::new();
    for manner in [Manner::Refusing, Manner::Redirecting, Manner::Echoing] {
        echoing_members.push(EchoingMember::new(manner).await);
    }
    let plain = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let plain_address = plain.local_addr().expect("an address");
    let server = lab.server().clone();
    tokio::spawn(async move { server.serve(plain).await });

    let mut clusters: Vec<String> = echoing_members.iter().map(EchoingMember::cluster).collect();
    let proxied =
        "server: 'https://u:CANARY-server@127.0.0.1:1', proxy-url: 'http://u:CANARY-proxy@127.0.0.1:1'";
    clusters.extend([
        format!("server: '{}'", echoing_members[0].server()),
        format!("server: 'https://{plain_address}'"),
        proxied.to_owned(),
        "server: 'https://127.0.0.1:1'".to_owned(),
    ]);
    let users = table(MEMBER_USERS).map(|row| row[0]);
    let kubeconfigs = clusters
        .iter()
        .flat_map(|cluster| users.clone().map(move |user| kubeconfig(cluster, user)));
    let mut members = String::new();
    let mut count = 0;
    for (number, kubeconfig) in kubeconfigs.enumerate() {
        folder.write(&format!("{number}.kubeconfig"), &kubeconfig);
        let name = format!("m{number}");
        let name = if number == 0 { "a" } else { &name };
        members += &format!("default/{name}: {{kubeconfig: {number}.kubeconfig}}\n");
        let pushed = secret(&format!("pushed-{number}"), "one", &kubeconfig);
        send(&lab, Method::POST, "/api/v1/namespaces/one/secrets", &pushed).await;
        count += 1;
    }
    let members = folder.write("members.yaml", &members);
    let runner = folder.flag("kubeconfig");
    let doctor = format!("doctor --kubeconfig {runner} --members {members}");
    let flags = format!("--observe 1s --settle 0s --members {members} --members from-secrets");
    let run = format!("run --kubeconfig {runner} {flags}");
    // In parallel: both wait for members that do not answer.
    let doctor = in_background(move || call(doctor));
    let (doctor, left) = tokio::join!(doctor, in_background(move || call(run)));
    assert_eq!(doctor.code, Some(0), "{}", doctor.printed());
    assert_contains(&doctor.printed(), &["default/a (context here of"]);
    doctor.is_clean("members of the doctor");
    assert_eq!(left.code, Some(1), "{}", left.printed());
    left.is_clean("members");
    let received_requests = echoing_members.iter().all(EchoingMember::has_requests);
    assert!(received_requests, "each of them received a credential");
    assert_eq!(left.records("member").len(), count);
    assert!(left.records("login").len() >= count && !left.records("endpointCall").is_empty());
    let accepted = "\"answer\":\"accepted\",\"user\":\"…\"";
    let answers = [accepted, "\"code\":401", "302 Found"];
    assert_contains(left.text("evidence.jsonl"), &answers);
}

/// The lab's own tokens stay in the lab.
#[test]
fn no_secret_of_the_lab_gets_out() {
    let left = call("run --hub lab --manager reference --observe 1m");
    assert_contains(left.text("report.json"), &["consumers/kubeconfig-works"]);
    left.lacks("the lab", apiserver::TOKEN_PREFIX);
}

/// Secrets in dumps that cannot be read, each a line of YAML with `\n` for its line ends.
const BROKEN_SECRETS: &str = r#"
stringData: {Config: "CANARY
stringData:\n  Config: CANARY\n Config: CANARY\n
stringData: &CANARY [*CANARY, *CANARIES]
stringData: {Config: !!int CANARY}
stringData: {Config: "\CANARY"}
stringData: CANARY\n
data: {Config: CANARY!, other: [CANARY]}\n
data: {Config: CANARY}\ndata: {Config: CANARY}\n---\n{}
"#;

#[test]
fn no_secret_of_a_dump_gets_out() {
    let mut items = objects();
    for (number, item) in items.iter_mut().enumerate() {
        item["metadata"]["uid"] = json!(format!("u-{number}"));
        item["metadata"]["resourceVersion"] = json!(number.to_string());
    }
    let whole = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
    let left = call_with_dump(&whole);
    assert_eq!(left.code, Some(1), "{}", left.printed());
    left.is_clean("a whole dump");

    let head = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: one, labels: {x-k8s.io/cluster-profile: a}}\n";
    let secrets = table(BROKEN_SECRETS).map(|row| format!("{head}{}", row[0].replace("\\n", "\n")));
    let statuses = [
        json!({"conditions": "CANARY-conditions"}),
        json!({"properties": [{"name": "p", "value": {"CANARY": ["CANARY"]}}]}),
        json!("CANARY, expected \"CANARY"),
    ];
    let profiles = statuses.map(|status| {
        let mut misfit = profile("a");
        misfit["status"] = status;
        misfit.to_string()
    });
    let evidence = r#"{"header":{"format":"conformance.clusterprofile/evidence/v3"}}"#;
    let others = [
        whole[..whole.len() - 3].to_owned(),
        "{\"kind\": \"Secret\", \"data\": CANARY}".to_owned(),
        format!("{evidence}\n{{\"secret\":{{\"labels\":\"CANARY\"}}}}\n"),
        format!("{evidence}\n{{\"secret\":{{\"name\":CANARY}}}}\n"),
    ];
    for text in secrets.chain(profiles).chain(others) {
        let left = call_with_dump(&text);
        assert_ne!(left.code, Some(0), "{text}");
        left.is_clean(&text);
    }
}

#[test]
fn unreadable_dump_is_refused_in_a_short_message() {
    let bomb = |level: usize| {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        format!("a{level}: &a{level} [{aliases}]\n")
    };
    let bomb: String = (1..40).map(bomb).collect();
    for text in [
        format!("a0: &a0 [x]\n{bomb}").as_bytes(),
        br#"{"items": [1e999, 99999999999999999999]}"#,
        b"\xff\xfe{\x80",
    ] {
        let left = call_with_dump(text);
        assert_eq!(left.code, Some(2), "{}", left.printed());
        assert!(left.printed().len() < 2000, "{}", left.printed());
    }
}
