//! What each channel adds to a cluster, and that nothing of it stays: all objects are compared.

use std::{collections::BTreeMap, fs, time::Duration};

use serde_json::Value;
use tokio::{
    runtime::Runtime,
    time::{sleep, timeout},
};

use super::{Cluster, FLEET, prepare, suite};

/// Kinds that the cluster itself writes all the time.
const RESTLESS: &str = "componentstatuses endpoints endpointslices.discovery.k8s.io events events.events.k8s.io \
                        leases.coordination.k8s.io";

/// How long the cluster may take to delete what depends on something.
const PATIENCE: Duration = Duration::from_secs(120);

/// All objects of a cluster, by kind, namespace and name, without what the cluster itself changes in them.
type Objects = BTreeMap<String, Value>;

fn objects(cluster: &Cluster) -> Objects {
    let kinds = cluster.kubectl("api-resources --verbs=list,get --output name");
    let is_restless = |kind: &str| RESTLESS.split(' ').any(|known| known == kind);
    let kinds: Vec<&str> = kinds.lines().filter(|kind| !is_restless(kind)).collect();
    let list = cluster.get(format!("{} --all-namespaces", kinds.join(",")));
    let items = list["items"].as_array().expect("a list").iter().cloned();
    let keyed = items.map(|mut object| {
        object.as_object_mut().expect("an object").remove("status");
        let metadata = object["metadata"].as_object_mut().expect("metadata");
        for field in ["resourceVersion", "managedFields", "generation"] {
            metadata.remove(field);
        }
        let (kind, metadata) = (&object["kind"], &object["metadata"]);
        let key = format!("{kind} {}/{}", metadata["namespace"], metadata["name"]);
        (key, object)
    });
    keyed.collect()
}

/// The keys of objects that differ from the other's, or that only this one has.
fn difference<'a>(one: &'a Objects, other: &Objects) -> Vec<&'a str> {
    let differing = one.iter().filter(|(key, object)| other.get(*key) != Some(object));
    differing.map(|(key, _)| key.as_str()).collect()
}

/// Polls a condition until it is true, or until the time is over.
fn becomes_true(time: Duration, is_true: impl Fn() -> bool) -> bool {
    let polling = async {
        while !is_true() {
            sleep(Duration::from_millis(250)).await;
        }
    };
    let runtime = Runtime::new().expect("a runtime");
    runtime.block_on(async { timeout(time, polling).await }).is_ok()
}

/// Waits until the cluster has these objects again, and no others.
fn is_again(cluster: &Cluster, expected: &Objects, what: &str) {
    if !becomes_true(PATIENCE, || objects(cluster) == *expected) {
        let now = objects(cluster);
        let (left, gone) = (difference(&now, expected), difference(expected, &now));
        panic!("{what}: left over {left:#?}, gone {gone:#?}");
    }
}

/// The channels: a line of kubectl without its verb, and the output of the suite on its standard input.
const CHANNELS: [(&str, Option<&str>); 4] = [
    ("--kustomize ci/in-cluster/setup", None),
    ("--kustomize ci/in-cluster", None),
    (STDIN, Some("rbac --bind pipelines:clusterprofile-conformance")),
    (
        STDIN,
        Some("rbac -n lab-fleet --no-secrets --bind default:conformance"),
    ),
];
const STDIN: &str = "--filename -";

const ACCOUNTS: [&str; 3] = [
    "clusterprofile-conformance:clusterprofile-conformance",
    "pipelines:clusterprofile-conformance",
    "default:conformance",
];

fn change(cluster: &Cluster, verb: &str, (line, suite_line): (&str, Option<&str>)) {
    let line = line.replace("ci/", concat!(env!("CARGO_MANIFEST_DIR"), "/ci/"));
    let input = suite_line.map(suite).unwrap_or_default();
    cluster.kubectl_with(format!("{verb} {line}"), &input);
}

fn may_list(cluster: &Cluster, account: &str) -> bool {
    let flags = format!("--namespace {} --as=system:serviceaccount:{account}", FLEET);
    let answer = cluster.output(format!("auth can-i list clusterprofiles {flags}"));
    answer.stdout.starts_with(b"yes")
}

/// Runs the command of the page that removes all channels.
fn remove_all(cluster: &Cluster) {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/hub.md")).expect("the page");
    let (_, command) = page.split_once("\nkubectl delete -A -l ").expect("the command");
    let (command, _) = command.split_once("\n```").expect("its end");
    cluster.kubectl(format!("delete -A -l {}", command.replace('\\', "")));
}

pub fn each_channel(cluster: &Cluster) {
    prepare(cluster);
    remove_all(cluster);
    cluster.kubectl("delete namespace pipelines --ignore-not-found");
    cluster.kubectl("create namespace pipelines");
    // The cluster fills it.
    for object in ["serviceaccount/default", "configmap/kube-root-ca.crt"] {
        let get = format!("get {object} --namespace pipelines");
        let is_there = becomes_true(PATIENCE, || cluster.output(&get).status.success());
        assert!(is_there, "{object}");
    }
    let before = objects(cluster);
    for channel in CHANNELS {
        change(cluster, "apply", channel);
    }
    println!("{}", difference(&objects(cluster), &before).join(", "));
    for account in ACCOUNTS {
        assert!(may_list(cluster, account), "{account}");
    }
    // The accounts of the other channels keep their access when one is deleted.
    change(cluster, "delete", CHANNELS[3]);
    change(cluster, "delete", CHANNELS[1]);
    for account in ACCOUNTS {
        assert_eq!(may_list(cluster, account), account != ACCOUNTS[2], "{account}");
    }
    change(cluster, "delete", CHANNELS[2]);
    change(cluster, "delete", CHANNELS[0]);
    is_again(cluster, &before, "each channel is deleted");
    for channel in CHANNELS {
        change(cluster, "apply", channel);
    }
    remove_all(cluster);
    is_again(cluster, &before, "all channels are deleted by one command");
}
