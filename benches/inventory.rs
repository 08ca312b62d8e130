//! A whole run over a large inventory, next to the fastest way to read that inventory: one list without a limit.

use std::{path::Path, time::Duration};

use ::lab::hub::{Hub, assets, envtest_options};
use anyhow::{Context, ensure};
use apiserver::Loopback;
use clap::{Args, ValueEnum};
use collect::{
    clock::Clock,
    connect::{Connection, KubeconfigOptions},
};
use envtest::EnvtestOptions;
use http::{Request, header};
use http_body_util::BodyExt as _;
use kube::{Client, client::Body};
use serde_json::Value;
use tokio::{
    process::Command,
    time::{Instant, sleep},
};

use crate::{
    fleet,
    measure::{self, Usage, median, megabytes, ratio, seconds},
};

/// After this time a new profile has to have its status; before, several rules have nothing to do.
const GRACE: Duration = Duration::from_secs(125);

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
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Server {
    /// A real one, started from envtest binaries (KUBEBUILDER_ASSETS)
    Envtest,
    /// The lab's, in this process
    Lab,
}

impl Server {
    pub async fn start(self) -> anyhow::Result<Hub> {
        if self == Server::Lab {
            return Ok(Hub::lab(Clock::system()).await?);
        }
        // The audit log would have an event of every profile that is published, and the disk would set the pace.
        let flags = ["--audit-log-path=", "--audit-policy-file="];
        let options = EnvtestOptions {
            api_server_flags: flags.map(str::to_owned).into(),
            ..envtest_options()
        };
        Ok(Hub::envtest(&assets(Path::new(env!("CARGO_MANIFEST_DIR")))?, options).await?)
    }
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
    let (source, took) = (&hub.connection.source, seconds(started.elapsed()));
    println!("{source}: published {} profiles in {took}", arguments.profiles);
    sleep(GRACE.saturating_sub(started.elapsed())).await;

    let folder = tempfile::tempdir()?;
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, serve(hub).await?)?;
    let (mut bytes, mut raw, mut runs) = (0, Vec::new(), Vec::new());
    for round in 0..=arguments.rounds {
        let (size, took) = raw_read(&kubeconfig).await?;
        let usage = whole_run(&kubeconfig, folder.path(), arguments.profiles).await?;
        // The first round warms up the server and the machine.
        if round > 0 {
            bytes = size;
            raw.push(took);
            runs.push(usage);
        }
    }
    let walls: Vec<Duration> = runs.iter().map(|usage| usage.wall).collect();
    let peak = megabytes(runs.iter().filter_map(|usage| usage.peak).max());
    println!(
        "one list, read and thrown away ({} MB): {}",
        bytes / 1_000_000,
        shown(&raw)
    );
    println!(
        "clusterprofile-conformance run --observe 0s: {}, peak {peak}",
        shown(&walls)
    );
    // On a shared machine the fastest rounds say more than the medians.
    let [median, fastest] = [median, fastest].map(|pick| ratio(pick(&walls), pick(&raw)));
    println!("ratio: {median:.2}, of the fastest {fastest:.2}");
    Ok(())
}

fn fastest(walls: &[Duration]) -> Duration {
    walls.iter().copied().min().unwrap_or_default()
}

fn shown(walls: &[Duration]) -> String {
    format!(
        "median {}, fastest {}",
        seconds(median(walls)),
        seconds(fastest(walls))
    )
}

/// Reads one list without a limit, by a new client and so a new connection. Returns its size in bytes.
async fn raw_read(kubeconfig: &Path) -> anyhow::Result<(usize, Duration)> {
    let started = Instant::now();
    let client = connect(kubeconfig).await?;
    let request = Request::get(fleet::path(None, "")).header(header::ACCEPT, "application/json");
    let response = client.send(request.body(Body::empty())?).await?;
    let status = response.status();
    ensure!(status.is_success(), "the list failed: {status}");
    let mut body = response.into_body();
    let mut bytes = 0;
    while let Some(frame) = body.frame().await {
        bytes += frame?.data_ref().map_or(0, |data| data.len());
    }
    Ok((bytes, started.elapsed()))
}

pub async fn connect(kubeconfig: &Path) -> anyhow::Result<Client> {
    let options = KubeconfigOptions {
        path: Some(kubeconfig.to_owned()),
        ..KubeconfigOptions::default()
    };
    Ok(Connection::from_kubeconfig(&options).await?.client)
}

async fn whole_run(kubeconfig: &Path, folder: &Path, profiles: usize) -> anyhow::Result<Usage> {
    let report = folder.join("report.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_clusterprofile-conformance"));
    command.args([
        "run",
        "--observe",
        "0s",
        "--api-version",
        fleet::VERSION,
        "--kubeconfig",
    ]);
    command.arg(kubeconfig).arg("--json").arg(&report);
    let usage = measure::run(command, &[0]).await?;
    let report: Value = serde_json::from_slice(&std::fs::read(&report)?)?;
    let reported = &report["profiles"];
    ensure!(*reported == profiles, "the run reports {reported} profiles");
    Ok(usage)
}

/// A kubeconfig of the user who runs the suite. Serves the lab's API server for as long as this process runs.
pub async fn serve(hub: &Hub) -> anyhow::Result<String> {
    if let Some(envtest) = hub.as_envtest() {
        return Ok(envtest.kubeconfig("conformance"));
    }
    let server = hub.as_lab().context("the hub is not the lab")?.clone();
    let loopback = Loopback::bind("lab", 0).await?;
    let kubeconfig = loopback.endpoint().kubeconfig_as("conformance");
    tokio::spawn(loopback.serve(server));
    Ok(kubeconfig)
}
