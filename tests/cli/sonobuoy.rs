//! The plugin of Sonobuoy: its results, and that it always ends.

use std::{
    collections::BTreeMap,
    io::{BufReader, Read as _, Write as _},
    net::TcpListener,
    thread::{self, JoinHandle},
};

use super::{
    signals::{beside_the_lab, signal, until},
    *,
};

/// A pod of Sonobuoy, without its worker.
struct Pod(Folder);

impl Pod {
    fn new() -> Self {
        let pod = Self(Folder::new());
        fs::create_dir(pod.0.path("results")).expect("a folder");
        pod
    }

    fn plugin(&self, arguments: &[&str]) -> Command {
        let mut plugin = command(&["sonobuoy"]);
        plugin
            .args(arguments)
            .env("SONOBUOY_RESULTS_DIR", self.0.path("results"))
            .env("XDG_STATE_HOME", self.0.path("state"))
            .stdin(Stdio::null());
        plugin
    }

    /// The folder that the worker would hand over.
    fn handed_over(&self) -> PathBuf {
        let done =
            fs::read_to_string(self.0.path("results").join("done")).expect("Sonobuoy would wait for ever");
        PathBuf::from(done)
    }

    fn results(&self) -> Value {
        let text = fs::read_to_string(self.handed_over().join("sonobuoy_results.yaml")).expect("results");
        serde_saphyr::from_str(&text).expect("YAML")
    }
}

/// Maps the leaves of a tree to their statuses.
fn statuses(item: &Value) -> BTreeMap<&str, &str> {
    match item["items"].as_array() {
        Some(items) => items.iter().flat_map(statuses).collect(),
        None => BTreeMap::from([(
            item["name"].as_str().expect("a name"),
            item["status"].as_str().expect("a status"),
        )]),
    }
}

fn leaf<'a>(item: &'a Value, name: &str) -> Option<&'a Value> {
    if item["name"] == name {
        return Some(item);
    }
    item["items"].as_array()?.iter().find_map(|item| leaf(item, name))
}

#[test]
fn each_verdict_keeps_its_own_status() {
    let pod = Pod::new();
    let waivers = pod.0.path("waivers.yaml");
    fs::write(
        &waivers,
        "waivers: [{rule: access/no-secrets, reason: r, link: 'https://x.example', expires: 2999-01-01}]",
    )
    .expect("written");
    let faults = "reference=identity/manager-label-matches,access/no-secrets,version/well-formed";
    let done = pod
        .plugin(&[
            "--hub",
            "lab",
            "--driver",
            "none",
            "--manager",
            faults,
            "--waivers",
        ])
        .arg(&waivers)
        .output()
        .expect("the command runs");
    let told = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(0), "{told}");
    let results = pod.results();
    let statuses = statuses(&results);
    for (rule, status) in [
        ("identity/manager-label-present", "passed"),
        ("identity/manager-label-matches", "failed"),
        ("version/well-formed", "warn"),
        ("access/no-secrets", "waived"),
        ("lifecycle/join-creates-profile", "skipped"),
    ] {
        assert_eq!(statuses.get(rule), Some(&status), "{rule}");
    }
    assert_eq!(results["details"]["decision"], "not-conformant");
    let broken = leaf(&results, "identity/manager-label-matches").expect("a leaf");
    assert_eq!(broken["details"]["level"], "MUST");
    let finding = broken["details"]["findings"][0].as_str().expect("a line");
    assert!(
        finding.starts_with("ClusterProfile lab-fleet/") && finding.ends_with("observed somebody-else"),
        "{finding}"
    );
    for file in ["report.json", "report.html", "report.yaml", "evidence.jsonl.zst"] {
        assert!(pod.handed_over().join(file).exists(), "{file}");
    }
}

#[test]
fn sonobuoy_gets_results_of_a_run_that_could_not_begin() {
    for (arguments, told) in [
        (&["--observ", "5m"][..], "unexpected argument '--observ'"),
        (&["--edition", "1999-01"], "1999-01"),
        (&["--kubeconfig", "/nonexistent/hub"], "/nonexistent/hub"),
    ] {
        let pod = Pod::new();
        let done = pod.plugin(arguments).output().expect("the command runs");
        assert_eq!(done.status.code(), Some(0), "{arguments:?}");
        let results = pod.results();
        let run = leaf(&results, "run").expect("a leaf about the run");
        assert_eq!(run["status"], "failed", "{arguments:?}");
        let reason = run["details"]["reason"].as_str().expect("a reason");
        assert!(reason.contains(told), "{reason}");
        assert!(!statuses(&results).values().any(|status| *status == "passed"));
    }
}

#[test]
fn the_configuration_of_the_plugin_is_used() {
    let pod = Pod::new();
    let config = pod.0.path("config");
    fs::create_dir(&config).expect("a folder");
    fs::write(
        config.join("conformance.yaml"),
        "apiVersion: conformance.clusterprofile/v1\nkind: Configuration\nhub: lab\nmanager: reference\nfilters: [identity/]\n",
    )
    .expect("written");
    let done = pod
        .plugin(&[])
        .env("SONOBUOY_CONFIG_DIR", &config)
        .output()
        .expect("the command runs");
    assert_eq!(done.status.code(), Some(0));
    let results = pod.results();
    assert_eq!(results["details"]["decision"], "no-violation");
    assert_eq!(statuses(&results).get("identity/manager-unique"), Some(&"passed"));
}

/// A worker of Sonobuoy, which takes so many updates.
struct Worker {
    port: u16,
    taken: JoinHandle<Vec<Value>>,
}

impl Worker {
    fn taking(updates: usize) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let taken = thread::spawn(move || (0..updates).map(|_| take(&listener)).collect());
        Self { port, taken }
    }

    fn updates(self) -> Vec<Value> {
        self.taken.join().expect("updates")
    }
}

fn take(listener: &TcpListener) -> Value {
    let (mut stream, _) = listener.accept().expect("a request");
    let mut request = Vec::new();
    let mut part = [0; 1024];
    while !request.ends_with(b"}") {
        let read = stream.read(&mut part).expect("a request");
        assert!(read > 0, "{}", String::from_utf8_lossy(&request));
        request.extend_from_slice(&part[..read]);
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").expect("an answer");
    let request = String::from_utf8(request).expect("UTF-8");
    assert!(request.starts_with("POST /progress HTTP/1.1\r\n"), "{request}");
    let (_, body) = request.split_once("\r\n\r\n").expect("a body");
    serde_json::from_str(body).expect("JSON")
}

#[test]
fn progress_ends_with_the_failed_rules() {
    let pod = Pod::new();
    let worker = Worker::taking(2);
    let manager = "reference=identity/manager-label-matches";
    let done = pod
        .plugin(&["--hub", "lab", "--manager", manager, "identity/"])
        .env("SONOBUOY_PROGRESS_PORT", worker.port.to_string())
        .output()
        .expect("the command runs");
    assert_eq!(done.status.code(), Some(0));
    let update = worker.updates().remove(1);
    assert_eq!(
        update["failures"],
        serde_json::json!(["identity/manager-label-matches"])
    );
    assert_eq!(
        update["total"].as_u64(),
        update["completed"].as_u64().map(|completed| completed + 1)
    );
    // What was filtered out has not passed.
    let results = pod.results();
    let statuses = statuses(&results)
        .into_values()
        .filter(|status| *status == "passed");
    assert_eq!(update["completed"], statuses.count());
    let message = update["msg"].as_str().expect("a message");
    assert!(message.ends_with("neither passed nor failed"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_is_ended_hands_over_what_it_saw() {
    let pod = Pod::new();
    let folder = Folder::new();
    let (pod, updates) = beside_the_lab(&folder, move |kubeconfig| {
        let worker = Worker::taking(2);
        let mut child = pod
            .plugin(&["--kubeconfig", &kubeconfig, "--observe", "10m"])
            .env("SONOBUOY_PROGRESS_PORT", worker.port.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command runs");
        until(
            &mut BufReader::new(child.stderr.take().expect("a pipe")),
            "watching for 10m",
        );
        signal(&child, "-TERM");
        assert_eq!(child.wait().expect("it ends").code(), Some(0));
        (pod, worker.updates())
    })
    .await;
    let results = pod.results();
    let run = leaf(&results, "run").expect("a leaf about the run");
    assert_eq!(run["status"], "inconclusive");
    assert_eq!(
        statuses(&results).get("identity/manager-label-matches"),
        Some(&"passed")
    );
    let messages: Vec<&str> = updates
        .iter()
        .filter_map(|update| update["msg"].as_str())
        .collect();
    assert!(
        messages
            .iter()
            .any(|message| message.starts_with("watching for 10m: ")),
        "{messages:?}"
    );
}

#[test]
fn elsewhere_it_says_what_to_use() {
    let mut plugin = command(&["sonobuoy", "--hub", "lab"]);
    plugin.env_remove("SONOBUOY_RESULTS_DIR");
    let done = plugin.output().expect("the command runs");
    assert_eq!(done.status.code(), Some(2));
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(
        told.contains("$SONOBUOY_RESULTS_DIR is not set") && told.contains("use `run`"),
        "{told}"
    );
}
