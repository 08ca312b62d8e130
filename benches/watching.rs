//! Watching many profiles while their status is written all the time: does every version arrive, and at what cost?
//!
//! The hub is the lab's, served over a socket; a real API server on the same machine would need all of it for that
//! many writes.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
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

/// The resourceVersions that came of the writes, by the number of the profile.
type Written = BTreeMap<usize, BTreeSet<u64>>;

#[tokio::main]
pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let hub = Hub::lab(Clock::system()).await?;
    fleet::publish(&hub, arguments.profiles).await?;
    let folder = tempfile::tempdir()?;
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, serve(&hub).await?)?;

    let record = folder.path().join("evidence.jsonl");
    let observe = FIRST_LIST + REST + Duration::from_secs(arguments.seconds);
    let run = tokio::spawn(measure::run(command(&kubeconfig, &record, observe), &[0, 1, 3]));
    sleep(FIRST_LIST).await;
    let started = Instant::now();
    let written = write(&hub, &arguments).await?;
    let writing = started.elapsed();
    let usage = run.await??;

    let evidence = read_input(&record, &Digester::new([7; 32]))?.evidence;
    let writes: usize = written.values().map(BTreeSet::len).sum();
    println!(
        "{} profiles, {writes} status writes in {}: {:.0} a second",
        arguments.profiles,
        seconds(writing),
        writes as f64 / writing.as_secs_f64()
    );
    let missed = missed(&evidence, &written)?;
    println!(
        "missed: {missed}; gaps in the watch: {}",
        evidence.gaps(Kind::Timeline).count()
    );
    match usage.cpu {
        Some(cpu) => println!(
            "CPU of the whole run, first list and judging included: {}, {:.2} of a core while status was written",
            seconds(cpu),
            ratio(cpu, writing)
        ),
        None => println!("CPU not measured"),
    }
    println!("peak memory: {}", megabytes(usage.peak));
    println!("goals: none missed, less than one core");
    ensure!(missed == 0, "{missed} versions were missed");
    Ok(())
}

fn command(kubeconfig: &Path, record: &Path, observe: Duration) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clusterprofile-conformance"));
    command
        .args(["run", "--format", "terse", "--observe"])
        .arg(format!("{}s", observe.as_secs()))
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .arg("--record")
        .arg(record);
    command
}

/// Writes status for the whole time.
async fn write(hub: &Hub, arguments: &Arguments) -> anyhow::Result<Written> {
    let Arguments {
        profiles,
        rate,
        seconds,
        ..
    } = *arguments;
    let writes = fleet::writes(hub, profiles, rate)?.take(rate as usize * seconds as usize);
    let keep = |mut written: Written, (number, version): (usize, String)| async move {
        written.entry(number).or_default().insert(version.parse()?);
        anyhow::Ok(written)
    };
    writes.try_fold(Written::new(), keep).await
}

/// How many of the versions that were written after the first look are not in the evidence.
fn missed(evidence: &Evidence, written: &Written) -> anyhow::Result<usize> {
    let mut seen = BTreeMap::new();
    for history in &evidence.profiles {
        let versions = history.versions.iter();
        let versions = versions.map(|version| version.object.metadata.resource_version.parse::<u64>());
        let versions = versions.collect::<Result<BTreeSet<u64>, _>>()?;
        seen.insert(history.last().metadata.name.to_string(), versions);
    }
    let mut missed = 0;
    for (number, versions) in written {
        let seen = seen
            .get(&fleet::name(*number))
            .context("a profile was never seen")?;
        let first = seen.first().context("a history without a version")?;
        missed += versions
            .range(first..)
            .filter(|version| !seen.contains(version))
            .count();
    }
    Ok(missed)
}
