//! The Deployment that watches: `ci/in-cluster/monitor`.

use std::time::Duration;

use tempfile::TempDir;
use tokio::{
    runtime::Runtime,
    time::{sleep, timeout},
};

use super::{
    hub::{self, FLEET, PROFILE},
    kubectl::Cluster,
    kustomization::copy_of,
};

const NAME: &str = "clusterprofile-conformance-monitor";
const NAMESPACE: &str = NAME;
const LABEL: &str = "app.kubernetes.io/name=clusterprofile-conformance-monitor";
/// A rule without a grace, and one that grants a new fault 2 min.
const BUDGET: &str = "updates/status-writes-within-budget";
const MISLABELLED: &str = "identity/manager-label-matches";

/// How long to wait for anything: a rule grants a new fault 2 min, and the machine may be loaded.
const PATIENCE: Duration = Duration::from_secs(240);
/// How soon a broken rule is to be told.
const PROMISED: Duration = Duration::from_secs(30);

/// Waits until `look` finds something. If it never does, tells what the Pods say.
fn wait_for<T>(cluster: &Cluster, what: &str, look: impl FnMut() -> Option<T>) -> T {
    found_within(PATIENCE, look).unwrap_or_else(|| panic!("in vain: {what}\n{}", state(cluster)))
}

/// What `look` finds within a time.
pub(super) fn found_within<T>(time: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let looking = async {
        loop {
            if let Some(found) = look() {
                return found;
            }
            sleep(Duration::from_millis(250)).await;
        }
    };
    let runtime = Runtime::new().expect("a runtime");
    runtime.block_on(async { timeout(time, looking).await }).ok()
}

/// The Pods, their logs and their series: whoever reads of a failure has no cluster to look at.
fn state(cluster: &Cluster) -> String {
    let told = |arguments: &[&str]| {
        let output = cluster.output(&[arguments, &["--namespace", NAMESPACE]].concat(), "");
        let texts = [output.stdout, output.stderr].concat();
        format!("{}\n{}", arguments.join(" "), String::from_utf8_lossy(&texts))
    };
    let mut state = told(&["get", "pods", "--selector", LABEL, "--output", "wide"]);
    state += &told(&["logs", "--selector", LABEL, "--prefix", "--tail", "-1"]);
    for pod in pods(cluster) {
        let metrics = get(cluster, &pod, "/metrics").unwrap_or_default();
        let is_told = |line: &&str| !line.starts_with('#') && !line.contains("_rule_verdict{");
        let lines = metrics.lines().filter(is_told);
        state += &format!("{pod}:\n{}\n", lines.collect::<Vec<_>>().join("\n"));
    }
    state
}

/// What a Pod serves; none if it does not.
fn get(cluster: &Cluster, pod: &str, path: &str) -> Option<String> {
    let path = format!("/api/v1/namespaces/{NAMESPACE}/pods/{pod}:8080/proxy{path}");
    let answer = cluster.output(&["get", "--raw", &path], "");
    let is_there = answer.status.success();
    is_there.then(|| String::from_utf8(answer.stdout).expect("UTF-8"))
}

/// The names of the monitor's Pods.
fn pods(cluster: &Cluster) -> Vec<String> {
    let arguments = [
        "get",
        "pods",
        "--namespace",
        NAMESPACE,
        "--selector",
        LABEL,
        "--output",
        "name",
    ];
    let names = cluster.output(&arguments, "").stdout;
    let names = String::from_utf8(names).expect("UTF-8");
    let names = names.lines().filter_map(|line| line.strip_prefix("pod/"));
    names.map(str::to_owned).collect()
}

/// The series of a metric, with their values.
fn series(metrics: &str, name: &str) -> Vec<(String, f64)> {
    let prefix = format!("clusterprofile_conformance_{name}");
    let lines = metrics.lines().filter(|line| line.starts_with(&prefix));
    let read = lines.filter_map(|line| {
        let (labels, value) = line.rsplit_once(' ')?;
        Some((labels[prefix.len()..].to_owned(), value.parse().ok()?))
    });
    read.collect()
}

/// Whether the expression of the alert on broken rules holds of a rule.
fn is_broken(metrics: &str, rule: &str) -> bool {
    let rule = format!("rule=\"{rule}\"");
    let findings = series(metrics, "findings{");
    findings
        .iter()
        .any(|(labels, value)| labels.contains("verdict=\"fail\"") && labels.contains(&rule) && *value > 0.0)
}

/// The metrics of a Pod that has verdicts.
fn fresh(cluster: &Cluster, pod: &str) -> Option<String> {
    let metrics = get(cluster, pod, "/metrics")?;
    let is_fresh = metrics.contains("clusterprofile_conformance_verdicts_fresh 1\n");
    is_fresh.then_some(metrics)
}

pub fn tells_of_a_broken_rule_and_survives_its_pod(cluster: &Cluster) {
    hub::prepare(cluster);
    let folder = TempDir::new().expect("a folder");
    let base = folder.path().join("base");
    copy_of("in-cluster/monitor", &base);
    let setup = base.join("setup");
    let [base, setup] = [&base, &setup].map(|path| path.to_str().expect("UTF-8"));
    cluster.kubectl(&[
        "delete",
        "--ignore-not-found",
        "deployment",
        NAME,
        "--namespace",
        NAMESPACE,
    ]);
    cluster.kubectl(&["apply", "--kustomize", setup]);
    cluster.kubectl(&["apply", "--kustomize", base]);
    rolled_out(cluster);

    let (first, metrics) = fresh_pod(cluster, "");
    assert!(!is_broken(&metrics, BUDGET), "{metrics}");
    let page = get(cluster, &first, "/").expect("the report");
    assert!(page.contains("<html"), "{page}");

    // What a monitor does not see, for its watch is interrupted meanwhile, it cannot tell.
    let first = (0..3).find_map(|_| tells_of_a_broken_rule(cluster));
    let first = first.unwrap_or_else(|| panic!("no Pod tells of a broken rule\n{}", state(cluster)));
    wait_for(cluster, "the bucket is overdrawn", || {
        let tokens = series(&fresh(cluster, &first)?, "status_write_tokens{");
        tokens.into_iter().find(|(_, left)| *left < 0.0)
    });

    // What happens while no Pod runs is on the next list.
    cluster.kubectl(&[
        "delete",
        "pod",
        &first,
        "--namespace",
        NAMESPACE,
        "--grace-period=0",
        "--force",
    ]);
    hub::label(cluster, "another");
    let (second, _) = fresh_pod(cluster, &first);
    wait_for(cluster, "the next Pod tells of what happened meanwhile", || {
        fresh(cluster, &second).filter(|metrics| is_broken(metrics, MISLABELLED))
    });
    hub::label(cluster, "reference-manager");
    rolled_out(cluster);
    let state = state(cluster);
    assert!(!state.contains("panicked"), "{state}");
    cluster.kubectl(&["delete", "--kustomize", base]);
    cluster.kubectl(&["delete", "--kustomize", setup]);
}

/// The Pod that has verdicts, other than that one, and its metrics.
fn fresh_pod(cluster: &Cluster, other_than: &str) -> (String, String) {
    wait_for(cluster, "a Pod has verdicts", || {
        let mut pods = pods(cluster).into_iter().filter(|pod| pod != other_than);
        pods.find_map(|pod| fresh(cluster, &pod).map(|metrics| (pod, metrics)))
    })
}

/// Has the monitor see a broken rule. Returns its Pod, if it tells of that in time.
fn tells_of_a_broken_rule(cluster: &Cluster) -> Option<String> {
    let (first, _) = fresh_pod(cluster, "");
    write_too_often(cluster);
    let told = found_within(PROMISED, || {
        fresh(cluster, &first).filter(|metrics| is_broken(metrics, BUDGET))
    });
    if told.is_none() {
        eprintln!("{first} did not tell of a broken rule\n{}", state(cluster));
    }
    told.map(|_| first)
}

/// Writes a status more often than its budget allows, as the manager: a person's writes spend nothing of it.
fn write_too_often(cluster: &Cluster) {
    for number in 0..15 {
        let status = format!(r#"{{"status": {{"version": {{"kubernetes": "v1.34.{number}"}}}}}}"#);
        let patch = [
            "patch",
            "clusterprofile",
            PROFILE,
            "--namespace",
            FLEET,
            "--subresource=status",
            "--field-manager=reference-manager",
        ];
        cluster.kubectl(&[&patch[..], &["--type=merge", "--patch", &status]].concat());
    }
}

/// Waits until the Pod is ready.
fn rolled_out(cluster: &Cluster) {
    let deployment = format!("deployment/{NAME}");
    cluster.kubectl(&[
        "rollout",
        "status",
        &deployment,
        "--namespace",
        NAMESPACE,
        "--timeout=90s",
    ]);
}
