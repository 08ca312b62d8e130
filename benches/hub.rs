//! The lab's API server next to kube-apiserver: one client sends both the same requests over TLS, one after the other.
//!
//! The lab's runs in this process, so that its memory is that of the client, too.

use std::{process, time::Duration};

use anyhow::Context;
use clap::Args;
use futures::{AsyncBufReadExt as _, StreamExt as _};
use kube::Client;
use serde_json::Value;
use tokio::time::{Instant, timeout};

use crate::{
    fleet,
    inventory::{Server, connect, serve},
    measure::{median, megabytes, memory},
};

/// How many lists are read of all profiles; the median counts.
const LISTS: usize = 5;
const WATCHES: usize = 10;
/// How many status writes those watches get.
const WATCHED: usize = 2_000;
/// How long a watch may take to send an event.
const PATIENCE: Duration = Duration::from_secs(60);

/// Compare the lab's API server with kube-apiserver
#[derive(Args)]
pub struct Arguments {
    /// How many profiles there are
    #[arg(long, default_value_t = 10_000)]
    profiles: usize,
    /// Measure the lab alone
    #[arg(long)]
    lab_only: bool,
}

/// What one hub did, in the order of [`ROWS`], and the memory that it took.
struct Measured {
    /// How many a second.
    rates: [f64; 5],
    /// The JSON of all profiles, in bytes.
    json: usize,
    /// What the hub's memory grew by, in bytes.
    memory: Option<u64>,
}

const ROWS: [&str; 5] = [
    "creates",
    "status patches",
    "gets",
    "profiles read in lists of all",
    "events sent to 10 watches",
];

#[tokio::main]
pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let lab = measure(Server::Lab, arguments.profiles).await?;
    let real = if arguments.lab_only {
        None
    } else {
        Some(measure(Server::Envtest, arguments.profiles).await?)
    };
    println!("{} profiles; a second:", arguments.profiles);
    println!("{:<32}{:>10}{:>16}{:>8}", "", "lab", "kube-apiserver", "ratio");
    for (i, row) in ROWS.into_iter().enumerate() {
        let (own, real) = (lab.rates[i], real.as_ref().map_or(f64::NAN, |real| real.rates[i]));
        println!("{row:<32}{own:>10.0}{real:>16.0}{:>8.1}", own / real);
    }
    let times = lab.memory.map(|memory| memory as f64 / lab.json as f64);
    let (memory, json) = (megabytes(lab.memory), megabytes(Some(lab.json as u64)));
    let times = times.unwrap_or(f64::NAN);
    println!("the lab's memory for them: {memory}, {times:.1} times their JSON of {json}");
    Ok(())
}

async fn measure(server: Server, profiles: usize) -> anyhow::Result<Measured> {
    let hub = server.start().await?;
    let folder = tempfile::tempdir()?;
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, serve(&hub).await?)?;
    let measured = ask(&connect(&kubeconfig).await?, profiles).await;
    hub.stop().await?;
    measured
}

async fn ask(client: &Client, profiles: usize) -> anyhow::Result<Measured> {
    let id = process::id();
    fleet::create_namespaces(client).await?;
    let before = memory(id, "VmRSS:");
    let now = fleet::created_at();
    let write =
        |number, nodes| async move { fleet::write_status(client, number, nodes, now).await.map(drop) };

    let creates = rate(profiles, |number| fleet::create(client, number)).await?;
    let patches = rate(profiles, |number| write(number, 0)).await?;
    let grown = memory(id, "VmRSS:").zip(before);
    let memory = grown.map(|(after, before)| after.saturating_sub(before));
    let gets = rate(profiles, |number| async move {
        let below = format!("/{}", fleet::name(number));
        let path = fleet::path(Some(fleet::namespace(number)), &below);
        client.request_text(get(&path)?).await?;
        Ok(())
    })
    .await?;
    let (mut took, mut json) = (Vec::new(), 0);
    for _ in 0..LISTS {
        let started = Instant::now();
        json = client.request_text(get(&fleet::path(None, ""))?).await?.len();
        took.push(started.elapsed());
    }
    let lists = profiles as f64 / median(&took).as_secs_f64();
    let events = fan_out(client, profiles, |number| write(number, 1)).await?;
    Ok(Measured {
        rates: [creates, patches, gets, lists, events],
        json,
        memory,
    })
}

/// How many pieces of `work` are done in a second.
async fn rate<F>(count: usize, work: impl Fn(usize) -> F) -> anyhow::Result<f64>
where
    F: Future<Output = anyhow::Result<()>>,
{
    let started = Instant::now();
    fleet::for_each(count, work).await?;
    Ok(count as f64 / started.elapsed().as_secs_f64())
}

/// How many events a second several watches get together, while status is written.
async fn fan_out<F>(client: &Client, profiles: usize, write: impl Fn(usize) -> F) -> anyhow::Result<f64>
where
    F: Future<Output = anyhow::Result<()>>,
{
    let list: Value = client.request(get(&fleet::path(None, "?limit=1"))?).await?;
    let version = list["metadata"]["resourceVersion"].as_str();
    let version = version.context("a list without a version")?;
    let path = fleet::path(None, &format!("?watch=true&resourceVersion={version}"));
    let count = WATCHED.min(profiles);
    let watch = || async {
        let mut lines = client.request_stream(get(&path)?).await?.lines();
        for number in 0..count {
            let line = timeout(PATIENCE, lines.next()).await;
            let line = line.with_context(|| format!("a watch is silent after {number} events"))?;
            line.context("a watch ended early")??;
        }
        anyhow::Ok(())
    };
    let watches = futures::future::try_join_all((0..WATCHES).map(|_| watch()));
    let started = Instant::now();
    tokio::try_join!(watches, fleet::for_each(count, write))?;
    Ok((WATCHES * count) as f64 / started.elapsed().as_secs_f64())
}

fn get(path: &str) -> anyhow::Result<http::Request<Vec<u8>>> {
    Ok(http::Request::get(path).body(Vec::new())?)
}
