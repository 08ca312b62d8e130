//! `doctor`: what it finds, what it says to do, and that it leaves the hub alone.

use std::{collections::BTreeSet, sync::Arc};

use apiserver::{AccessRule, ApiServer, User};
use collect::clock::Clock;
use lab::{
    hub::Hub,
    manager::{Manager, hub_definitions},
    member::{FakeMember, MemberState},
};
use tokio::{net::TcpListener, task::spawn_blocking};

use super::{everyday::silent_hub, *};

/// A lab hub on a socket, with the first objects of the reference manager on it.
struct Served {
    hub: Hub,
    folder: Arc<Folder>,
    port: u16,
}

impl Served {
    async fn new() -> Self {
        let clock = Clock::system();
        let hub = Hub::lab_with(clock, &hub_definitions(&[])).await.expect("a hub");
        let client = hub.client_as(Manager::NAME, Manager::NAME).expect("a client");
        let mut manager = Manager::new(Vec::new(), clock);
        manager.set_up(&client).await.expect("it starts");
        Self::serve(hub).await
    }

    async fn serve(hub: Hub) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let server = hub.as_lab().expect("the lab").clone();
        tokio::spawn(async move { server.serve(listener).await });
        Self {
            hub,
            folder: Arc::new(Folder::new()),
            port,
        }
    }

    fn server(&self) -> &ApiServer {
        self.hub.as_lab().expect("the lab")
    }

    /// A kubeconfig of that user.
    fn kubeconfig(&self, user: &str) -> String {
        let path = self.folder.kubeconfig(self.port);
        let user = format!("user: {{token: '{}'}}", ApiServer::token(user));
        let text = self.folder.text("kubeconfig").replace("user: {}", &user);
        fs::write(&path, text).expect("written");
        path
    }

    /// Calls the doctor as that user.
    async fn doctor(&self, user: &str, flags: &[&str]) -> Done {
        self.call("doctor", user, flags).await
    }

    async fn call(&self, subcommand: &str, user: &str, flags: &[&str]) -> Done {
        let kubeconfig = self.kubeconfig(user);
        let words = [subcommand, "--kubeconfig", &kubeconfig];
        let words: Vec<String> = words.iter().chain(flags).map(|word| (*word).to_owned()).collect();
        let call = move || call_in_80_columns(&words.iter().map(String::as_str).collect::<Vec<_>>());
        spawn_blocking(call).await.expect("it is called")
    }

    /// What the doctor says as JSON.
    async fn diagnosis(&self, user: &str, flags: &[&str]) -> Value {
        let done = self.doctor(user, &[flags, &["--format", "json"]].concat()).await;
        let diagnosis: Value =
            serde_json::from_str(&done.out).unwrap_or_else(|_| panic!("{}{}", done.out, done.err));
        assert_eq!(
            diagnosis["exitCode"],
            done.code.expect("it exits"),
            "{diagnosis:#}"
        );
        diagnosis
    }
}

/// The state of a check and all that is said of it; of several of that name, the worst.
fn check(diagnosis: &Value, name: &str) -> (String, String) {
    let checks = diagnosis["checks"].as_array().expect("checks").iter();
    let found = checks.filter(|check| check["check"] == name);
    let order = ["ok", "missing", "warn", "error"];
    let worst = found.max_by_key(|check| order.iter().position(|state| check["state"] == *state));
    let worst = worst.unwrap_or_else(|| panic!("no {name}: {diagnosis:#}"));
    let text = |key: &str| worst[key].as_str().unwrap_or_default().to_owned();
    (text("state"), format!("{} → {}", text("fact"), text("remedy")))
}

#[track_caller]
fn assert_check(diagnosis: &Value, name: &str, state: &str, told: &str) {
    let (found, text) = check(diagnosis, name);
    assert_eq!(found, state, "{name}: {text}");
    assert!(text.contains(told), "{name}: {text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sound_hub_is_told_in_80_columns_and_is_left_alone() {
    let served = Served::new().await;
    let done = served.doctor("conformance", &[]).await;
    assert_eq!(done.code, Some(0), "{}{}", done.out, done.err);
    assert_eq!(done.err, "");
    for line in done.out.lines() {
        assert!(line.chars().count() <= 80, "too wide: {line}");
    }
    let words: Vec<&str> = done.out.split_whitespace().collect();
    let words = words.join(" ");
    for part in [
        "context here at http://127.0.0.1:",
        "answers, Kubernetes v1.36.0+lab",
        "the hub knows the runner as conformance",
        "the clocks of hub and runner differ by 0 s",
        "of 1 manager: reference-manager",
        "field manager reference-manager: labels 18, spec 18, status 18",
        "to recognize all other clients, pass --cluster-manager-field-manager reference-manager",
        "ready: a run can judge",
    ] {
        assert!(words.contains(part), "{part:?} is not in: {}", done.out);
    }

    let log = served.server().audit_log();
    let events = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let ours: Vec<Value> = events
        .filter(|event| event["user"]["username"] == "conformance")
        .collect();
    assert!(ours.len() > 10, "{ours:?}");
    for event in ours {
        let (verb, uri) = (&event["verb"], event["requestURI"].as_str().expect("a URI"));
        let asks = uri.ends_with("/selfsubjectaccessreviews") || uri.ends_with("/selfsubjectreviews");
        assert!(
            verb == "get" || verb == "list" || (verb == "create" && asks),
            "{verb} {uri}"
        );
        assert!(!uri.contains("secrets"), "it read Secrets: {uri}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_foretells_how_many_rules_a_run_judges() {
    let served = Served::new().await;
    let report = served.folder.flag("report.json");
    for flags in [
        &["--observe", "0s"][..],
        &["--observe", "0s", "--no-probe", "--feature", "consumer-secrets"],
        &["--observe", "0s", "--edition", "2026-09", "identity/", "updates/"],
    ] {
        let diagnosis = served.diagnosis("conformance", flags).await;
        served
            .call("run", "conformance", &[flags, &["--json", &report]].concat())
            .await;
        let verdicts = served.folder.json("report.json")["verdicts"].clone();
        let verdicts = verdicts.as_array().expect("verdicts");
        for (level, key) in [("MUST", "must"), ("SHOULD", "should"), ("MAY", "may")] {
            let judged = verdicts
                .iter()
                .filter(|verdict| verdict["level"] == level && verdict["verdict"] != "skipped");
            assert_eq!(
                diagnosis["rules"]["judged"][key],
                judged.count(),
                "{flags:?} {level}"
            );
        }
        // What is gained by a flag is what the run skipped for the lack of it.
        let skipped: BTreeSet<&str> = verdicts
            .iter()
            .filter(|verdict| verdict["verdict"] == "skipped")
            .filter_map(|verdict| verdict["rule"].as_str())
            .collect();
        for gain in diagnosis["gains"].as_array().expect("gains") {
            let mut rules = gain["rules"].as_array().expect("rules").iter();
            assert!(
                rules.all(|rule| skipped.contains(rule.as_str().expect("an id"))),
                "{gain:#}"
            );
        }
    }
    let diagnosis = served.diagnosis("conformance", &["--observe", "0s"]).await;
    let gains = diagnosis["gains"].as_array().expect("gains").iter();
    let with: Vec<&str> = gains.filter_map(|gain| gain["with"].as_str()).collect();
    let flags = [
        "--observe 5m",
        "--members FILE",
        "--provider-file FILE",
        "--audit-log FILE",
        "--driver FILE",
        "--feature consumer-secrets",
    ];
    assert_eq!(with, flags);
    let members = &diagnosis["gains"][1];
    let needs = |rule: &Value| {
        &rules::find(rule.as_str().expect("an id"))
            .expect("a rule")
            .facts
            .needs
    };
    let rules = members["rules"].as_array().expect("rules");
    assert!(
        rules.iter().all(|rule| needs(rule).contains(&Kind::Members)),
        "{members:#}"
    );
    assert_check(
        &diagnosis,
        "evidence/members",
        "missing",
        &format!("leaves {} MUST", members["must"]),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_without_the_crd_says_how_to_install_it() {
    let hub = Hub::lab_with(Clock::system(), &[]).await.expect("a hub");
    let served = Served::serve(hub).await;
    let diagnosis = served.diagnosis("conformance", &[]).await;
    assert_eq!(diagnosis["exitCode"], 4);
    assert_check(&diagnosis, "hub/reached", "ok", "answers");
    assert_check(
        &diagnosis,
        "hub/api",
        "error",
        "install the CRD: `clusterprofile-conformance crd | kubectl apply -f -`",
    );
    assert_eq!(diagnosis["rules"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_without_profiles_is_not_ready() {
    let hub = Hub::lab_with(Clock::system(), &hub_definitions(&[])).await;
    let served = Served::serve(hub.expect("a hub")).await;
    let diagnosis = served.diagnosis("conformance", &[]).await;
    assert_eq!(diagnosis["exitCode"], 3);
    assert_check(&diagnosis, "hub/profiles", "error", "--wait");
    let run = served.call("run", "conformance", &["--observe", "1s"]).await;
    assert_eq!(run.code, Some(3), "{}", run.err);
    assert!(
        run.err.contains("the hub has no ClusterProfile; let the manager"),
        "{}",
        run.err
    );
    let waiting = served
        .call("run", "conformance", &["--observe", "1s", "--wait"])
        .await;
    assert_eq!(waiting.code, Some(3), "{}", waiting.err);
    let reason = "there is no ClusterProfile to examine";
    assert!(waiting.out.contains(reason), "{}", waiting.out);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_runner_may_not_see_is_told_with_the_role_that_grants_it() {
    let served = Served::new().await;
    let diagnosis = served.diagnosis("viewer", &[]).await;
    assert_eq!(diagnosis["exitCode"], 4, "{diagnosis:#}");
    assert_check(
        &diagnosis,
        "hub/profiles",
        "error",
        "`clusterprofile-conformance rbac` prints the role",
    );

    let rule = |group: &str, resource: &str, verbs: &[&str]| AccessRule {
        verbs: verbs.iter().map(|verb| (*verb).to_owned()).collect(),
        api_groups: vec![group.to_owned()],
        resources: vec![resource.to_owned()],
        namespaces: vec!["*".to_owned()],
        ..AccessRule::default()
    };
    let profiles = |verbs| rule("multicluster.x-k8s.io", "clusterprofiles", verbs);
    let some = vec![
        profiles(&["get", "list", "watch"]),
        rule("", "secrets", &["list"]),
    ];
    served.server().add_user(User::with_rules("some", some));
    let diagnosis = served.diagnosis("some", &["--observe", "0s"]).await;
    assert_eq!(diagnosis["exitCode"], 0, "{diagnosis:#}");
    for (name, told) in [
        ("hub/api", "may not read their CRD"),
        (
            "evidence/namespaces",
            "the runner may not read Namespaces, which leaves",
        ),
        (
            "evidence/probe",
            "not even in a dry run, which leaves 1 MUST rule unjudged → grant it",
        ),
    ] {
        assert_check(&diagnosis, name, "missing", told);
    }
    assert_check(
        &diagnosis,
        "evidence/secrets",
        "ok",
        "may list the consumers' Secrets",
    );

    // A run watches: without that permission it could not begin.
    let rules = vec![profiles(&["get", "list"])];
    served.server().add_user(User::with_rules("lists", rules));
    let diagnosis = served.diagnosis("lists", &[]).await;
    assert_check(
        &diagnosis,
        "hub/profiles",
        "error",
        "may list them, but not watch them",
    );
    let ran = served.call("run", "lists", &["--observe", "1s"]).await;
    assert_eq!(diagnosis["exitCode"], ran.code.expect("it exits"), "{}", ran.err);
    let diagnosis = served.diagnosis("lists", &["--observe", "0s"]).await;
    assert_eq!(diagnosis["exitCode"], 0, "{diagnosis:#}");
}

#[test]
fn a_hub_that_hangs_or_is_away_ends_the_doctor_soon() {
    let folder = Folder::new();
    let kubeconfig = silent_hub(&folder);
    let done = call(&["doctor", "--kubeconfig", &kubeconfig, "--request-timeout", "1s"]);
    assert_eq!(done.code, Some(4), "{}{}", done.out, done.err);
    let words: Vec<&str> = done.out.split_whitespace().collect();
    let words = words.join(" ");
    assert!(words.contains("no answer came for 1 s"), "{}", done.out);
    assert!(
        words.contains("give a slow hub more time with --request-timeout"),
        "{}",
        done.out
    );
    assert!(
        words.ends_with("not ready: 1 error to fix before a run can begin (exit code 4)"),
        "{}",
        done.out
    );

    let away = expect(4, &["doctor", "--kubeconfig", &folder.kubeconfig(1)]);
    assert!(away.contains("failed to reach the hub"), "{away}");
    let nowhere = expect(4, &["doctor"]);
    assert!(nowhere.contains("--hub lab"), "{nowhere}");
    let unknown = [
        "doctor",
        "--kubeconfig",
        &folder.kubeconfig(1),
        "--context",
        "there",
    ];
    let unknown = expect(2, &unknown);
    assert!(unknown.contains("its contexts: `here`"), "{unknown}");
}

#[cfg(unix)]
#[test]
fn a_credential_plugin_that_hangs_ends_the_doctor_soon() {
    let folder = Folder::new();
    let kubeconfig = folder.kubeconfig(1);
    let exec = "user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: sleep, args: ['60'], \
                interactiveMode: Never}}";
    let text = folder.text("kubeconfig").replace("user: {}", exec);
    fs::write(&kubeconfig, text).expect("written");
    let told = expect(
        4,
        &["doctor", "--kubeconfig", &kubeconfig, "--request-timeout", "1s"],
    );
    assert!(
        told.contains("credential plugin did not end within 3 s"),
        "{told}"
    );
}

#[test]
fn all_that_is_wrong_with_the_files_of_a_run_is_told_at_once() {
    let folder = Folder::new();
    let write = |name: &str, text: &str| {
        fs::write(folder.path(name), text).expect("written");
        folder.flag(name)
    };
    let kubeconfig = folder.kubeconfig(1);
    let members = write("members.yaml", "fleet/lisbon: {kubeconfg: lisbon.kubeconfig}\n");
    let driver = write("driver.yaml", "hooks: {restart: [no-such-program-at-all]}\n");
    let log = write("audit.log", "this is\nno audit log\n");
    let waivers = write("waivers.yaml", "waivers: {}\n");
    let done = call(&[
        "doctor",
        "--format",
        "json",
        "--kubeconfig",
        &kubeconfig,
        "--members",
        &members,
        "--driver",
        &driver,
        "--audit-log",
        &log,
        "--waivers",
        &waivers,
        "--junit",
        &folder.flag("no/such/report.xml"),
        "--provider-file",
        &folder.flag("none.yaml"),
    ]);
    // As of a run, which reads its files before it asks the hub.
    assert_eq!(done.code, Some(2), "{}{}", done.out, done.err);
    let diagnosis: Value = serde_json::from_str(&done.out).expect("JSON");
    for (name, told) in [
        ("hub/reached", "failed to reach the hub"),
        ("evidence/members", "did you mean `kubeconfig`?"),
        ("evidence/plugins", "none.yaml"),
        (
            "evidence/driver",
            "hook restart: its command `no-such-program-at-all` is not on the PATH",
        ),
        ("evidence/audit-log", "is not an audit log"),
        ("files/waivers", "waivers.yaml"),
        ("files/outputs", "create the folder"),
    ] {
        assert_check(&diagnosis, name, "error", told);
        assert!(!check(&diagnosis, name).1.ends_with("→ "), "{name} has no remedy");
    }
    assert!(!folder.path("no").exists());
    // Flags that contradict each other leave nothing to check.
    refused(&["doctor", "--probe", "--no-probe"], &["--no-probe"]);
    refused(&["doctor", "zzz"], &["unknown rule"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_are_sound_are_told_too() {
    let served = Served::new().await;
    let folder = &served.folder;
    let write = |name: &str, text: &str| {
        fs::write(folder.path(name), text).expect("written");
        folder.flag(name)
    };
    let fake_member = FakeMember::new("lisbon", Clock::system(), MemberState::default());
    fake_member.admit("a-member-token", "asker", FakeMember::ASKER);
    let member = fake_member.serve().await.expect("a port");
    let ca = base64::Engine::encode(&base64::prelude::BASE64_STANDARD, member.ca());
    let kubeconfig = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: m\ncontexts: [{{name: m, context: {{cluster: c, user: u}}}}]\n\
         clusters: [{{name: c, cluster: {{server: '{}', certificate-authority-data: {ca}}}}}]\n\
         users: [{{name: u, user: {{token: a-member-token}}}}]\n",
        member.server()
    );
    write("lisbon.kubeconfig", &kubeconfig);
    let away = kubeconfig.replace(member.server().as_str(), "https://127.0.0.1:1");
    write("oslo.kubeconfig", &away);
    let members = write(
        "members.yaml",
        "fleet/lisbon: {kubeconfig: lisbon.kubeconfig}\nfleet/oslo: {kubeconfig: oslo.kubeconfig}\n",
    );
    let driver = write("driver.yaml", "hooks: {join: [sh], leave: [sh], restart: [sh]}\n");
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/recorded/audit.log");
    let recorded = recorded.to_str().expect("UTF-8");
    let flags = [
        "--members",
        &members,
        "--driver",
        &driver,
        "--audit-log",
        recorded,
        "--json",
        &folder.flag("r.json"),
    ];
    let diagnosis = served.diagnosis("conformance", &flags).await;
    assert_eq!(diagnosis["exitCode"], 0, "{diagnosis:#}");
    assert_check(&diagnosis, "evidence/members", "warn", "fleet/oslo (context m of");
    let mut checks = diagnosis["checks"].as_array().expect("checks").iter();
    let first = checks
        .find(|check| check["check"] == "evidence/members")
        .expect("one");
    let first = first["fact"].as_str().expect("a text");
    assert!(first.starts_with("1 of 2 members answer"), "{first}");
    assert_check(
        &diagnosis,
        "evidence/driver",
        "ok",
        "the hooks join, leave, restart, on fake members",
    );
    assert_check(
        &diagnosis,
        "evidence/mutations",
        "missing",
        "add --allow-mutations",
    );
    // It was recorded long ago.
    assert_check(
        &diagnosis,
        "evidence/audit-log",
        "warn",
        "the audit log's last event is",
    );
    assert_check(&diagnosis, "files/outputs", "ok", "1 file can be written");
    assert!(!folder.path("r.json").exists());
}

#[test]
fn it_reads_the_configuration_of_the_run() {
    let folder = Folder::new();
    let config = folder.flag("conformance.yaml");
    // `from` and the format are for a run alone.
    let text = "apiVersion: conformance.clusterprofile/v1\nkind: Configuration\nhub: lab\nmanager: reference\n\
                edition: 2026-09\nobserve: 10m\nformat: github\n";
    fs::write(&config, text).expect("written");
    let told = expect(0, &["doctor", "--config", &config]);
    let words: Vec<&str> = told.split_whitespace().collect();
    let words = words.join(" ");
    assert!(words.contains("watches the profiles for 10m"), "{told}");
    assert!(words.contains("rules of edition 2026-09"), "{told}");
    let shown = expect(0, &["doctor", "--config", &config, "--print-config"]);
    assert!(shown.contains("observe: 10m"), "{shown}");
}
