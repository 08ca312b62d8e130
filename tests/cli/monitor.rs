//! `monitor`: what the Deployment of `ci/in-cluster/monitor` relies on, and what it refuses.

use std::{collections::BTreeSet, net::TcpListener};

use regex::Regex;

use super::*;

const ACCOUNT: &str = "clusterprofile-conformance-monitor:clusterprofile-conformance-monitor";

fn manifest(name: &str) -> String {
    let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("ci/in-cluster/monitor");
    fs::read_to_string(base.join(name)).expect(name)
}

#[test]
fn the_roles_of_the_base_are_those_of_rbac() {
    let printed = expect(0, &["rbac", "--monitor", "--bind", ACCOUNT]);
    assert_eq!(
        manifest("setup/rbac.yaml"),
        printed,
        "write it anew: clusterprofile-conformance rbac --monitor --bind {ACCOUNT} >ci/in-cluster/monitor/setup/rbac.yaml"
    );
}

#[test]
fn the_base_runs_one_pod_of_this_version() {
    let deployment: Value = serde_saphyr::from_str(&manifest("deployment.yaml")).expect("YAML");
    assert_eq!(deployment["spec"]["replicas"], 1);
    let pod = &deployment["spec"]["template"]["spec"];
    assert_eq!(
        pod["serviceAccountName"],
        ACCOUNT.split_once(':').expect("a name").1
    );
    let container = &pod["containers"][0];
    let image = concat!("localhost/clusterprofile-conformance:", env!("CARGO_PKG_VERSION"));
    assert_eq!(container["image"], image);
}

#[test]
fn a_port_in_use_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let done = call(&[
        "monitor",
        "--hub",
        "lab",
        "--manager",
        "reference",
        "--listen",
        &address,
    ]);
    assert_eq!(done.code, Some(4), "{}", done.err);
    let told = format!("failed to listen at {address}: choose another address with --listen");
    assert!(done.err.contains(&told), "{}", done.err);
}

#[test]
fn wrong_values_are_refused() {
    for (arguments, told) in [
        (["--window", "5s"], "give a window from 1m to 24h"),
        (["--window", "2d"], "give a window from 1m to 24h"),
        (["--listen", "8080"], "invalid socket address"),
        (["--kubeconfig", "nowhere.kubeconfig"], "nowhere.kubeconfig"),
    ] {
        let done = call(&[&["monitor"][..], &arguments].concat());
        assert!(matches!(done.code, Some(2 | 4)), "{arguments:?}: {:?}", done.code);
        assert!(done.err.contains(told), "{arguments:?}: {}", done.err);
    }
}

#[test]
fn the_configuration_that_it_prints_is_one_that_it_reads() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("conformance.yaml").display().to_string();
    let flags = ["--strict", "--namespace", "fleet", "--window", "30m"];
    let printed = expect(0, &[&["monitor", "--print-config"][..], &flags].concat());
    fs::write(&file, &printed).expect("it is written");
    let again = expect(0, &["monitor", "--print-config", "--config", &file]);
    assert_eq!(again, printed);
    assert!(printed.contains("strict: true"), "{printed}");
}

/// The metrics that a text names.
fn metrics(text: &str) -> BTreeSet<String> {
    let names = Regex::new("clusterprofile_conformance_[a-z_]+").expect("a pattern");
    let histogram = |name: &str| name.trim_end_matches("_bucket").to_owned();
    names
        .find_iter(text)
        .map(|found| histogram(found.as_str()))
        .collect()
}

/// A typing error would make an alert that never fires.
#[test]
fn the_alerts_and_the_dashboard_name_metrics_that_are_documented() {
    let page =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/monitor.md")).expect("a page");
    let page = page.replace("`…_", "`clusterprofile_conformance_");
    let documented = metrics(&page);
    for file in ["prometheus/rules.yaml", "grafana/dashboard.json"] {
        for name in metrics(&manifest(file)) {
            assert!(
                documented.contains(&name),
                "{file} names {name}, docs/monitor.md does not"
            );
        }
    }
}
