//! Watching many profiles while their status is written all the time: does every version arrive, and at what cost?
//!
//! The hub is the lab's, served over a socket; a real API server on the same machine would need all of it for that
//! many writes.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use ::lab::hub::Hub;
use anyhow::{Context, ensure};
use clap::Args;
use collect::clock::Clock;
use evidence::{Digester, Evidence, Kind, read_input};
use futures::{StreamExt as _, TryStreamExt as _};
use tokio::{
    process::Command,
    time::{Instant, sleep},
};

use crate::{
    fleet,
    inventory::serve,
    measure::{self, megabytes, ratio, seconds},
};

/// How long the run gets for its first list before the writing begins.
const FIRST_LIST: Duration = Duration::from_secs(5);
/// How long it watches on when the writing has ended.
const REST: Duration = Duration::from_secs(5);

/// Watch a fleet whose status is written all the time
#[derive(Args)]
pub struct Arguments {
    /// How many profiles there are
    #[arg(long, default_value_t = 10_000)]
    profiles: usize,
    /// How many status writes there are in a second
    #[arg(long, default_value_t = 2_000)]
    rate: u32,
    /// For how many seconds status is written
    #[arg(long, default_value_t = 20)]
    seconds: u64,
}

#[tokio::main]
pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let hub = Hub::lab(Clock::system()).await?;
    fleet::publish(&hub, arguments.profiles).await?;
    let folder = tempfile::tempdir()?;
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, serve(&hub).await?)?;

    let record = folder.path().join("evidence.jsonl");
    let observe = FIRST_LIST + REST + Duration::from_secs(arguments.seconds);
    let mut command = Command::new(env!("CARGO_BIN_EXE_clusterprofile-conformance"));
    command
        .arg("run")
        .arg(format!("--observe={}s", observe.as_secs()));
    command
        .arg("--kubeconfig")
        .arg(&kubeconfig)
        .arg("--record")
        .arg(&record);
    let run = tokio::spawn(measure::run(command, &[0, 1, 3]));
    sleep(FIRST_LIST).await;
    let started = Instant::now();
    let count = arguments.rate as usize * arguments.seconds as usize;
    let writes = fleet::writes(&hub, arguments.profiles, arguments.rate)?.take(count);
    let written: Vec<(usize, u64)> = writes.try_collect().await?;
    let writing = started.elapsed();
    let usage = run.await??;

    let evidence = read_input(&record, &Digester::new([7; 32]))?.evidence;
    let (profiles, per_second) = (arguments.profiles, count as f64 / writing.as_secs_f64());
    let took = seconds(writing);
    println!("{profiles} profiles, {count} status writes in {took}: {per_second:.0} a second");
    let missed = missed(&evidence, &written)?;
    let gaps = evidence.gaps(Kind::Timeline).count();
    println!("missed: {missed}; gaps in the watch: {gaps}");
    if let Some(cpu) = usage.cpu {
        let (time, cores) = (seconds(cpu), ratio(cpu, writing));
        println!(
            "CPU of the whole run, first list and judging included: {time}, {cores:.2} of a core while writing"
        );
    }
    println!("peak memory: {}", megabytes(usage.peak));
    ensure!(missed == 0, "{missed} versions were missed");
    Ok(())
}

/// How many of the versions that were written after the first list are not in the evidence.
fn missed(evidence: &Evidence, written: &[(usize, u64)]) -> anyhow::Result<usize> {
    let mut observed = BTreeMap::new();
    for history in &evidence.profiles {
        let versions = history.versions.iter();
        let versions = versions.map(|version| version.object.metadata.resource_version.parse::<u64>());
        let versions = versions.collect::<Result<BTreeSet<u64>, _>>()?;
        observed.insert(history.last().metadata.name.to_string(), versions);
    }
    let mut missed = 0;
    for (number, version) in written {
        let versions = observed
            .get(&fleet::name(*number))
            .context("a profile is missing")?;
        let is_later = versions.first().is_some_and(|first| version >= first);
        missed += usize::from(is_later && !versions.contains(version));
    }
    Ok(missed)
}
