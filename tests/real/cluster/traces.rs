//! What each channel adds to a cluster, and that nothing of it stays: all objects are compared.

use std::{collections::BTreeMap, fs, time::Duration};

use serde_json::Value;
use tokio::{
    runtime::Runtime,
    time::{sleep, timeout},
};

use super::{
    hub::{self, suite},
    kubectl::Cluster,
};

/// Kinds that the cluster itself writes all the time.
const RESTLESS: [&str; 6] = [
    "componentstatuses",
    "endpoints",
    "endpointslices.discovery.k8s.io",
    "events",
    "events.events.k8s.io",
    "leases.coordination.k8s.io",
];

/// How long the cluster may take to delete what depends on something.
const PATIENCE: Duration = Duration::from_secs(120);

/// All objects of a cluster, by kind, namespace and name, without what the cluster itself changes in them.
type Objects = BTreeMap<String, Value>;

fn objects(cluster: &Cluster) -> Objects {
    let kinds = cluster.kubectl(&["api-resources", "--verbs=list,get", "--output", "name"]);
    let kinds: Vec<&str> = kinds.lines().filter(|kind| !RESTLESS.contains(kind)).collect();
    let list = cluster.get(&[&kinds.join(","), "--all-namespaces"]);
    let items = list["items"].as_array().expect("a list").iter();
    items
        .map(|object| {
            let mut object = object.clone();
            let metadata = object["metadata"].as_object_mut().expect("metadata");
            for field in ["resourceVersion", "managedFields", "generation"] {
                metadata.remove(field);
            }
            let text = |field: &str| metadata.get(field).and_then(Value::as_str).unwrap_or_default();
            let key = format!("{}/{}", text("namespace"), text("name"));
            object.as_object_mut().expect("an object").remove("status");
            (
                format!("{} {key}", object["kind"].as_str().expect("a kind")),
                object,
            )
        })
        .collect()
}

/// What one has beside the other.
fn beside<'a>(one: &'a Objects, other: &Objects) -> Vec<&'a str> {
    let differing = one.iter().filter(|(key, object)| other.get(*key) != Some(object));
    differing.map(|(key, _)| key.as_str()).collect()
}

/// Polls until `find` returns something, or until the time is over.
fn found_within<T>(time: Duration, mut find: impl FnMut() -> Option<T>) -> Option<T> {
    let polling = async {
        loop {
            if let Some(found) = find() {
                return found;
            }
            sleep(Duration::from_millis(250)).await;
        }
    };
    let runtime = Runtime::new().expect("a runtime");
    runtime.block_on(async { timeout(time, polling).await }).ok()
}

/// Waits until the cluster has these objects again, and no others.
fn is_again(cluster: &Cluster, expected: &Objects, what: &str) {
    let again = found_within(PATIENCE, || (objects(cluster) == *expected).then_some(()));
    if again.is_none() {
        let now = objects(cluster);
        panic!(
            "{what}: left over {:#?}, gone {:#?}",
            beside(&now, expected),
            beside(expected, &now)
        );
    }
}

/// Prints what a channel adds: nobody else shows it.
fn print_added(what: &str, before: &Objects, with: &Objects) -> usize {
    let added = beside(with, before);
    println!(
        "{what}: {} objects before, {} with it: {}",
        before.len(),
        with.len(),
        added.join(", ")
    );
    added.len()
}

/// A folder of `ci`.
fn folder(name: &str) -> String {
    format!("{}/ci/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn apply(cluster: &Cluster, base: &str) {
    cluster.kubectl(&["apply", "--kustomize", &folder(base)]);
}

fn delete(cluster: &Cluster, base: &str) {
    cluster.kubectl(&["delete", "--kustomize", &folder(base)]);
}

/// Applies what the suite prints.
fn apply_printed(cluster: &Cluster, arguments: &[&str]) {
    cluster.kubectl_with(&["apply", "--filename", "-"], &suite(arguments));
}

fn delete_printed(cluster: &Cluster, arguments: &[&str]) {
    cluster.kubectl_with(&["delete", "--filename", "-"], &suite(arguments));
}

/// The setup and the base of each channel that has both. What the base adds goes without the setup.
const BASES: [(&str, &[&str]); 1] = [("in-cluster/setup", &["in-cluster"])];

/// What `rbac` prints.
const PRINTED: [&[&str]; 2] = [
    &["rbac", "--bind", "pipelines:clusterprofile-conformance"],
    &[
        "rbac",
        "--namespace",
        hub::FLEET,
        "--no-secrets",
        "--bind",
        "default:conformance",
    ],
];

/// A namespace that the suite does not create.
const PIPELINES: &str = "pipelines";

fn create_pipelines_namespace(cluster: &Cluster) {
    hub::prepare(cluster);
    remove_all(cluster);
    cluster.kubectl(&["delete", "namespace", PIPELINES, "--ignore-not-found"]);
    cluster.kubectl(&["create", "namespace", PIPELINES]);
    // The cluster fills it.
    for account in ["serviceaccount/default", "configmap/kube-root-ca.crt"] {
        found_within(PATIENCE, || {
            let get = ["get", account, "--namespace", PIPELINES];
            cluster.output(&get, "").status.success().then_some(())
        })
        .expect(account);
    }
}

pub fn each_channel_leaves_the_cluster_as_it_was(cluster: &Cluster) {
    create_pipelines_namespace(cluster);
    let before = objects(cluster);
    for (setup, bases) in BASES {
        apply(cluster, setup);
        // The cluster fills the namespace.
        let filled = found_within(PATIENCE, || {
            let objects = objects(cluster);
            (beside(&objects, &before).len() >= 6).then_some(objects)
        });
        let with_setup = filled.expect("a namespace with its account, role and binding");
        print_added(setup, &before, &with_setup);
        for base in bases {
            apply(cluster, base);
        }
        print_added(&bases.join(" and "), &with_setup, &objects(cluster));
        for base in bases.iter().rev() {
            delete(cluster, base);
        }
        is_again(cluster, &with_setup, &bases.join(" and "));
        delete(cluster, setup);
        is_again(cluster, &before, setup);
    }
    for printed in PRINTED {
        apply_printed(cluster, printed);
        assert!(print_added(&printed.join(" "), &before, &objects(cluster)) >= 3);
        delete_printed(cluster, printed);
        is_again(cluster, &before, &printed.join(" "));
    }
}

/// The accounts of all channels.
const ACCOUNTS: [&str; 3] = [
    "clusterprofile-conformance:clusterprofile-conformance",
    "pipelines:clusterprofile-conformance",
    "default:conformance",
];

/// Whether an account may list the profiles of the fleet.
fn may_list(cluster: &Cluster, account: &str) -> bool {
    let account = format!("--as=system:serviceaccount:{account}");
    let may = [
        "auth",
        "can-i",
        "list",
        "clusterprofiles",
        "--namespace",
        hub::FLEET,
    ];
    let answer = cluster.output(&[&may[..], &[&account]].concat(), "");
    answer.stdout.starts_with(b"yes")
}

/// Runs the command of the page by which all of it goes.
fn remove_all(cluster: &Cluster) {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/hub.md")).expect("the page");
    let (_, command) = page.split_once("\nkubectl delete -A -l ").expect("the command");
    let (command, _) = command.split_once("\n```").expect("its end");
    let words = command.split_whitespace().filter(|word| *word != "\\");
    let arguments: Vec<&str> = ["delete", "-A", "-l"].into_iter().chain(words).collect();
    cluster.kubectl(&arguments);
}

pub fn all_channels_together_share_nothing_and_go_by_one_command(cluster: &Cluster) {
    create_pipelines_namespace(cluster);
    let before = objects(cluster);
    for (setup, bases) in BASES {
        apply(cluster, setup);
        for base in bases {
            apply(cluster, base);
        }
    }
    for printed in PRINTED {
        apply_printed(cluster, printed);
    }
    print_added("all together", &before, &objects(cluster));
    for account in ACCOUNTS {
        assert!(may_list(cluster, account), "{account}");
    }
    // Whichever goes, the others keep their access.
    delete_printed(cluster, PRINTED[1]);
    delete(cluster, "in-cluster");
    for account in ACCOUNTS {
        assert_eq!(
            may_list(cluster, account),
            !account.starts_with("default:"),
            "{account}"
        );
    }
    remove_all(cluster);
    is_again(cluster, &before, "all together");
}
