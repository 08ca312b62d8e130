//! Several runners that judge a fleet in shares, beside one runner that judges it whole.
//!
//! The hub is the lab's, over a socket. The runners' evidence is merged, and has to be judged as the whole was: the
//! fleet has violations of which each side is in another namespace.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use ::lab::hub::{AuditLevel, Hub};
use anyhow::{Context, ensure};
use clap::Args;
use collect::clock::Clock;
use futures::{StreamExt as _, TryStreamExt as _, future::try_join_all, stream};
use kube::Client;
use serde_json::{Value, json};
use tokio::{
    process::Command,
    time::{Instant, sleep},
};

use crate::support::{
    child::{self, Taken},
    figures::Figures,
    fleet, lab,
    measure::{median, megabytes, ratio, seconds},
};

/// After how long a new profile has to have its status; before, several rules have nothing to do.
const GRACE: Duration = Duration::from_secs(125);
/// How many requests are under way at once while the hub is filled.
const AT_ONCE: usize = 48;
/// Every so many profiles, one describes the cluster of the next one too.
const TWINS: usize = 1_000;
/// How many names are given to two clusters.
const NAMESAKES: usize = 10;

/// Judge a large fleet in shares
#[derive(Args)]
pub struct Arguments {
    /// How many profiles are published
    #[arg(long, default_value_t = 20_000)]
    profiles: usize,
    /// In how many namespaces
    #[arg(long, default_value_t = 20)]
    namespaces: usize,
    /// How many runners share the fleet
    #[arg(long, default_value_t = 8)]
    shards: usize,
    /// How often everything is measured
    #[arg(long, default_value_t = 3)]
    rounds: usize,
}

/// What one round took.
struct Round {
    whole: Taken,
    /// Each share, with the machine to itself.
    alone: Vec<Taken>,
    /// All of them at once, on this machine.
    together: Duration,
    merge: Taken,
}

#[tokio::main]
pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let hub = Hub::lab(Clock::system()).await?;
    let outcome = bench(&arguments, &hub).await;
    hub.stop().await?;
    outcome
}

async fn bench(arguments: &Arguments, hub: &Hub) -> anyhow::Result<()> {
    let server = hub.as_lab().context("the hub is not the lab")?.clone();
    let started = Instant::now();
    let published = publish(&server.client("admin"), arguments).await?;
    println!(
        "published {published} profiles in {} namespaces in {}",
        arguments.namespaces,
        seconds(started.elapsed())
    );
    sleep(GRACE.saturating_sub(started.elapsed())).await;

    server.set_audit_level(AuditLevel::Metadata);
    let folder = tempfile::tempdir()?;
    let kubeconfig = folder.path().join("kubeconfig");
    fs::write(&kubeconfig, lab::serve(hub).await?)?;
    let runner = Runner {
        kubeconfig,
        folder: folder.path().to_owned(),
        shards: arguments.shards,
    };
    let requests = || server.audit_events().len();
    let (mut rounds, mut counted) = (Vec::new(), [0; 2]);
    for _ in 0..arguments.rounds {
        let before = requests();
        let whole = runner.whole().await?;
        let between = requests();
        let alone = stream::iter(0..arguments.shards).then(|index| runner.share(index));
        let alone: Vec<Taken> = alone.try_collect().await?;
        counted = [between - before, requests() - between];
        let at_once = Instant::now();
        try_join_all((0..arguments.shards).map(|index| runner.share(index))).await?;
        let together = at_once.elapsed();
        let merge = runner.merge().await?;
        runner.compare()?;
        rounds.push(Round {
            whole,
            alone,
            together,
            merge,
        });
    }
    print(&rounds, counted);
    let Arguments { profiles, shards, .. } = arguments;
    let whole = median(rounds.iter().map(|round| round.whole.wall));
    let mut figures = Figures::of("shards");
    for (what, pick) in [
        (
            "all shares at once",
            (|round| round.together) as fn(&Round) -> Duration,
        ),
        ("merging and judging", |round| round.merge.wall),
    ] {
        figures.add(
            format!("{what} beside one runner, {profiles} profiles in {shards} shares"),
            ratio(median(rounds.iter().map(pick)), whole),
        );
    }
    figures.compare()?;
    Ok(())
}

fn print(rounds: &[Round], [of_whole, of_shares]: [usize; 2]) {
    let whole = median(rounds.iter().map(|round| round.whole.wall));
    let peak = rounds.iter().filter_map(|round| round.whole.peak).max();
    let part = |bytes: Option<u64>| {
        let part = bytes.zip(peak).map(|(bytes, whole)| bytes as f64 / whole as f64);
        part.map_or("?".to_owned(), |part| format!("{part:.2}"))
    };
    println!(
        "\n{:<46}{:>10}{:>7}{:>14}{:>7}",
        "", "wall", "ratio", "peak memory", "ratio"
    );
    let row = |what: &str, wall: Duration, bytes: Option<u64>| {
        println!(
            "{what:<46}{:>10}{:>7.2}{:>14}{:>7}",
            seconds(wall),
            ratio(wall, whole),
            megabytes(bytes),
            part(bytes)
        );
    };
    row("one runner", whole, peak);
    let of_each = |pick: fn(Vec<Taken>) -> Taken| {
        let picked: Vec<Taken> = rounds.iter().map(|round| pick(round.alone.clone())).collect();
        let wall = median(picked.iter().map(|taken| taken.wall));
        (wall, picked.iter().filter_map(|taken| taken.peak).max())
    };
    let (wall, bytes) = of_each(|mut shares| {
        shares.sort_by_key(|taken| taken.wall);
        shares[shares.len() / 2]
    });
    row("a share, with the machine to itself: median", wall, bytes);
    let (wall, bytes) = of_each(|mut shares| {
        shares.sort_by_key(|taken| taken.peak);
        shares[shares.len() - 1]
    });
    row("… the largest share", wall, bytes);
    row(
        "all shares at once, on this machine",
        median(rounds.iter().map(|round| round.together)),
        None,
    );
    let merges = rounds.iter().map(|round| round.merge);
    row(
        "merging their evidence and judging it",
        median(merges.clone().map(|taken| taken.wall)),
        merges.filter_map(|taken| taken.peak).max(),
    );
    println!(
        "requests to the hub: {of_whole} by one runner, {of_shares} by all shares ({:.1} times)",
        of_shares as f64 / of_whole as f64
    );
    println!("the merged verdicts are those of the one runner");
}

/// Runs the program.
struct Runner {
    kubeconfig: PathBuf,
    folder: PathBuf,
    shards: usize,
}

impl Runner {
    fn command(&self, arguments: &[&str], report: &Path) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_clusterprofile-conformance"));
        command
            .args(arguments)
            .args(["--format", "terse", "--json"])
            .arg(report);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn run(&self, report: &Path) -> Command {
        let mut command = self.command(
            &["run", "--observe", "0s", "--api-version", fleet::VERSION],
            report,
        );
        command.arg("--kubeconfig").arg(&self.kubeconfig);
        command
    }

    fn shares(&self) -> PathBuf {
        self.folder.join("shares")
    }

    fn report(&self, of: &str) -> PathBuf {
        self.folder.join(format!("{of}.json"))
    }

    /// The fleet by one runner, which records it too.
    async fn whole(&self) -> anyhow::Result<Taken> {
        let mut command = self.run(&self.report("whole"));
        command.arg("--record").arg(self.folder.join("whole.jsonl.zst"));
        child::run(command, &[1]).await
    }

    /// One share.
    async fn share(&self, index: usize) -> anyhow::Result<Taken> {
        fs::create_dir_all(self.shares())?;
        let mut command = self.run(&self.report(&format!("share-{index}")));
        command.arg("--shard").arg(format!("{index}/{}", self.shards));
        command
            .arg("--record")
            .arg(self.shares().join(format!("{index}.jsonl.zst")));
        child::run(command, &[0]).await
    }

    /// All shares, merged and judged.
    async fn merge(&self) -> anyhow::Result<Taken> {
        let mut command = self.command(&["replay"], &self.report("merged"));
        command.arg(self.shares());
        child::run(command, &[1]).await
    }

    /// Checks that the merge is judged as the whole is.
    fn compare(&self) -> anyhow::Result<()> {
        let read =
            |of: &str| -> anyhow::Result<Value> { Ok(serde_json::from_slice(&fs::read(self.report(of))?)?) };
        let (whole, merged) = (read("whole")?, read("merged")?);
        ensure!(whole["decision"] == "not-conformant", "the fleet has violations");
        ensure!(whole["profiles"] == merged["profiles"], "profiles are missing");
        let verdicts = |report: &Value| -> BTreeMap<String, Value> {
            let verdicts = report["verdicts"].as_array().cloned().unwrap_or_default();
            let verdicts = verdicts.into_iter();
            verdicts
                .map(|verdict| {
                    let told = json!([verdict["verdict"], verdict["examined"], verdict["findings"]]);
                    (verdict["rule"].to_string(), told)
                })
                .collect()
        };
        for (rule, verdict) in verdicts(&whole) {
            // Each share tries a dry run, where the whole tries one.
            ensure!(
                verdicts(&merged).get(&rule) == Some(&verdict) || rule.contains("manager-immutable"),
                "{rule} is judged differently"
            );
        }
        Ok(())
    }
}

/// Publishes the fleet. Gives the number of profiles.
async fn publish(client: &Client, arguments: &Arguments) -> anyhow::Result<usize> {
    let namespace = |number: usize| format!("fleet-{:02}", number % arguments.namespaces);
    for number in 0..arguments.namespaces {
        let body = json!({"metadata": {"name": namespace(number)}});
        send(client, http::Request::post("/api/v1/namespaces"), &body).await?;
    }
    let now = fleet::created_at();
    // Each profile: the number of its name, of its namespace, and of the cluster that it describes.
    let own = (0..arguments.profiles).map(|number| {
        let described = if number % TWINS == 0 { number + 1 } else { number };
        (number, number, described)
    });
    let namesakes = (1..=NAMESAKES).map(|number| (number, number + 1, arguments.profiles + number));
    let all: Vec<_> = own.chain(namesakes).collect();
    let count = all.len();
    let publishing = stream::iter(all).map(|(number, place, described)| {
        let path = format!(
            "/apis/multicluster.x-k8s.io/{}/namespaces/{}/clusterprofiles",
            fleet::VERSION,
            namespace(place)
        );
        let mut profile = fleet::created(number);
        profile["metadata"]["namespace"] = namespace(place).into();
        let labels = fleet::created(described)["metadata"]["labels"].clone();
        profile["metadata"]["labels"] = labels;
        let status = json!({"status": fleet::status(described, 0, now)});
        async move {
            send(client, http::Request::post(&path), &profile).await?;
            let path = format!("{path}/{}/status", fleet::name(number));
            send(client, http::Request::patch(&path), &status).await
        }
    });
    publishing
        .buffer_unordered(AT_ONCE)
        .try_for_each(|()| async { Ok(()) })
        .await?;
    Ok(count)
}

async fn send(client: &Client, request: http::request::Builder, body: &Value) -> anyhow::Result<()> {
    let is_patch = request.method_ref() == Some(&http::Method::PATCH);
    let kind = if is_patch {
        "application/merge-patch+json"
    } else {
        "application/json"
    };
    let request = request
        .header("content-type", kind)
        .body(body.to_string().into_bytes())?;
    client.request_text(request).await?;
    Ok(())
}
