//! Reading large dumps and evidence files, next to serde_json reading the same JSON into the same types.

use std::{
    env,
    fs::{self, File},
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
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
#[derive(Clone, Copy, ValueEnum)]
enum Task {
    /// Read a list of profiles by serde_json alone
    Serde,
    /// Read a dump or an evidence file, and judge nothing
    Read,
    /// Run the suite on it
    #[value(skip)]
    Run,
}

#[tokio::main]
pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    if let (Some(task), Some(path)) = (arguments.only, &arguments.file) {
        return perform(task, path);
    }
    let folder = tempfile::tempdir()?;
    let [json, record] = ["dump.json", "evidence.jsonl.zst"].map(|name| folder.path().join(name));
    write_json(&json, arguments.profiles)?;
    let evidence = read_input(&json, &Digester::new([7; 32]))?.evidence;
    file::write_named(&evidence, &record, File::create(&record)?)?;
    drop(evidence);
    println!("{} profiles", arguments.profiles);
    println!("{:<36} {:>8} {:>6} {:>12}", "", "median", "ratio", "peak memory");
    let rows = [
        ("serde_json: a list into profiles", Task::Serde, &json),
        ("read the same dump", Task::Read, &json),
        ("run --from the same dump", Task::Run, &json),
        ("read its evidence file", Task::Read, &record),
    ];
    let mut usages = rows.map(|_| Vec::new());
    for _ in 0..arguments.rounds {
        for ((_, task, path), usages) in rows.iter().zip(&mut usages) {
            usages.push(measure::run(task.command(path)?, &[0, 1, 3]).await?);
        }
    }
    let wall = |usages: &Vec<Usage>| median(&usages.iter().map(|usage| usage.wall).collect::<Vec<_>>());
    let walls = usages.each_ref().map(wall);
    for (((name, ..), usages), wall) in rows.iter().zip(&usages).zip(walls) {
        let peak = megabytes(usages.iter().filter_map(|usage| usage.peak).max());
        let ratio = ratio(wall, walls[0]);
        println!("{name:<36} {:>8} {ratio:>6.2} {peak:>12}", seconds(wall));
    }
    Ok(())
}

impl Task {
    fn command(self, file: &Path) -> anyhow::Result<Command> {
        const SUITE: &str = env!("CARGO_BIN_EXE_clusterprofile-conformance");
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
        Task::Serde => serde_json::from_slice::<List>(&fs::read(path)?)?.items.len(),
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
