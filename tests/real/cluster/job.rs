//! Runs of the suite as a Job.

use serde_json::{Value, json};

use super::{
    Cluster,
    kustomization::{Kustomization, NAME, ROLE},
    label, prepare,
};
use crate::command::{Folder, assert_contains, call};

/// The exit code of a run that could not run, as on a node too busy to answer: its Pod is retried.
const COULD_NOT_RUN: i64 = 4;

struct Ended {
    /// The state of the container of the first Pod that decided, else of the first Pod.
    container: Value,
    log: String,
    decided: usize,
    unable: usize,
}

impl Ended {
    fn code(&self) -> i64 {
        self.container["exitCode"].as_i64().expect("a code")
    }

    fn message(&self) -> &str {
        self.container["message"].as_str().expect("a message")
    }

    /// The JSON report, which the log has before the list of rules.
    fn report(&self) -> Value {
        let from = self.log.find("{\n").expect("a report");
        let mut values = serde_json::Deserializer::from_str(&self.log[from..]).into_iter();
        values.next().expect("a report").expect("JSON")
    }
}

/// Waits for a condition of the Job, and looks at its Pods.
fn wait(cluster: &Cluster, condition: &str) -> Ended {
    let wait = format!("wait job/{NAME} --namespace {NAME} --for={condition} --timeout=90s");
    let waited = cluster.output(wait);
    let selector = format!("batch.kubernetes.io/job-name={NAME}");
    let pods = cluster.get(format!("pods --namespace {NAME} --selector {selector}"));
    let pods = pods["items"].as_array().expect("a list").iter();
    let state = |pod: &Value| pod["status"]["containerStatuses"][0]["state"].clone();
    let (unable, decided): (Vec<&Value>, Vec<&Value>) =
        pods.partition(|pod| state(pod)["terminated"]["exitCode"] == COULD_NOT_RUN);
    let pod = decided.first().or(unable.first()).expect("a Pod");
    let container = state(pod);
    assert!(waited.status.success(), "{condition}: {container:#}");
    if !decided.is_empty() {
        for retried in &unable {
            eprintln!("retried: {}", state(retried)["terminated"]["message"]);
        }
    }
    let name = pod["metadata"]["name"].as_str().expect("a name");
    Ended {
        container: container["terminated"].clone(),
        log: cluster.kubectl(format!("logs {name} --namespace {NAME}")),
        decided: decided.len(),
        unable: unable.len(),
    }
}

/// The exit code and the JSON report of a run outside of the cluster, as the Job's account.
fn run_from_outside(cluster: &Cluster, arguments: &[&str]) -> (i64, Value) {
    let folder = Folder::new();
    let text = cluster.kubectl("config view --raw --output json");
    let mut value: Value = serde_json::from_str(&text).expect("JSON");
    value["users"][0]["user"]["as"] = format!("system:serviceaccount:{NAME}:{NAME}").into();
    value["users"][0]["user"]["as-groups"] = json!(["system:serviceaccounts"]);
    let kubeconfig = folder.write("kubeconfig", value.to_string());
    let files = format!("--kubeconfig {kubeconfig} --json {}", folder.flag("report.json"));
    let done = call(format!("run {files} {}", arguments.join(" ")));
    (done.code.expect("a code").into(), folder.json("report.json"))
}

/// Takes away what two runs do not share: their times, and the way to the hub.
fn comparable(mut report: Value) -> Value {
    for of_the_run in ["/judgedAt", "/window", "/evidence/source", "/traffic"] {
        *report.pointer_mut(of_the_run).expect(of_the_run) = Value::Null;
    }
    report
}

pub fn reports(cluster: &Cluster) {
    prepare(cluster);
    let arguments = ["--observe=0s", "--feature=consumer-secrets"];
    Kustomization::with(&arguments).apply(cluster);
    let ended = wait(cluster, "condition=Complete");
    let (code, report) = run_from_outside(cluster, &arguments);
    assert_eq!(code, 0);
    assert_eq!(ended.code(), code);
    assert_eq!(comparable(ended.report()), comparable(report));
    assert!(ended.log.contains("\nno violation found: "), "{}", ended.log);
}

pub fn is_not_retried(cluster: &Cluster) {
    prepare(cluster);
    label(cluster, "another");
    Kustomization::with(&["--observe=0s"]).apply(cluster);
    let ended = wait(cluster, "condition=Failed");
    label(cluster, "reference-manager");
    assert_eq!(ended.code(), 1);
    assert_eq!(ended.decided, 1);
    let parts = [
        "\nnot conformant with",
        "FAIL [MUST explicit] identity/manager-label-matches",
    ];
    assert_contains(ended.message(), &parts);
    let job = cluster.get(format!("job {NAME} --namespace {NAME}"));
    let conditions = job["status"]["conditions"].as_array().expect("conditions");
    let failed = conditions.iter().find(|condition| condition["type"] == "Failed");
    assert_eq!(failed.expect("a condition")["reason"], "PodFailurePolicy");
}

pub fn lacks_the_role(cluster: &Cluster) {
    prepare(cluster);
    cluster.kubectl(format!("delete clusterrolebinding {ROLE} --ignore-not-found"));
    Kustomization::without_binding(&["--observe=0s"]).apply(cluster);
    // An administrator may grant it meanwhile, so it is tried again.
    let ended = wait(cluster, "jsonpath={.status.failed}=2");
    assert_eq!(ended.code(), COULD_NOT_RUN);
    let missing = "does not let the runner read clusterprofiles.multicluster.x-k8s.io";
    let parts = [missing, "the minimal RBAC role:", "  verbs: [list, watch]"];
    for text in [ended.message(), &ended.log] {
        assert_contains(text, &parts);
    }
    assert!(ended.unable >= 2);
}

pub fn is_restricted(cluster: &Cluster) {
    Kustomization::with(&["--observe=0s"]).apply(cluster);
    let refused = cluster.output(format!("run root --namespace {NAME} --image any --restart=Never"));
    let error = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success(), "{error}");
    assert_contains(&error, &["violates PodSecurity \"restricted"]);
}
