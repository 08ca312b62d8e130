//! `doctor`: its checks and remedies, and that it changes nothing on the hub.

use apiserver::{PolicyRule, User};
use collect::clock::Clock;
use evidence::Kind;
use lab::{
    hub::Hub,
    manager::hub_definitions,
    member::{FakeMember, MemberState},
};

use super::{command::kubeconfig, network::silent_hub, served_lab::ServedLab, *};

impl ServedLab {
    /// The JSON that the doctor prints for a user. It exits with that code, and reports it.
    async fn diagnosis(&self, code: i32, user: &str, flags: &str) -> Value {
        let done = self.call(user, &format!("doctor --format json {flags}")).await;
        let diagnosis = serde_json::from_str::<Value>(&done.out);
        let diagnosis = diagnosis.unwrap_or_else(|_| panic!("{}{}", done.out, done.err));
        assert_eq!(done.code, Some(code), "{diagnosis:#}");
        assert_eq!(diagnosis["exitCode"], code, "{diagnosis:#}");
        diagnosis
    }
}

/// Asserts that the worst check of each name has that state, and that part in its fact or its remedy.
#[track_caller]
fn assert_checks(diagnosis: &Value, expected: &[(&str, &str, &str)]) {
    let order = ["ok", "missing", "warn", "error"];
    let checks = diagnosis["checks"].as_array().expect("checks");
    for (name, state, part) in expected {
        let named = checks.iter().filter(|check| check["check"] == *name);
        let worst = named.max_by_key(|check| order.iter().position(|state| check["state"] == *state));
        let worst = worst.unwrap_or_else(|| panic!("no {name}: {diagnosis:#}"));
        assert_eq!(worst["state"], *state, "{worst:#}");
        assert_contains(&format!("{} → {}", worst["fact"], worst["remedy"]), &[part]);
        let has_remedy = *state != "error" || worst["remedy"].is_string();
        assert!(has_remedy, "no remedy: {worst:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ready_hub_is_reported_in_80_columns_and_not_changed() {
    let (lab, ..) = ServedLab::with_manager().await;
    let done = lab.call("conformance", "doctor").await;
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""), "{}", done.out);
    for line in done.out.lines() {
        assert!(line.chars().count() <= 80, "too wide: {line}");
    }
    let parts = [
        "context lab at https://127.0.0.1:",
        "answers, Kubernetes v1.36.0+lab",
        "it knows the runner as conformance",
        "a run collects namespaces, a watch for 5m, the Secrets of consumers, dry runs, managedFields",
        "of 1 manager: reference-manager",
        "field manager reference-manager: labels 18, spec 18, status 18",
        "pass --cluster-manager-field-manager reference-manager",
        "ready: a run can judge",
    ];
    assert_contains(&done.out, &parts);

    let mut events = lab.server().audit_events();
    events.retain(|event| event["user"]["username"] == "conformance");
    assert!(events.len() > 10, "{events:?}");
    for event in events {
        let (verb, uri) = (&event["verb"], event["requestURI"].as_str().expect("a URI"));
        let is_review = uri.ends_with("/selfsubjectaccessreviews") || uri.ends_with("/selfsubjectreviews");
        let is_read = verb == "get" || verb == "list" || (verb == "create" && is_review);
        assert!(is_read && !uri.contains("secrets"), "{verb} {uri}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_predicts_how_many_rules_a_run_judges() {
    let (lab, ..) = ServedLab::with_manager().await;
    let report = lab.folder.flag("report.json");
    for flags in [
        "--observe 0s",
        "--observe 0s --no-probe --feature consumer-secrets",
        "--observe 0s --edition 2026-09 identity/ updates/",
    ] {
        let diagnosis = lab.diagnosis(0, "conformance", flags).await;
        let run = format!("run {flags} --json {report}");
        lab.call("conformance", &run).await;
        let report = lab.folder.json("report.json");
        let is_skipped = |verdict: &&Value| verdict["verdict"] == "skipped";
        let (skipped, judged): (Vec<_>, Vec<_>) = verdicts(&report).partition(is_skipped);
        for (level, key) in [("MUST", "must"), ("SHOULD", "should"), ("MAY", "may")] {
            let count = judged.iter().filter(|verdict| verdict["level"] == level).count();
            assert_eq!(diagnosis["rules"]["judged"][key], count, "{flags} {level}");
        }
        // A flag can only add rules that the run skipped.
        for gain in diagnosis["gains"].as_array().expect("gains") {
            for rule in gain["rules"].as_array().expect("rules") {
                assert!(skipped.iter().any(|verdict| verdict["rule"] == *rule), "{gain:#}");
            }
        }
    }
    let diagnosis = lab.diagnosis(0, "conformance", "--observe 0s").await;
    let gains = diagnosis["gains"].as_array().expect("gains").iter();
    let flags: Vec<&str> = gains.filter_map(|gain| gain["with"].as_str()).collect();
    let files = "--members FILE, --provider-file FILE, --audit-log FILE, --driver FILE";
    let expected = format!("--observe 5m, {files}, --feature consumer-secrets");
    assert_eq!(flags.join(", "), expected);
    let members = &diagnosis["gains"][1];
    for rule in members["rules"].as_array().expect("rules") {
        let rule = rules::find(rule.as_str().expect("an id")).expect("a rule");
        assert!(rule.facts.needs.contains(&Kind::Members), "{members:#}");
    }
    let leaves = format!("leaves {} MUST", members["must"]);
    assert_checks(&diagnosis, &[("evidence/members", "missing", &leaves)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn hub_without_the_crd_says_how_to_install_it() {
    let lab = ServedLab::new(Hub::lab_with(Clock::system(), &[]).await.expect("a hub")).await;
    let diagnosis = lab.diagnosis(4, "conformance", "").await;
    let install = "install the CRD: `clusterprofile-conformance crd | kubectl apply -f -`";
    assert_checks(&diagnosis, &[("hub/api", "error", install)]);
    assert_eq!(diagnosis["rules"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn hub_without_profiles_is_not_ready() {
    let hub = Hub::lab_with(Clock::system(), &hub_definitions(&[])).await;
    let lab = ServedLab::new(hub.expect("a hub")).await;
    let diagnosis = lab.diagnosis(3, "conformance", "").await;
    assert_checks(&diagnosis, &[("hub/profiles", "error", "--wait")]);
    let run = lab.call("conformance", "run --observe 1s").await;
    assert_eq!(run.code, Some(3), "{}", run.err);
    assert_contains(&run.err, &["the hub has no ClusterProfile; let the manager"]);
    let waiting = lab.call("conformance", "run --observe 1s --wait").await;
    assert_eq!(waiting.code, Some(3), "{}", waiting.err);
    assert_contains(&waiting.out, &["there is no ClusterProfile to examine"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn scope_without_objects_is_not_ready() {
    let (lab, ..) = ServedLab::with_manager().await;
    for (flags, code) in [("", 2), ("--wait", 0), ("-n lab-fleet", 2)] {
        let flags = format!("-n nope {flags}");
        let diagnosis = lab.diagnosis(code, "conformance", &flags).await.to_string();
        let is_reported = diagnosis.contains("no ClusterProfile in namespace nope");
        assert_eq!(is_reported, code == 2, "{flags}: {diagnosis}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_permissions_are_reported_with_the_role_that_grants_them() {
    let (lab, ..) = ServedLab::with_manager().await;
    let diagnosis = lab.diagnosis(4, "viewer", "").await;
    let role = "`clusterprofile-conformance rbac` prints the role";
    assert_checks(&diagnosis, &[("hub/profiles", "error", role)]);

    let rule = |group: &str, resource: &str, verbs: &[&str]| PolicyRule {
        verbs: verbs.iter().map(|verb| (*verb).to_owned()).collect(),
        api_groups: vec![group.to_owned()],
        resources: vec![resource.to_owned()],
        namespaces: vec!["*".to_owned()],
        ..PolicyRule::default()
    };
    let profiles = |verbs| rule("multicluster.x-k8s.io", "clusterprofiles", verbs);
    let some = vec![
        profiles(&["get", "list", "watch"]),
        rule("", "secrets", &["list"]),
    ];
    lab.server().add_user(User::with_rules("some", some));
    let diagnosis = lab.diagnosis(0, "some", "--observe 0s").await;
    let namespaces = "the runner may not read Namespaces, which leaves";
    let probe = "not even in a dry run, which leaves 1 MUST rule unjudged";
    let checks = [
        ("hub/api", "missing", "may not read their CRD"),
        ("evidence/namespaces", "missing", namespaces),
        ("evidence/probe", "missing", probe),
        ("evidence/collected", "ok", "the Secrets of consumers"),
    ];
    assert_checks(&diagnosis, &checks);

    // A run without permission to watch cannot begin.
    let lists = User::with_rules("lists", vec![profiles(&["get", "list"])]);
    lab.server().add_user(lists);
    let diagnosis = lab.diagnosis(4, "lists", "").await;
    let watch = ("hub/profiles", "error", "may list them, but not watch them");
    assert_checks(&diagnosis, &[watch]);
    let run = lab.call("lists", "run --observe 1s").await;
    assert_eq!(run.code, Some(4), "{}", run.err);
    lab.diagnosis(0, "lists", "--observe 0s").await;
}

#[test]
fn hub_that_hangs_or_is_unreachable_ends_the_doctor_soon() {
    let folder = Folder::new();
    let hanging = silent_hub(&folder);
    let advice = "give a slow hub more time with --request-timeout";
    let parts = ["no answer came for 1 s", advice, "not ready: 1 error"];
    let doctor = format!("doctor --kubeconfig {hanging} --request-timeout 1s");
    expect_output(4, doctor, &parts);
    let away = "doctor --kubeconfig unreachable.kubeconfig";
    expect_output(4, away, &["failed to reach the hub"]);
    expect_output(2, format!("{away} --context there"), &["its contexts: `here`"]);
    expect_output(4, "doctor", &["--hub lab"]);
}

#[test]
fn all_errors_in_the_files_of_a_run_are_reported_together() {
    let folder = Folder::new();
    let members = folder.write("members.yaml", "fleet/lisbon: {kubeconfg: lisbon.kubeconfig}\n");
    let driver = folder.write("driver.yaml", "hooks: {restart: [no-such-program-at-all]}\n");
    let log = folder.write("audit.log", "this is\nno audit log\n");
    let waivers = folder.write("waivers.yaml", "waivers: {}\n");
    let junit = folder.flag("no/such/report.xml");
    let doctor = format!(
        "doctor --kubeconfig unreachable.kubeconfig --members {members} --driver {driver} \
         --audit-log {log} --waivers {waivers} --junit {junit} --provider-file none.yaml"
    );
    let done = call(format!("{doctor} --format json"));
    // The exit code of a run, which reads its files before it queries the hub.
    assert_eq!(done.code, Some(2), "{}{}", done.out, done.err);
    let diagnosis: Value = serde_json::from_str(&done.out).expect("JSON");
    let hook = "hook restart: its command `no-such-program-at-all` is not on the PATH";
    let checks = [
        ("hub/reached", "error", "failed to reach the hub"),
        ("evidence/members", "error", "did you mean `kubeconfig`?"),
        ("evidence/plugins", "error", "none.yaml"),
        ("evidence/driver", "error", hook),
        // A run continues without it.
        ("evidence/audit-log", "warn", "is not an audit log"),
        ("files/waivers", "error", "waivers.yaml"),
        ("files/outputs", "error", "create the folder"),
    ];
    assert_checks(&diagnosis, &checks);
    assert!(!folder.path("no").exists());
    expect_output(
        2,
        doctor,
        &["not ready: 6 errors to fix before a run can begin (exit code 2)"],
    );
}

/// A pipe whose writer stays silent.
#[cfg(unix)]
#[test]
fn audit_log_that_hangs_ends_the_doctor_soon() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let mut doctor =
        command("doctor --kubeconfig unreachable.kubeconfig --request-timeout 1s --audit-log /dev/stdin");
    let done = done(doctor.stdin(reader));
    drop(writer);
    assert_eq!(done.code, Some(4), "{}{}", done.out, done.err);
    assert_contains(&done.out, &["the audit log cannot be read in 3s"]);
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
    let gone = kubeconfig("server: 'https://127.0.0.1:1'", token);
    folder.write("oslo.kubeconfig", gone);
    let text = "fleet/lisbon: {kubeconfig: lisbon.kubeconfig}\nfleet/oslo: {kubeconfig: oslo.kubeconfig}\n";
    let members = folder.write("members.yaml", text);
    let driver = folder.write("driver.yaml", "hooks: {join: [sh], leave: [sh], restart: [sh]}\n");
    let json = folder.flag("r.json");
    let files = format!("--members {members} --driver {driver} --json {json}");
    let log = format!("--audit-log {ROOT}/fixtures/recorded/audit.log");
    let diagnosis = lab.diagnosis(0, "conformance", &format!("{files} {log}")).await;
    let checks = [
        ("evidence/members", "warn", "fleet/oslo (context here of"),
        ("evidence/mutations", "missing", "add --allow-mutations"),
        // It was recorded long ago.
        ("evidence/audit-log", "warn", "the audit log's last event is"),
    ];
    assert_checks(&diagnosis, &checks);
    assert_contains(&diagnosis.to_string(), &["1 of 2 members answer"]);
    assert!(!folder.path("r.json").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn members_that_do_not_answer_judge_no_rule() {
    let (lab, ..) = ServedLab::with_manager().await;
    let gone = kubeconfig("server: 'https://127.0.0.1:1'", "token: a-member-token");
    lab.folder.write("gone.kubeconfig", gone);
    let text = "fleet/lisbon: {kubeconfig: gone.kubeconfig}\nfleet/oslo: {kubeconfig: gone.kubeconfig}\n";
    let members = lab.folder.write("members.yaml", text);
    let without = lab.diagnosis(0, "conformance", "").await;
    let diagnosis = lab
        .diagnosis(0, "conformance", &format!("--members {members}"))
        .await;
    assert_eq!(diagnosis["rules"], without["rules"]);
    let checks = diagnosis["checks"].as_array().expect("checks").iter();
    let of_members = Vec::from_iter(checks.filter(|check| check["check"] == "evidence/members"));
    assert!(
        of_members.iter().all(|check| check["state"] == "warn"),
        "{of_members:#?}"
    );
    let facts = Vec::from_iter(of_members.iter().filter_map(|check| check["fact"].as_str()));
    let leaves = format!("which leaves {} MUST", without["gains"][0]["must"]);
    assert_contains(
        &facts.join("\n"),
        &["0 of 2 members answer", &leaves, "fleet/oslo"],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_reads_the_configuration_of_the_run() {
    let (lab, ..) = ServedLab::with_manager().await;
    // The format is for a run alone.
    let config = "edition: 2026-09\nobserve: 10m\nformat: github";
    let config = lab.folder.config(config);
    let doctor = format!("doctor --config {config}");
    let done = lab.call("conformance", &doctor).await;
    assert_eq!(done.code, Some(0), "{}{}", done.out, done.err);
    assert_contains(&done.out, &["a watch for 10m", "rules of edition 2026-09"]);
    let test_hub = "doctor --hub lab --manager reference";
    refused(test_hub, &["a test hub needs no doctor"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn unusable_audit_log_is_not_collected() {
    let (lab, ..) = ServedLab::with_manager().await;
    let without = lab.diagnosis(0, "conformance", "--observe 0s").await;
    let of_pods = json!({
        "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata", "auditID": "a", "verb": "list",
        "stage": "ResponseComplete", "stageTimestamp": "2026-11-20T10:00:00Z", "objectRef": {"resource": "pods"},
    });
    for (text, part) in [
        ("this is\nno audit log\n", "is not an audit log"),
        ("", "holds no event"),
        (&*format!("{of_pods}\n"), "holds no request on ClusterProfiles"),
    ] {
        let log = lab.folder.write("audit.log", text);
        let flags = format!("--observe 0s --audit-log {log}");
        let diagnosis = lab.diagnosis(0, "conformance", &flags).await;
        assert_checks(&diagnosis, &[("evidence/audit-log", "warn", part)]);
        assert_eq!(diagnosis["rules"], without["rules"]);
        let collected = |diagnosis: &Value| {
            let checks = diagnosis["checks"].as_array().expect("checks").iter();
            let mut collected = checks.filter(|check| check["check"] == "evidence/collected");
            collected.next().cloned()
        };
        assert_eq!(collected(&diagnosis), collected(&without));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn consumer_without_a_driver_shows_what_a_driver_adds() {
    let (lab, ..) = ServedLab::with_manager().await;
    let diagnosis = lab.diagnosis(0, "conformance", "--role consumer").await;
    assert_eq!(diagnosis["rules"]["judged"]["must"], 0, "{diagnosis:#}");
    let gains = diagnosis["gains"].as_array().expect("gains");
    let mut drivers = gains.iter().filter(|gain| gain["with"] == "--driver FILE");
    let driver = drivers.next().expect("a driver");
    assert_eq!(drivers.next(), None, "{gains:#?}");
    let needs_calls = |rule: &Value| {
        let rule = rules::find(rule.as_str().expect("an id")).expect("a rule");
        rule.facts.needs.contains(&Kind::PluginCalls) || rule.facts.needs.contains(&Kind::MemberCalls)
    };
    let mut rules = driver["rules"].as_array().expect("rules").iter();
    assert!(rules.any(needs_calls), "{driver:#}");
    let done = lab.call("conformance", "doctor --role consumer").await;
    assert_contains(&done.out, &["if the consumer claims the features"]);
}

/// The run reads the log at its end, but checks before it begins that the log exists.
#[tokio::test(flavor = "multi_thread")]
async fn missing_log_of_the_consumer_is_refused_at_start() {
    let (lab, ..) = ServedLab::with_manager().await;
    let consumer = "consumer: {namespaces: [default], providers: [p], recorder: r.json, logs: [gone.log]}\n";
    let driver = lab.folder.write("driver.yaml", consumer);
    let line = format!("run --role consumer --driver {driver} --allow-mutations");
    let done = lab.call("conformance", &line).await;
    assert_eq!(done.code, Some(2), "{}", done.err);
    let advice = "gone.log: start the consumer first";
    assert_contains(&done.err, &["consumer.logs: there is no file", advice]);
}
