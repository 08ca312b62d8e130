//! `doctor`: what it finds, what it says to do, and that it leaves the hub alone.

use std::collections::BTreeSet;

use apiserver::{AccessRule, User};
use collect::clock::Clock;
use evidence::Kind;
use lab::{
    hub::Hub,
    manager::hub_definitions,
    member::{FakeMember, MemberState},
};

use super::{command::kubeconfig, network::silent_hub, served_lab::ServedLab, *};

impl ServedLab {
    /// The JSON that the doctor prints for a user.
    async fn diagnosis(&self, user: &str, flags: &str) -> Value {
        let done = self.call(user, &format!("doctor --format json {flags}")).await;
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

/// The state of a check, its fact, and its remedy; of several checks of that name, the worst.
fn check(diagnosis: &Value, name: &str) -> (String, String) {
    let checks = diagnosis["checks"].as_array().expect("checks").iter();
    let named = checks.filter(|check| check["check"] == name);
    let order = ["ok", "missing", "warn", "error"];
    let worst = named.max_by_key(|check| order.iter().position(|state| check["state"] == *state));
    let worst = worst.unwrap_or_else(|| panic!("no {name}: {diagnosis:#}"));
    let text = |key: &str| worst[key].as_str().unwrap_or_default().to_owned();
    (text("state"), format!("{} → {}", text("fact"), text("remedy")))
}

#[track_caller]
fn assert_checks(diagnosis: &Value, checks: &[(&str, &str, &str)]) {
    for (name, state, part) in checks {
        let (actual, text) = check(diagnosis, name);
        assert_eq!(actual, *state, "{name}: {text}");
        assert!(text.contains(part), "{name}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sound_hub_is_reported_in_80_columns_and_is_left_alone() {
    let (lab, ..) = ServedLab::with_manager().await;
    let done = lab.call("conformance", "doctor").await;
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""), "{}", done.out);
    for line in done.out.lines() {
        assert!(line.chars().count() <= 80, "too wide: {line}");
    }
    assert_contains(
        &unwrapped(&done.out),
        &[
            "context lab at https://127.0.0.1:",
            "answers, Kubernetes v1.36.0+lab",
            "the hub knows the runner as conformance",
            "of 1 manager: reference-manager",
            "field manager reference-manager: labels 18, spec 18, status 18",
            "to recognize all other clients, pass --cluster-manager-field-manager reference-manager",
            "ready: a run can judge",
        ],
    );

    let events = lab.server().audit_events().into_iter();
    let ours: Vec<Value> = events
        .filter(|event| event["user"]["username"] == "conformance")
        .collect();
    assert!(ours.len() > 10, "{ours:?}");
    for event in ours {
        let (verb, uri) = (&event["verb"], event["requestURI"].as_str().expect("a URI"));
        let is_review = uri.ends_with("/selfsubjectaccessreviews") || uri.ends_with("/selfsubjectreviews");
        assert!(
            verb == "get" || verb == "list" || (verb == "create" && is_review),
            "{verb} {uri}"
        );
        assert!(!uri.contains("secrets"), "it read Secrets: {uri}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_predicts_how_many_rules_a_run_judges() {
    let (lab, ..) = ServedLab::with_manager().await;
    let report = lab.folder.flag("report.json");
    for flags in [
        "--observe 0s",
        "--observe 0s --no-probe --feature consumer-secrets",
        "--observe 0s --edition 2026-09 identity/ updates/",
    ] {
        let diagnosis = lab.diagnosis("conformance", flags).await;
        lab.call("conformance", &format!("run {flags} --json {report}"))
            .await;
        let report = lab.folder.json("report.json");
        let verdicts = report["verdicts"].as_array().expect("verdicts").iter();
        let (skipped, judged): (Vec<_>, Vec<_>) =
            verdicts.partition(|verdict| verdict["verdict"] == "skipped");
        for (level, key) in [("MUST", "must"), ("SHOULD", "should"), ("MAY", "may")] {
            let count = judged.iter().filter(|verdict| verdict["level"] == level).count();
            assert_eq!(diagnosis["rules"]["judged"][key], count, "{flags} {level}");
        }
        // A flag can only add rules that the run skipped.
        let skipped: BTreeSet<&str> = skipped
            .iter()
            .filter_map(|verdict| verdict["rule"].as_str())
            .collect();
        for gain in diagnosis["gains"].as_array().expect("gains") {
            for rule in gain["rules"].as_array().expect("rules") {
                assert!(skipped.contains(rule.as_str().expect("an id")), "{gain:#}");
            }
        }
    }
    let diagnosis = lab.diagnosis("conformance", "--observe 0s").await;
    let gains = diagnosis["gains"].as_array().expect("gains").iter();
    let flags: Vec<&str> = gains.filter_map(|gain| gain["with"].as_str()).collect();
    let expected = [
        "--observe 5m",
        "--members FILE",
        "--provider-file FILE",
        "--audit-log FILE",
        "--driver FILE",
        "--feature consumer-secrets",
    ];
    assert_eq!(flags, expected);
    let members = &diagnosis["gains"][1];
    for rule in members["rules"].as_array().expect("rules") {
        let rule = rules::find(rule.as_str().expect("an id")).expect("a rule");
        assert!(rule.facts.needs.contains(&Kind::Members), "{members:#}");
    }
    let leaves = format!("leaves {} MUST", members["must"]);
    assert_checks(&diagnosis, &[("evidence/members", "missing", &leaves)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_without_the_crd_says_how_to_install_it() {
    let lab = ServedLab::new(Hub::lab_with(Clock::system(), &[]).await.expect("a hub")).await;
    let diagnosis = lab.diagnosis("conformance", "").await;
    assert_eq!(diagnosis["exitCode"], 4);
    let install = "install the CRD: `clusterprofile-conformance crd | kubectl apply -f -`";
    assert_checks(
        &diagnosis,
        &[("hub/reached", "ok", "answers"), ("hub/api", "error", install)],
    );
    assert_eq!(diagnosis["rules"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_without_profiles_is_not_ready() {
    let hub = Hub::lab_with(Clock::system(), &hub_definitions(&[])).await;
    let lab = ServedLab::new(hub.expect("a hub")).await;
    let diagnosis = lab.diagnosis("conformance", "").await;
    assert_eq!(diagnosis["exitCode"], 3);
    assert_checks(&diagnosis, &[("hub/profiles", "error", "--wait")]);
    let run = lab.call("conformance", "run --observe 1s").await;
    assert_eq!(run.code, Some(3), "{}", run.err);
    assert_contains(&run.err, &["the hub has no ClusterProfile; let the manager"]);
    let waiting = lab.call("conformance", "run --observe 1s --wait").await;
    assert_eq!(waiting.code, Some(3), "{}", waiting.err);
    assert_contains(&waiting.out, &["there is no ClusterProfile to examine"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_permissions_are_reported_with_the_role_that_grants_them() {
    let (lab, ..) = ServedLab::with_manager().await;
    let diagnosis = lab.diagnosis("viewer", "").await;
    assert_eq!(diagnosis["exitCode"], 4, "{diagnosis:#}");
    let role = "`clusterprofile-conformance rbac` prints the role";
    assert_checks(&diagnosis, &[("hub/profiles", "error", role)]);

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
    lab.server().add_user(User::with_rules("some", some));
    let diagnosis = lab.diagnosis("some", "--observe 0s").await;
    assert_eq!(diagnosis["exitCode"], 0, "{diagnosis:#}");
    assert_checks(
        &diagnosis,
        &[
            ("hub/api", "missing", "may not read their CRD"),
            (
                "evidence/namespaces",
                "missing",
                "the runner may not read Namespaces, which leaves",
            ),
            (
                "evidence/probe",
                "missing",
                "not even in a dry run, which leaves 1 MUST rule unjudged → grant it",
            ),
            ("evidence/secrets", "ok", "may list the consumers' Secrets"),
        ],
    );

    // A run without permission to watch cannot begin.
    lab.server()
        .add_user(User::with_rules("lists", vec![profiles(&["get", "list"])]));
    let diagnosis = lab.diagnosis("lists", "").await;
    assert_checks(
        &diagnosis,
        &[("hub/profiles", "error", "may list them, but not watch them")],
    );
    let run = lab.call("lists", "run --observe 1s").await;
    assert_eq!(diagnosis["exitCode"], run.code.expect("it exits"), "{}", run.err);
    assert_eq!(lab.diagnosis("lists", "--observe 0s").await["exitCode"], 0);
}

#[test]
fn a_hub_that_hangs_or_is_away_ends_the_doctor_soon() {
    let folder = Folder::new();
    let hanging = silent_hub(&folder);
    let printed = unwrapped(&expect(
        4,
        format!("doctor --kubeconfig {hanging} --request-timeout 1s"),
    ));
    let parts = [
        "no answer came for 1 s",
        "give a slow hub more time with --request-timeout",
    ];
    assert_contains(&printed, &parts);
    let end = "not ready: 1 error to fix before a run can begin (exit code 4)";
    assert!(printed.ends_with(end), "{printed}");

    let away = format!("doctor --kubeconfig {}", folder.kubeconfig(1));
    assert_contains(&expect(4, &away), &["failed to reach the hub"]);
    assert_contains(
        &expect(2, format!("{away} --context there")),
        &["its contexts: `here`"],
    );
    assert_contains(&expect(4, "doctor"), &["--hub lab"]);
    let plugin = "exec: {apiVersion: client.authentication.k8s.io/v1, command: sleep, args: ['60'], \
                  interactiveMode: Never}";
    let hanging = folder.kubeconfig_with("server: 'http://127.0.0.1:1'", plugin);
    let printed = expect(4, format!("doctor --kubeconfig {hanging} --request-timeout 1s"));
    assert_contains(&printed, &["credential plugin did not end within 3 s"]);
}

#[test]
fn all_errors_in_the_files_of_a_run_are_reported_together() {
    let folder = Folder::new();
    let kubeconfig = folder.kubeconfig(1);
    let members = folder.write("members.yaml", "fleet/lisbon: {kubeconfg: lisbon.kubeconfig}\n");
    let driver = folder.write("driver.yaml", "hooks: {restart: [no-such-program-at-all]}\n");
    let log = folder.write("audit.log", "this is\nno audit log\n");
    let waivers = folder.write("waivers.yaml", "waivers: {}\n");
    let (junit, providers) = (folder.flag("no/such/report.xml"), folder.flag("none.yaml"));
    let done = call(format!(
        "doctor --format json --kubeconfig {kubeconfig} --members {members} --driver {driver} --audit-log {log} \
         --waivers {waivers} --junit {junit} --provider-file {providers}"
    ));
    // As of a run, which reads its files before it asks the hub.
    assert_eq!(done.code, Some(2), "{}{}", done.out, done.err);
    let diagnosis: Value = serde_json::from_str(&done.out).expect("JSON");
    let checks = [
        ("hub/reached", "error", "failed to reach the hub"),
        ("evidence/members", "error", "did you mean `kubeconfig`?"),
        ("evidence/plugins", "error", "none.yaml"),
        (
            "evidence/driver",
            "error",
            "hook restart: its command `no-such-program-at-all` is not on the PATH",
        ),
        ("evidence/audit-log", "error", "is not an audit log"),
        ("files/waivers", "error", "waivers.yaml"),
        ("files/outputs", "error", "create the folder"),
    ];
    assert_checks(&diagnosis, &checks);
    for (name, ..) in checks {
        assert!(!check(&diagnosis, name).1.ends_with("→ "), "{name} has no remedy");
    }
    assert!(!folder.path("no").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn valid_files_are_reported_too() {
    let (lab, ..) = ServedLab::with_manager().await;
    let folder = &lab.folder;
    let fake_member = FakeMember::new("lisbon", Clock::system(), MemberState::default());
    fake_member.admit("a-member-token", "asker", FakeMember::ASKER);
    let served = fake_member.serve().await.expect("a port");
    let ca = base64::Engine::encode(&base64::prelude::BASE64_STANDARD, served.ca());
    let cluster = format!("server: '{}', certificate-authority-data: {ca}", served.server());
    let token = "token: a-member-token";
    folder.write("lisbon.kubeconfig", kubeconfig(&cluster, token));
    folder.write(
        "oslo.kubeconfig",
        kubeconfig("server: 'https://127.0.0.1:1'", token),
    );
    let text = "fleet/lisbon: {kubeconfig: lisbon.kubeconfig}\nfleet/oslo: {kubeconfig: oslo.kubeconfig}\n";
    let members = folder.write("members.yaml", text);
    let driver = folder.write("driver.yaml", "hooks: {join: [sh], leave: [sh], restart: [sh]}\n");
    let json = folder.flag("r.json");
    let flags = format!(
        "--members {members} --driver {driver} --audit-log {ROOT}/fixtures/recorded/audit.log --json {json}"
    );
    let diagnosis = lab.diagnosis("conformance", &flags).await;
    assert_eq!(diagnosis["exitCode"], 0, "{diagnosis:#}");
    assert_checks(
        &diagnosis,
        &[
            ("evidence/members", "warn", "fleet/oslo (context here of"),
            (
                "evidence/driver",
                "ok",
                "the hooks join, leave, restart, on fake members",
            ),
            ("evidence/mutations", "missing", "add --allow-mutations"),
            // It was recorded long ago.
            ("evidence/audit-log", "warn", "the audit log's last event is"),
            ("files/outputs", "ok", "1 file can be written"),
        ],
    );
    assert!(
        diagnosis.to_string().contains("1 of 2 members answer"),
        "{diagnosis:#}"
    );
    assert!(!folder.path("r.json").exists());
}

#[test]
fn it_reads_the_configuration_of_the_run() {
    let folder = Folder::new();
    // The format is for a run alone.
    let lines = "hub: lab\nmanager: reference\nedition: 2026-09\nobserve: 10m\nformat: github";
    let config = folder.config(lines);
    let printed = unwrapped(&expect(0, format!("doctor --config {config}")));
    assert_contains(
        &printed,
        &["watches the profiles for 10m", "rules of edition 2026-09"],
    );
    let shown = expect(0, format!("doctor --config {config} --print-config"));
    assert_contains(&shown, &["observe: 10m"]);
}
