//! Reading large dumps and evidence files, next to serde_json reading the same JSON into the same types.

use std::{
    env,
    fs::File,
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::ensure;
use clap::{Args, ValueEnum};
use evidence::{Digester, api::ClusterProfile, file, read_input};
use serde::Deserialize;
use tokio::process::Command;

use crate::{
    fleet,
    measure::{self, Usage, median, megabytes, ratio, seconds},
};

/// How many times as long as serde_json a whole run may take.
const GOAL: f64 = 2.0;
/// How many times as long judging may take, on two cores.
const GOAL_JUDGING: f64 = 0.25;
/// How much memory it may take at 100,000 profiles, in bytes.
const GOAL_PEAK: u64 = 400_000_000;

/// Read large dumps and evidence files
#[derive(Args)]
pub struct Arguments {
    /// How many profiles there are
    #[arg(long, default_value_t = 100_000)]
    profiles: usize,
    /// How often everything is measured
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Do only this with a file, to be measured from outside
    #[arg(long, hide = true, requires = "file")]
    only: Option<Task>,
    /// The file
    #[arg(long, hide = true)]
    file: Option<PathBuf>,
}

/// What is measured in a process of its own.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Task {
    /// Read a list of profiles by serde_json alone
    Serde,
    /// Read a dump or an evidence file, and judge nothing
    Read,
    /// Run the suite on it
    #[value(skip)]
    Run,
}

const SUITE: &str = env!("CARGO_BIN_EXE_clusterprofile-conformance");

#[tokio::main]
pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    if let (Some(task), Some(path)) = (arguments.only, &arguments.file) {
        return perform(task, path);
    }
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    let (json, record) = (path("dump.json"), path("evidence.jsonl.zst"));
    write_json(&json, arguments.profiles)?;
    let input = read_input(&json, &Digester::new([7; 32]))?;
    file::write_named(&input.evidence, &record, File::create(&record)?)?;
    drop(input);
    let mut rows = [
        Row::new("serde_json: a list into profiles", Task::Serde, &json)?,
        Row::new("read the same dump", Task::Read, &json)?,
        Row::new("run --from the same dump", Task::Run, &json)?,
        Row::new("read its evidence file", Task::Read, &record)?,
    ];
    for _ in 0..arguments.rounds {
        for row in &mut rows {
            row.usages
                .push(measure::run(row.task.command(&row.file)?, &[0, 1, 3]).await?);
        }
    }
    println!("{} profiles", arguments.profiles);
    println!(
        "medians {:>37} {:>8} {:>6} {:>8} {:>12}",
        "size", "wall", "ratio", "cpu", "peak memory"
    );
    let base = rows[0].wall();
    for row in &rows {
        row.print(base);
    }
    let judging = rows[2].wall().saturating_sub(rows[1].wall());
    let (time, times) = (seconds(judging), ratio(judging, base));
    println!("judging and reporting: {time}, {times:.2} times serde_json");
    let peak = megabytes(Some(GOAL_PEAK));
    println!(
        "goals: a run at most {GOAL} times serde_json, judging {GOAL_JUDGING} times; at 100000 profiles a peak of {peak}"
    );
    Ok(())
}

/// A row of the table.
struct Row {
    name: &'static str,
    task: Task,
    file: PathBuf,
    size: u64,
    usages: Vec<Usage>,
}

impl Row {
    fn new(name: &'static str, task: Task, file: &Path) -> anyhow::Result<Self> {
        Ok(Self {
            name,
            task,
            file: file.to_owned(),
            size: file.metadata()?.len(),
            usages: Vec::new(),
        })
    }

    fn wall(&self) -> Duration {
        median(self.usages.iter().map(|usage| usage.wall))
    }

    fn print(&self, base: Duration) {
        let cpu = median(self.usages.iter().map(|usage| usage.cpu.unwrap_or_default()));
        println!(
            "{:<36} {:>5} MB {:>8} {:>6.2} {:>8} {:>12}",
            self.name,
            self.size / 1_000_000,
            seconds(self.wall()),
            ratio(self.wall(), base),
            seconds(cpu),
            megabytes(self.usages.iter().filter_map(|usage| usage.peak).max())
        );
    }
}

impl Task {
    /// The process that does it.
    fn command(self, file: &Path) -> anyhow::Result<Command> {
        let (program, arguments) = match self {
            Task::Serde => (env::current_exe()?, ["dumps", "--only", "serde", "--file"]),
            Task::Read => (env::current_exe()?, ["dumps", "--only", "read", "--file"]),
            Task::Run => (SUITE.into(), ["run", "--format", "pretty", "--from"]),
        };
        let mut command = Command::new(program);
        command.args(arguments).arg(file);
        Ok(command)
    }
}

fn perform(task: Task, path: &Path) -> anyhow::Result<()> {
    #[derive(Deserialize)]
    struct List {
        items: Vec<ClusterProfile>,
    }
    let count = match task {
        Task::Serde => serde_json::from_slice::<List>(&std::fs::read(path)?)?.items.len(),
        _ => read_input(path, &Digester::new([7; 32]))?.evidence.profiles.len(),
    };
    ensure!(count > 0, "the file has no profile");
    Ok(())
}

/// A list as kubectl writes it, on one line.
fn write_json(path: &Path, count: usize) -> anyhow::Result<()> {
    let (now, mut into) = (fleet::created_at(), BufWriter::new(File::create(path)?));
    write!(into, r#"{{"apiVersion":"v1","items":["#)?;
    for number in 0..count {
        let separator = if number > 0 { "," } else { "" };
        write!(into, "{separator}{}", fleet::shown(number, now))?;
    }
    writeln!(into, r#"],"kind":"List","metadata":{{"resourceVersion":""}}}}"#)?;
    Ok(into.flush()?)
}
