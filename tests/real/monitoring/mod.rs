//! What `monitor` serves and the alerts on it, by Prometheus' own promtool; and credentials that are rotated while it runs.

mod credentials;

use std::{
    env, fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use libtest_mimic::Trial;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    runtime::Runtime,
    time::{sleep, timeout},
};

use crate::trials::trial_with;

/// Names the program, as `ci/promtool/build` prints it.
const VARIABLE: &str = "PROMTOOL";
const BASE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/ci/in-cluster/monitor");
/// How long something may take to be served.
const PATIENCE: Duration = Duration::from_secs(180);
const POLL: Duration = Duration::from_millis(200);

pub fn trials() -> Vec<Trial> {
    let mut trials = credentials::trials();
    trials.extend([
        trial(
            "what_is_served_is_as_prometheus_wants_it",
            what_is_served_is_as_prometheus_wants_it,
        ),
        trial("the_alerts_are_valid", the_alerts_are_valid),
        trial(
            "the_alerts_fire_when_they_should",
            the_alerts_fire_when_they_should,
        ),
        trial(
            "the_dashboard_asks_what_prometheus_understands",
            the_dashboard_asks_what_prometheus_understands,
        ),
    ]);
    trials
}

fn trial(name: &str, test: fn(&Promtool)) -> Trial {
    trial_with(format!("monitoring::{name}"), Promtool::find, move |promtool| {
        test(&promtool);
    })
}

/// The program, and a folder for its files.
struct Promtool {
    program: PathBuf,
    folder: TempDir,
}

impl Promtool {
    fn find() -> Result<Self, String> {
        let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("ci/promtool/.cache/promtool");
        let program = env::var_os(VARIABLE).map_or(built, PathBuf::from);
        if !program.is_file() {
            return Err("there is no promtool: build it with ci/promtool/build".to_owned());
        }
        Ok(Self {
            program,
            folder: TempDir::new().expect("a folder"),
        })
    }

    /// Writes a file for it.
    fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).expect("it is written");
    }

    /// Runs it, which has to succeed without a complaint.
    fn run(&self, arguments: &[&str], input: &str) -> String {
        let mut child = Command::new(&self.program)
            .args(arguments)
            .current_dir(self.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs");
        let mut stdin = child.stdin.take().expect("a pipe");
        // It may end without reading, and says why.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        let output = child.wait_with_output().expect("it ends");
        let told = [output.stdout, output.stderr].concat();
        let told = String::from_utf8_lossy(&told).into_owned();
        assert!(output.status.success(), "promtool {arguments:?}: {told}");
        told
    }
}

/// The groups of alerts, as a file of rules.
fn rules() -> String {
    let manifest = fs::read_to_string(format!("{BASE}/prometheus/rules.yaml")).expect("the alerts");
    let manifest: Value = serde_saphyr::from_str(&manifest).expect("YAML");
    manifest["spec"].to_string()
}

fn the_alerts_are_valid(promtool: &Promtool) {
    promtool.write("rules.yaml", &rules());
    let told = promtool.run(&["check", "rules", "--lint-fatal", "rules.yaml"], "");
    assert!(told.contains("4 rules found"), "{told}");
}

fn the_alerts_fire_when_they_should(promtool: &Promtool) {
    promtool.write("rules.yaml", &rules());
    promtool.write("alerts.yaml", include_str!("alerts.yaml"));
    promtool.run(&["test", "rules", "alerts.yaml"], "");
}

fn the_dashboard_asks_what_prometheus_understands(promtool: &Promtool) {
    let dashboard = fs::read_to_string(format!("{BASE}/grafana/dashboard.json")).expect("the dashboard");
    let dashboard: Value = serde_json::from_str(&dashboard).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels
        .iter()
        .filter_map(|panel| panel["targets"].as_array())
        .flatten();
    let rules: Vec<Value> = targets
        .enumerate()
        .map(|(number, target)| {
            let query = target["expr"].as_str().expect("a query");
            json!({"record": format!("panel:{number}"), "expr": query.replace("$__rate_interval", "5m")})
        })
        .collect();
    assert!(rules.len() >= 8, "{rules:?}");
    promtool.write(
        "queries.yaml",
        &json!({"groups": [{"name": "dashboard", "rules": rules}]}).to_string(),
    );
    promtool.run(&["check", "rules", "queries.yaml"], "");
}

/// A monitor.
struct Monitor {
    child: Child,
    address: String,
}

impl Monitor {
    fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_clusterprofile-conformance"))
            .args(["monitor", "--listen=127.0.0.1:0"])
            .args(arguments)
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let first = lines.next().expect("a line").expect("UTF-8");
        let address = first
            .strip_prefix("serving http://")
            .and_then(|rest| rest.split_once('/'));
        let address = address.expect(&first).0.to_owned();
        // Nobody may wait for a reader.
        thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("UTF-8");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a head");
        body.to_owned()
    }

    /// What it serves once there are verdicts.
    fn metrics(&self) -> String {
        self.metrics_with("clusterprofile_conformance_verdicts_fresh 1\n")
    }

    /// What it serves once that is a part of it.
    fn metrics_with(&self, part: &str) -> String {
        let waiting = async {
            loop {
                let metrics = self.get("/metrics");
                if metrics.contains(part) {
                    return metrics;
                }
                sleep(POLL).await;
            }
        };
        let runtime = Runtime::new().expect("a runtime");
        let waited = runtime.block_on(async { timeout(PATIENCE, waiting).await });
        waited.unwrap_or_else(|_| panic!("{part} is never served"))
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn what_is_served_is_as_prometheus_wants_it(promtool: &Promtool) {
    let monitor = Monitor::start(&["--hub=lab", "--manager=reference"]);
    let told = promtool.run(&["check", "metrics"], &monitor.metrics());
    assert_eq!(told, "", "{told}");
}
