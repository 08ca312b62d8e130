//! What crosses a boundary of trust: secrets, and text that means harm.
//!
//! Each secret that is planted has one of these words in it. Nothing that the command prints or leaves may have
//! [`SECRET`] in it. [`EXPOSED`] stands in profiles, where no credential belongs: the evidence holds profiles as the hub
//! does, and nothing else may repeat it.

mod credentials;
mod evil;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use apiserver::{ApiServer, Misbehaviour};
use collect::clock::Clock;
use evil::{Evil, Manner};
use http::{Method, Request, header};
use jiff::SignedDuration;
use lab::{
    hub::Hub,
    member::{FakeMember, MemberState},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{net::TcpListener, task::JoinSet};

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

    fn told(&self) -> String {
        format!(
            "{}{}",
            String::from_utf8_lossy(&self.out),
            String::from_utf8_lossy(&self.err)
        )
    }

    fn beginning(&self) -> String {
        self.told().chars().take(2000).collect()
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
        &found.unwrap_or_else(|| panic!("no {name}: {}", self.told())).1
    }
}

/// Calls the command with all reports, in a folder of its own.
fn call(arguments: &[&str]) -> Left {
    call_without_pages(&[arguments, &["--html", "report.html", "--markdown", "report.md"]].concat())
}

/// Calls the command without the HTML and Markdown reports.
fn call_without_pages(arguments: &[&str]) -> Left {
    let folder = tempfile::tempdir().expect("a folder");
    let Output {
        status,
        stdout,
        stderr,
    } = Command::new(env!("CARGO_BIN_EXE_clusterprofile-conformance"))
        .args(arguments)
        .args([
            "--json",
            "report.json",
            "--junit",
            "report.xml",
            "--record",
            "evidence.jsonl",
        ])
        .current_dir(folder.path())
        .env_remove("KUBECONFIG")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .env("HOME", "/nonexistent")
        .stdin(Stdio::null())
        .output()
        .expect("the command runs");
    let entries = fs::read_dir(folder.path()).expect("the folder");
    let files = entries.map(|entry| {
        let path = entry.expect("an entry").path();
        let bytes = fs::read(&path).expect("a file");
        (path, bytes)
    });
    Left {
        code: status.code(),
        out: stdout,
        err: stderr,
        files: files.collect(),
    }
}

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.path().join(name);
        fs::write(&path, text).expect("written");
        path.to_str().expect("UTF-8").to_owned()
    }
}

/// A kubeconfig whose cluster and user have these further fields.
fn kubeconfig(cluster: &str, user: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: here\n\
         contexts: [{{name: here, context: {{cluster: c, user: u}}}}]\n\
         clusters: [{{name: c, cluster: {{{cluster}}}}}]\nusers: [{{name: u, user: {{{user}}}}}]\n"
    )
}

/// A consumer's kubeconfig with a secret in every field that can hold one. Its token is `token`.
fn consumers(token: &str) -> String {
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
fn world() -> Vec<Value> {
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
        secret("shared", "one", &consumers("CANARY-token")),
        secret("shared", "two", &consumers("CANARY-token")),
        secret(
            "broken",
            "one",
            "users:\n- name: u\n  user: {token: \"CANARY-broken\n",
        ),
        secret("odd", "two", "users: [{name: u, user: {token: [CANARY-odd]}}]"),
        secret("text", "two", "CANARY-text"),
    ]
}

/// A lab hub with these objects on it, on a socket. Gives a kubeconfig of the runner.
async fn hub(objects: Vec<Value>) -> (Hub, String) {
    let hub = Hub::lab(Clock::system()).await.expect("a hub");
    let server = hub.as_lab().expect("the lab").clone();
    let send = async |method, path: &str, object: &Value| send(&server, method, path, object).await;
    // A rule with a grace period does not judge a new profile.
    server.misbehave(Misbehaviour::SkewClock(-SignedDuration::from_hours(1)));
    for object in objects {
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
        let path = match object["kind"].as_str() {
            Some("Namespace") => "/api/v1/namespaces".to_owned(),
            Some("Secret") => format!("/api/v1/namespaces/{namespace}/secrets"),
            _ => format!("/apis/multicluster.x-k8s.io/v1alpha1/namespaces/{namespace}/clusterprofiles"),
        };
        let mut stored = send(Method::POST, &path, &object).await;
        if object["status"].is_object() {
            stored["status"] = object["status"].clone();
            send(Method::PUT, &format!("{path}/a/status"), &stored).await;
        }
    }
    server.misbehave(Misbehaviour::Recover);
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move { server.serve(listener).await });
    let token = ApiServer::token("conformance");
    let runner = kubeconfig(
        &format!("server: 'http://127.0.0.1:{port}'"),
        &format!("token: {token}"),
    );
    (hub, runner)
}

/// Sends an object as the hub's administrator.
async fn send(server: &ApiServer, method: Method, path: &str, object: &Value) -> Value {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::CONTENT_TYPE, "application/json");
    let request = request.body(object.to_string().into_bytes()).expect("a request");
    let stored = server.client("admin").request(request).await;
    stored.expect("the hub takes it")
}

async fn create(hub: &Hub, path: &str, object: &Value) {
    send(hub.as_lab().expect("the lab"), Method::POST, path, object).await;
}

async fn call_beside(arguments: Vec<String>) -> Left {
    let call = move || call(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    tokio::task::spawn_blocking(call).await.expect("it is called")
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_of_a_hub_gets_out() {
    let (_hub, runner) = hub(world()).await;
    let folder = Folder::new();
    let path = folder.file("kubeconfig", &runner);
    let token = ApiServer::token("conformance");
    let mut digests = Vec::new();
    for format in ["pretty", "terse", "json"] {
        let arguments = [
            "run",
            "--kubeconfig",
            &path,
            "--observe",
            "0s",
            "--probe",
            "--format",
            format,
        ];
        let arguments = [
            &arguments[..],
            &["--feature", "consumer-secrets", "--consumer", "one"],
        ]
        .concat();
        let left = call_beside(arguments.into_iter().map(str::to_owned).collect()).await;
        assert_eq!(left.code, Some(1), "{}", left.told());
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

        let replayed = call(&["replay", &folder.file("e.jsonl", &evidence)]);
        let again: Value = serde_json::from_slice(replayed.file("report.json")).expect("JSON");
        assert_eq!(again["verdicts"], report["verdicts"]);
        replayed.is_clean("replayed");
    }
    for format in ["pretty", "json"] {
        let arguments = ["doctor", "--kubeconfig", &path, "--format", format];
        let left = call_beside(arguments.map(str::to_owned).into()).await;
        assert_eq!(left.code, Some(0), "{}", left.told());
        assert!(
            left.told().contains("1 profile in 1 Namespace"),
            "{}",
            left.told()
        );
        left.is_clean(format);
        assert!(!left.told().contains(&token), "{}", left.told());
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
    let (_hub, runner) = hub(vec![profile]).await;
    let folder = Folder::new();
    let kubeconfig = folder.file("kubeconfig", &runner);
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
        let out = folder.file(&format!("out-{number}"), &out);
        let err = folder.file(&format!("err-{number}"), err);
        let script = format!("#!/bin/sh\ncat {out}; cat {err} >&2; exit {end}\n");
        let plugin = folder.file(&format!("plugin-{number}"), &script);
        let may_run = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        fs::set_permissions(&plugin, may_run).expect("a program");
        let providers = json!({"providers": [{"name": "p", "execConfig": {
            "apiVersion": version, "command": plugin, "args": ["CANARY-argument"],
            "env": [{"name": "E", "value": "CANARY-variable"}],
        }}]});
        let providers = folder.file(&format!("providers-{number}.json"), &providers.to_string());
        let arguments = [
            "run",
            "--kubeconfig",
            &kubeconfig,
            "--provider-file",
            &providers,
            "--observe",
            "0s",
        ];
        let left = call_beside(arguments.map(str::to_owned).into());
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
    let (hub, runner) = hub(world()).await;
    let folder = Folder::new();
    let runner = folder.file("kubeconfig", &runner);
    let mut evils = Vec::new();
    for manner in [Manner::Refusing, Manner::Redirecting, Manner::Echoing] {
        evils.push(Evil::new(manner).await);
    }
    let plain = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let plain_port = plain.local_addr().expect("an address").port();
    let server = hub.as_lab().expect("the lab").clone();
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
        folder.file(&format!("{number}.kubeconfig"), &kubeconfig(cluster, user));
        let name = if number == 0 {
            "a".to_owned()
        } else {
            format!("m{number}")
        };
        members += &format!("default/{name}: {{kubeconfig: {number}.kubeconfig}}\n");
        let pushed = secret(&format!("pushed-{number}"), "one", &kubeconfig(cluster, user));
        create(&hub, "/api/v1/namespaces/one/secrets", &pushed).await;
    }
    let members = folder.file("members.yaml", &members);
    let arguments = [
        "run",
        "--kubeconfig",
        &runner,
        "--observe",
        "1s",
        "--settle",
        "0s",
        "--members",
        &members,
        "--members",
        "from-secrets",
    ];
    let doctor = ["doctor", "--kubeconfig", &runner, "--members", &members];
    let left = call_beside(doctor.map(str::to_owned).into()).await;
    assert_eq!(left.code, Some(0), "{}", left.told());
    assert!(
        left.told().contains("default/a (context here of"),
        "{}",
        left.told()
    );
    left.is_clean("members of the doctor");
    let left = call_beside(arguments.map(str::to_owned).into()).await;
    assert_eq!(left.code, Some(1), "{}", left.told());
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
    let left = call(&["run", "--hub", "lab", "--manager", "reference", "--observe", "1m"]);
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
    let mut items = world();
    for (number, item) in items.iter_mut().enumerate() {
        item["metadata"]["uid"] = json!(format!("u-{number}"));
        item["metadata"]["resourceVersion"] = json!(number.to_string());
    }
    let whole = json!({"apiVersion": "v1", "kind": "List", "items": items});
    let left = call(&["run", "--from", &folder.file("dump.json", &whole.to_string())]);
    assert_eq!(left.code, Some(1), "{}", left.told());
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
        let left = call(&["run", "--from", &folder.file(&format!("{number}.yaml"), text)]);
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
        let path = folder.file("kubeconfig", &kubeconfig(cluster, &user));
        let left = call(&["run", "--kubeconfig", &path, "--observe", "0s"]);
        // A file that is not a kubeconfig is bad usage.
        let is_parsed = !left.told().contains("not a valid kubeconfig");
        let code = if is_parsed { 4 } else { 2 };
        assert_eq!(left.code, Some(code), "{user}: {}", left.told());
        let errors = left
            .told()
            .lines()
            .filter(|line| line.starts_with("error: "))
            .count();
        assert_eq!(errors, 1, "{}", left.told());
        left.is_clean(&format!("{cluster} {user}"));
        let left = call(&["doctor", "--kubeconfig", &path]);
        assert_eq!(left.code, Some(code), "{user}: {}", left.told());
        left.is_clean(&format!("the doctor and {cluster} {user}"));
    }
}

#[test]
fn text_that_means_harm_is_shown_and_does_none() {
    let folder = Folder::new();
    let harm =
        "x\ntest result: ok. 99 passed\r\u{1b}[2J\u{9b}31m\u{202e}\u{7f}\0]]><a>&\u{ffff}\u{e0041}\u{200b}";
    // Longer than any line that is shown whole.
    let long = harm.repeat(1_000);
    let mut items = Vec::new();
    for text in [harm, &long] {
        // No hub has long names, but harmful ones may come in a dump.
        let name = format!("{}{harm}", text.len());
        let mut profile = profile(&name);
        profile["metadata"]["namespace"] = json!(harm);
        profile["metadata"]["labels"] = json!({"x-k8s.io/cluster-manager": text, text: text});
        profile["spec"]["clusterManager"]["name"] = json!(format!("{text}!"));
        profile["status"]["properties"] = json!([{"name": "cluster-endpoints.k8s.io", "value": text}]);
        profile["status"]["conditions"][0]["type"] = json!(text);
        profile["status"]["conditions"][0]["lastTransitionTime"] = json!(text);
        let mut secret = secret(&name, harm, &format!("users: [{}]", json!({"name": text})));
        secret["metadata"]["labels"]["x-k8s.io/cluster-profile"] = json!(text);
        let mut misfit = profile.clone();
        misfit["metadata"]["name"] = json!(format!("{name}misfit"));
        misfit["status"] = json!({text: {}, "conditions": text});
        items.extend([
            profile,
            secret,
            misfit,
            json!({"apiVersion": text, "kind": text, "metadata": {"name": text}}),
        ]);
    }
    let dump = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
    let name = format!("{}.json", harm.replace(['\0', '/'], ""));
    // The HTML report of this fleet takes long.
    for format in ["pretty", "terse", "json"] {
        let left = call_without_pages(&["run", "--from", &folder.file(&name, &dump), "--format", format]);
        assert_eq!(left.code, Some(1), "{}", left.beginning());
        left.does_no_harm();
        let report: Value = serde_json::from_slice(left.file("report.json")).expect("JSON");
        let mut verdicts = report["verdicts"].as_array().expect("verdicts").iter();
        let usable = verdicts.find(|verdict| verdict["rule"] == "identity/manager-name-usable");
        // Whoever parses the report finds what the hub has.
        assert_eq!(
            usable.expect("the rule")["findings"][0]["observed"],
            format!("{harm}!")
        );
        let replayed = call_without_pages(&[
            "replay",
            &folder.file("e.jsonl", &String::from_utf8_lossy(left.file("evidence.jsonl"))),
        ]);
        assert_eq!(replayed.code, Some(1), "{}", replayed.beginning());
    }
    let left = call_without_pages(&[
        "run",
        "--from",
        &folder.file(&name, &dump.replace("List", harm.trim_matches('\0'))),
    ]);
    left.does_no_harm();
    let nowhere = folder.0.path().join(name).join("none");
    let left = call_without_pages(&["run", "--from", nowhere.to_str().expect("UTF-8")]);
    assert_eq!(left.code, Some(2), "{}", left.told());
    left.does_no_harm();
}

impl Left {
    /// No line is forged, nothing moves a cursor or turns text about, and XML stays XML.
    fn does_no_harm(&self) {
        for (place, bytes) in self.places() {
            let text = std::str::from_utf8(bytes).unwrap_or_else(|_| panic!("{place} is no UTF-8"));
            // Evidence has the text of the hub.
            if place.ends_with(".jsonl") {
                continue;
            }
            let forged = text.lines().find(|line| line.starts_with("test result: ok"));
            assert_eq!(forged, None, "in {place}");
            let turns = |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{e0000}'..='\u{e007f}');
            let odd = text.find(|c: char| c != '\n' && (c.is_control() || turns(c) || c == '\u{ffff}'));
            assert_eq!(odd, None, "in {place}");
            if place.ends_with(".xml") {
                let parts = text
                    .split("<![CDATA[")
                    .map(|part| part.rsplit_once("]]>").map_or(part, |(_, markup)| markup));
                let markup: Vec<&str> = parts
                    .filter(|markup| markup.contains("<a>") || markup.contains("]]>"))
                    .collect();
                assert_eq!(markup, Vec::<&str>::new(), "in {place}");
            }
        }
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
        let left = call(&["run", "--from", &folder.file(&format!("{number}.yaml"), text)]);
        assert_eq!(left.code, Some(2), "{number}: {}", left.told());
        assert!(left.told().len() < 2000, "{number}: {}", left.told());
    }
    let path = Path::new(&folder.file("bytes.json", "")).to_owned();
    fs::write(&path, b"\xff\xfe{\x80").expect("written");
    assert_eq!(
        call(&["run", "--from", path.to_str().expect("UTF-8")]).code,
        Some(2)
    );
}
