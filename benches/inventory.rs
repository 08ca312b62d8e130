//! A whole run over a large inventory, against the fastest way to read that inventory at all.
//!
//! On a real API server unless told otherwise; the lab's is filled many times as fast.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use ::lab::hub::{Hub, assets};
use anyhow::{Context, ensure};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use clap::Args;
use collect::connect::{Connection, KubeconfigOptions};
use http::{Request, header};
use http_body_util::BodyExt as _;
use kube::client::Body;
use serde_json::Value;
use tokio::{
    process::Command,
    time::{Instant, sleep},
};

use crate::support::{
    child::{self, Taken},
    figures::Figures,
    fleet,
    hub::{self, Server},
    measure::{median, megabytes, ratio, seconds},
};

/// How much longer than the raw read a run may take.
const GOAL: f64 = 1.25;
/// How much memory it may take at 100,000 profiles, in bytes.
const GOAL_PEAK: u64 = 400_000_000;
/// After how long a new profile has to have its status; before, several rules have nothing to do.
const GRACE: Duration = Duration::from_secs(125);
/// Four simple rules: label and manager agree, endpoints are there, the cluster has joined, names are unique.
const FOUR_RULES: &str = r#"
  [ ([.items[] | select(.metadata.labels["x-k8s.io/cluster-manager"] != .spec.clusterManager.name)] | length),
    ([.items[] | select(any(.status.properties[]?; .name == "cluster-endpoints.k8s.io") | not)] | length),
    ([.items[] | select(any(.status.conditions[]?; .type == "Joined") | not)] | length),
    ([.items | group_by(.metadata.name)[] | select(length > 1)] | length) ]"#;

/// Judge a large inventory on a hub
#[derive(Args)]
pub struct Arguments {
    /// The API server that has it
    #[arg(long, value_enum, default_value_t = Server::Envtest)]
    hub: Server,
    /// How many profiles are published
    #[arg(long, default_value_t = 10_000)]
    profiles: usize,
    /// How often everything is measured
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Leave out kubectl and jq, which take many times as long
    #[arg(long)]
    no_kubectl: bool,
}

#[tokio::main]
pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let hub = arguments.hub.start().await?;
    let outcome = bench(&arguments, &hub).await;
    hub.stop().await?;
    outcome
}

async fn bench(arguments: &Arguments, hub: &Hub) -> anyhow::Result<()> {
    let started = Instant::now();
    fleet::publish(hub, arguments.profiles).await?;
    println!(
        "{}: published {} profiles in {}",
        hub.connection.source,
        arguments.profiles,
        seconds(started.elapsed())
    );
    sleep(GRACE.saturating_sub(started.elapsed())).await;

    let folder = tempfile::tempdir()?;
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, hub::kubeconfig(hub).await?)?;
    let outside = Outside::of(&kubeconfig, folder.path())?;
    let (mut bytes, mut raw, mut curl, mut run) = (0, Vec::new(), Vec::new(), Vec::new());
    for round in 0..=arguments.rounds {
        let (size, took) = raw_read(&kubeconfig).await?;
        let read_outside = outside.read().await;
        let taken = whole_run(&kubeconfig, folder.path(), arguments.profiles).await?;
        // The first round warms up the server and the machine.
        if round > 0 {
            bytes = size;
            raw.push(took);
            curl.extend(read_outside.ok());
            run.push(taken);
            println!(
                "round {round}: raw read {}, run {} ({:.2}), peak {}",
                seconds(took),
                seconds(taken.wall),
                ratio(taken.wall, took),
                megabytes(taken.peak)
            );
        }
    }

    println!(
        "\n{:<44} {:>8} {:>6} {:>8} {:>6} {:>12}",
        "", "median", "ratio", "fastest", "ratio", "peak memory"
    );
    let what = format!("one list, read and thrown away ({} MB)", bytes / 1_000_000);
    row(&what, &raw, &raw, None);
    let walls = |taken: &[Taken]| -> Vec<Duration> { taken.iter().map(|one| one.wall).collect() };
    if curl.is_empty() {
        println!("curl left out: it is not installed, or cannot read the list");
    } else {
        row("the same by curl, another program", &walls(&curl), &raw, None);
    }
    let walls = walls(&run);
    let peak = run.iter().filter_map(|taken| taken.peak).max();
    row("clusterprofile-conformance run --observe 0s", &walls, &raw, peak);
    match kubectl_and_jq(arguments, &kubeconfig, folder.path()).await {
        Ok((get, filter)) => {
            row("kubectl get -o json (once)", &[get.wall], &raw, get.peak);
            row("jq, four simple rules (once)", &[filter.wall], &raw, filter.peak);
        }
        Err(reason) => println!("kubectl and jq left out: {reason:#}"),
    }
    println!(
        "goals: wall at most {GOAL} times the raw read; at 100000 profiles a peak of at most {}",
        megabytes(Some(GOAL_PEAK))
    );
    let mut figures = Figures::of("inventory");
    figures.add(
        format!(
            "a run beside a raw read, {} profiles on {}",
            arguments.profiles,
            arguments.hub.name()
        ),
        ratio(median(walls), median(raw)),
    );
    figures.compare()?;
    Ok(())
}

/// On a shared machine the fastest rounds tell more than the medians.
fn row(what: &str, walls: &[Duration], raw: &[Duration], peak: Option<u64>) {
    let middle = |walls: &[Duration]| median(walls.iter().copied());
    let fastest = |walls: &[Duration]| walls.iter().copied().min().unwrap_or_default();
    println!(
        "{what:<44} {:>8} {:>6.2} {:>8} {:>6.2} {:>12}",
        seconds(middle(walls)),
        ratio(middle(walls), middle(raw)),
        seconds(fastest(walls)),
        ratio(fastest(walls), fastest(raw)),
        megabytes(peak)
    );
}

/// The fastest way to read the inventory: one list without a limit, from the server's cache. Gives its bytes.
async fn raw_read(kubeconfig: &Path) -> anyhow::Result<(usize, Duration)> {
    let started = Instant::now();
    // A client, and so a connection, of its own: as in a run.
    let options = KubeconfigOptions {
        path: Some(kubeconfig.to_owned()),
        ..KubeconfigOptions::default()
    };
    let client = Connection::from_kubeconfig(&options).await?.client;
    let list = format!("/apis/multicluster.x-k8s.io/{}/clusterprofiles", fleet::VERSION);
    let request = Request::get(list)
        .header(header::ACCEPT, "application/json")
        .body(Body::empty())?;
    let response = client.send(request).await?;
    ensure!(
        response.status().is_success(),
        "the list failed: {}",
        response.status()
    );
    let mut body = response.into_body();
    let mut bytes = 0;
    while let Some(frame) = body.frame().await {
        bytes += frame?.data_ref().map_or(0, |data| data.len());
    }
    Ok((bytes, started.elapsed()))
}

/// A reader of which nothing is ours.
struct Outside {
    config: PathBuf,
}

impl Outside {
    /// Writes what curl needs to know, which a command line would show to all.
    fn of(kubeconfig: &Path, folder: &Path) -> anyhow::Result<Self> {
        let text: Value = serde_saphyr::from_str(&std::fs::read_to_string(kubeconfig)?)?;
        let cluster = &text["clusters"][0]["cluster"];
        let server = cluster["server"].as_str().context("no server")?;
        // An API server indents what it sends to curl, unless that says that it is something else.
        let mut lines = vec![
            format!(
                "url = \"{server}/apis/multicluster.x-k8s.io/{}/clusterprofiles\"",
                fleet::VERSION
            ),
            "user-agent = \"reader\"".to_owned(),
            "output = \"/dev/null\"".to_owned(),
        ];
        if let Some(token) = text["users"][0]["user"]["token"].as_str() {
            lines.push(format!("header = \"Authorization: Bearer {token}\""));
        }
        if let Some(ca) = cluster["certificate-authority-data"].as_str() {
            let file = folder.join("ca.pem");
            std::fs::write(&file, BASE64.decode(ca)?)?;
            lines.push(format!("cacert = \"{}\"", file.display()));
        }
        let config = folder.join("curl.conf");
        std::fs::write(&config, lines.join("\n"))?;
        Ok(Self { config })
    }

    /// The same list, by curl.
    async fn read(&self) -> anyhow::Result<Taken> {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--fail", "--config"]).arg(&self.config);
        child::run(curl, &[0]).await
    }
}

/// The whole program, from its start to its report.
async fn whole_run(kubeconfig: &Path, folder: &Path, profiles: usize) -> anyhow::Result<Taken> {
    let report = folder.join("report.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_clusterprofile-conformance"));
    command
        .args(["run", "--observe", "0s", "--format", "terse"])
        .args(["--api-version", fleet::VERSION, "--kubeconfig"])
        .arg(kubeconfig)
        .arg("--json")
        .arg(&report)
        .stdout(std::process::Stdio::null());
    let taken = child::run(command, &[0]).await?;
    let report: Value = serde_json::from_slice(&std::fs::read(&report)?)?;
    ensure!(
        report["profiles"] == profiles,
        "the run saw {} profiles",
        report["profiles"]
    );
    Ok(taken)
}

/// The same inventory by the usual tools.
async fn kubectl_and_jq(
    arguments: &Arguments,
    kubeconfig: &Path,
    folder: &Path,
) -> anyhow::Result<(Taken, Taken)> {
    ensure!(!arguments.no_kubectl, "--no-kubectl was given");
    ensure!(
        matches!(arguments.hub, Server::Envtest),
        "they are measured on a real API server only"
    );
    let kubectl = assets(Path::new(env!("CARGO_MANIFEST_DIR")))?.kubectl();
    let kubectl = kubectl.context("there is no kubectl among the assets")?;
    let dump = folder.join("dump.json");
    let mut get = Command::new(kubectl);
    get.arg("--kubeconfig")
        .arg(kubeconfig)
        .args([
            "get",
            &format!("clusterprofiles.{}.multicluster.x-k8s.io", fleet::VERSION),
            "-A",
            "-o",
            "json",
        ])
        .env("HOME", folder)
        .stdout(std::fs::File::create(&dump)?);
    let get = child::run(get, &[0]).await?;
    let mut jq = Command::new("jq");
    jq.arg(FOUR_RULES).arg(&dump).stdout(std::process::Stdio::null());
    Ok((get, child::run(jq, &[0]).await?))
}
