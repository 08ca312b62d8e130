//! A monitor beside a hub whose profiles change all the time: what it takes from the machine, and how soon it shows what
//! breaks.
//!
//! The monitor is a program of its own. The hub is a real API server unless told otherwise.

use std::{path::Path, process::Stdio, time::Duration};

use ::lab::hub::Hub;
use anyhow::{Context, ensure};
use clap::Args;
use collect::clock::Clock;
use futures::{StreamExt as _, TryStreamExt as _, future::ready};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
    process::{Child, Command},
    time::{Instant, interval, sleep, timeout},
};

use crate::support::{
    child::{cpu_of, resident},
    figures::Figures,
    fleet,
    hub::{self, Server},
    measure::{median, megabytes, ratio, seconds},
};

/// How often Prometheus would scrape.
const SCRAPE: Duration = Duration::from_secs(15);
/// How often metrics are read while a break is waited for.
const POLL: Duration = Duration::from_millis(200);
/// How often the monitor is asked whether it lives.
const PING: Duration = Duration::from_millis(100);
/// How long after one profile is broken the next one is.
const BETWEEN: Duration = Duration::from_secs(3);
/// A new bucket holds ten status writes. A slow hub takes so long for these that it gains one or two.
const TOO_MANY: usize = 14;
/// How long a profile may be left alone at least: its bucket gains a write in this time.
const REFILL: usize = 30;
/// How long the monitor may take to show anything at all.
const PATIENCE: Duration = Duration::from_secs(120);
const BUDGET: &str = "updates/status-writes-within-budget";

/// Monitor a fleet whose status is written all the time
#[derive(Args)]
pub struct Arguments {
    /// The API server that has it
    #[arg(long, value_enum, default_value_t = Server::Envtest)]
    hub: Server,
    /// How many profiles there are
    #[arg(long, default_value_t = 10_000)]
    profiles: usize,
    /// How many status writes there are in a second, as far as the hub takes them
    #[arg(long, default_value_t = 100)]
    rate: u32,
    /// For how many seconds nothing is written
    #[arg(long, default_value_t = 125)]
    rest: u64,
    /// For how many seconds status is written
    #[arg(long, default_value_t = 185)]
    seconds: u64,
    /// How many profiles are broken after that, one by one, while status is written
    #[arg(long, default_value_t = 12)]
    breaks: usize,
    /// The monitor's window
    #[arg(long, default_value = "1h")]
    window: String,
}

#[tokio::main]
pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    ensure!(
        arguments.rate as usize * REFILL <= arguments.profiles,
        "so many writes overdraw the budgets of so few profiles"
    );
    let hub = arguments.hub.start().await?;
    let outcome = bench(&arguments, &hub).await;
    hub.stop().await?;
    outcome
}

async fn bench(arguments: &Arguments, hub: &Hub) -> anyhow::Result<()> {
    let Arguments { profiles, rate, .. } = *arguments;
    fleet::publish(hub, profiles).await?;
    let folder = tempfile::tempdir()?;
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, hub::kubeconfig(hub).await?)?;
    let began = Instant::now();
    let monitor = Monitor::start(&kubeconfig, &arguments.window).await?;
    monitor.wait_for("_verdicts_fresh", 1.0).await?;
    println!(
        "{}: {profiles} profiles; verdicts {} after the monitor's start; memory {}\n",
        arguments.hub.name(),
        seconds(began.elapsed()),
        megabytes(resident(monitor.id))
    );
    println!(
        "{:<44} {:>8} {:>12} {:>10} {:>16} {:>16}",
        "", "a core", "memory", "versions", "/healthz median", "worst"
    );
    monitor
        .measure("no changes", async {
            monitor.scraped(sleep(Duration::from_secs(arguments.rest))).await
        })
        .await?;

    let mut written = 0;
    let writing = async {
        let count = fleet::writes(hub, profiles, rate)?
            .take_until(sleep(Duration::from_secs(arguments.seconds)))
            .try_fold(0, |count: usize, _| ready(Ok(count + 1)));
        let (count, scrapes) = futures::join!(count, async {
            monitor
                .scraped(sleep(Duration::from_secs(arguments.seconds)))
                .await
        });
        written = count?;
        scrapes
    };
    let what = format!("up to {rate} changes a second");
    let (share, scrapes) = monitor.measure(&what, writing).await?;

    let breaking = async {
        let mut writes = std::pin::pin!(fleet::writes(hub, profiles, rate)?);
        let endless = async {
            while let Some(written) = writes.next().await {
                written?;
            }
            anyhow::Ok(())
        };
        tokio::select! {
            broken = monitor.breaks(hub, arguments) => broken,
            ended = endless => {
                ended?;
                anyhow::bail!("the writing ended")
            }
        }
    };
    let (_, broken) = monitor
        .measure("the same, with profiles that break", breaking)
        .await?;

    println!(
        "\n{:.0} status writes a second; scrapes {}, worst {}, {} bytes",
        written as f64 / arguments.seconds as f64,
        seconds(median(scrapes.iter().map(|scrape| scrape.took))),
        seconds(scrapes.iter().map(|scrape| scrape.took).max().unwrap_or_default()),
        scrapes
            .iter()
            .map(|scrape| scrape.text.len())
            .max()
            .unwrap_or_default()
    );
    println!(
        "{} profiles broken: shown after {}, worst {}",
        broken.shown.len(),
        seconds(median(broken.shown.iter().copied())),
        seconds(broken.shown.iter().copied().max().unwrap_or_default())
    );
    println!(
        "{} judgements meanwhile: {}, worst {}",
        broken.judged.len(),
        seconds(median(broken.judged.iter().copied())),
        seconds(broken.judged.iter().copied().max().unwrap_or_default())
    );
    let last = monitor.scrape().await?;
    ensure!(
        last.sum("_watch_gap_seconds_total", "") == 0.0,
        "the watch was interrupted"
    );
    println!("goals: less than half a core; shown within 30 s");
    let mut figures = Figures::of("monitor");
    if let Some(share) = share {
        figures.add(
            format!(
                "CPU beside the time, {profiles} profiles on {}, {rate} changes a second",
                arguments.hub.name()
            ),
            share,
        );
    }
    figures.compare()?;
    Ok(())
}

/// A monitor that runs.
struct Monitor {
    address: String,
    id: u32,
    /// Ends with this.
    _child: Child,
}

/// What `/metrics` says.
struct Scrape {
    text: String,
    took: Duration,
}

/// What became of profiles that were broken.
#[derive(Default)]
struct Broken {
    /// How long after the write that broke one it was shown.
    shown: Vec<Duration>,
    /// How long each judgement took.
    judged: Vec<Duration>,
}

impl Monitor {
    async fn start(kubeconfig: &Path, window: &str) -> anyhow::Result<Self> {
        let mut child = Command::new(env!("CARGO_BIN_EXE_clusterprofile-conformance"))
            .args(["monitor", "--listen=127.0.0.1:0", "--window", window])
            .args(["--api-version", fleet::VERSION, "--kubeconfig"])
            .arg(kubeconfig)
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut lines = BufReader::new(child.stderr.take().context("no pipe")?).lines();
        let first = lines.next_line().await?.context("it says nothing")?;
        let address = first
            .strip_prefix("serving http://")
            .and_then(|rest| rest.split_once('/'));
        let address = address.with_context(|| first.clone())?.0.to_owned();
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                if !line.starts_with("note: ") {
                    eprintln!("monitor: {line}");
                }
            }
        });
        let id = child.id().context("it has ended")?;
        Ok(Self {
            address,
            id,
            _child: child,
        })
    }

    async fn get(&self, path: &str) -> anyhow::Result<Scrape> {
        let began = Instant::now();
        let mut stream = TcpStream::connect(&self.address).await?;
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        let took = began.elapsed();
        let (head, text) = answer.split_once("\r\n\r\n").context("no whole answer")?;
        ensure!(head.starts_with("HTTP/1.1 200"), "{path}: {head}");
        let text = text.to_owned();
        Ok(Scrape { text, took })
    }

    async fn scrape(&self) -> anyhow::Result<Scrape> {
        self.get("/metrics").await
    }

    async fn wait_for(&self, series: &str, value: f64) -> anyhow::Result<()> {
        let waiting = async {
            while self.scrape().await?.sum(series, "") != value {
                sleep(POLL).await;
            }
            Ok(())
        };
        let waited = timeout(PATIENCE, waiting).await;
        waited.with_context(|| format!("{series} never became {value}"))?
    }

    /// Scrapes now and then while something goes on.
    async fn scraped(&self, work: impl Future) -> anyhow::Result<Vec<Scrape>> {
        let mut scrapes = Vec::new();
        let mut ticks = interval(SCRAPE);
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                biased;
                _ = &mut work => return Ok(scrapes),
                _ = ticks.tick() => scrapes.push(self.scrape().await?),
            }
        }
    }

    /// Prints what the monitor takes, and how fast it answers, while something goes on. Gives the share of a core.
    async fn measure<T>(
        &self,
        what: &str,
        work: impl Future<Output = anyhow::Result<T>>,
    ) -> anyhow::Result<(Option<f64>, T)> {
        let (before, began) = (cpu_of(self.id), Instant::now());
        let mut answered = Vec::new();
        let pinging = async {
            let mut ticks = interval(PING);
            loop {
                ticks.tick().await;
                match self.get("/healthz").await {
                    Ok(answer) => answered.push(answer.took),
                    Err(error) => return error,
                }
            }
        };
        let done = tokio::select! {
            done = work => done?,
            error = pinging => return Err(error),
        };
        let took = began.elapsed();
        let cpu = cpu_of(self.id).zip(before).map(|(after, before)| after - before);
        let share = cpu.map(|cpu| ratio(cpu, took));
        println!(
            "{:<44} {:>8} {:>12} {:>10} {:>16} {:>16}",
            format!("{what}, {} s", took.as_secs()),
            share.map_or("?".to_owned(), |share| format!("{share:.3}")),
            megabytes(resident(self.id)),
            self.scrape().await?.sum("_versions", ""),
            seconds(median(answered.iter().copied())),
            seconds(answered.iter().copied().max().unwrap_or_default())
        );
        Ok((share, done))
    }

    /// Breaks profiles one by one, and waits until each one is shown.
    async fn breaks(&self, hub: &Hub, arguments: &Arguments) -> anyhow::Result<Broken> {
        let client = hub.client_as("reference-manager", fleet::MANAGER)?;
        let mut broken = Broken::default();
        let mut known = self.scrape().await?;
        // Far from what is written at the same time.
        let places = (0..arguments.breaks).map(|turn| arguments.profiles - 1 - turn);
        for (turn, number) in places.enumerate() {
            let profiles = fleet::profiles(&client, fleet::namespace(number));
            for write in 0..TOO_MANY {
                let now = Clock::system().now();
                fleet::write_status(&profiles, number, 1000 + write, now).await?;
            }
            let written = Instant::now();
            let mut shown = false;
            let mut ticks = interval(POLL);
            while !shown || written.elapsed() < BETWEEN {
                ticks.tick().await;
                let scrape = self.scrape().await?;
                let judgements = scrape.judgements() - known.judgements();
                if judgements > 0.0 {
                    let took = (scrape.judging() - known.judging()) / judgements;
                    broken.judged.push(Duration::from_secs_f64(took));
                }
                if !shown && scrape.sum("_findings{", BUDGET) > turn as f64 {
                    shown = true;
                    broken.shown.push(written.elapsed());
                }
                ensure!(written.elapsed() < PATIENCE, "a broken profile is never shown");
                known = scrape;
            }
        }
        Ok(broken)
    }
}

impl Scrape {
    /// The sum of the series whose name and labels begin with that, and hold that.
    fn sum(&self, series: &str, label: &str) -> f64 {
        let lines = self.text.lines().filter(|line| line.contains(label));
        let values = lines.filter_map(|line| {
            let rest = line.strip_prefix("clusterprofile_conformance")?;
            rest.strip_prefix(series)?.rsplit_once(' ')?.1.parse::<f64>().ok()
        });
        values.sum()
    }

    fn judgements(&self) -> f64 {
        self.sum("_judge_duration_seconds_count", "")
    }

    /// How many seconds judging has taken so far.
    fn judging(&self) -> f64 {
        self.sum("_judge_duration_seconds_sum", "")
    }
}
