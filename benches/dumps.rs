//! Reading large dumps and evidence files, beside what serde_json takes to read the same JSON into the same types.

use std::{
    env,
    fs::File,
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};
use evidence::{Digester, api::ClusterProfile, file, read_input};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json, ser::PrettyFormatter};
use tokio::process::Command;

use crate::support::{
    child::{self, Taken},
    fleet,
    measure::{median, megabytes, ratio, seconds},
};

/// How many times as long as serde_json a whole run may take.
const GOAL: f64 = 2.0;
/// How many times as long judging may take, on two cores.
const GOAL_JUDGING: f64 = 0.25;
/// How much memory it may take at 100,000 profiles, in bytes.
const GOAL_PEAK: u64 = 400_000_000;

/// Two rows of the table.
const READ: &str = "read the same dump";
const RUN: &str = "run --from the same dump";

/// Read large dumps and evidence files
#[derive(Args)]
pub struct Arguments {
    /// How many profiles there are
    #[arg(long, default_value_t = 100_000)]
    profiles: usize,
    /// How many profiles the dump in YAML has, which takes many times as long
    #[arg(long, default_value_t = 10_000)]
    yaml_profiles: usize,
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

/// What is measured as a process of its own.
#[derive(Clone, Copy, ValueEnum)]
enum Task {
    /// Read a list of profiles by serde_json alone
    Serde,
    /// Read a dump or an evidence file, and judge nothing
    Read,
    /// Write the evidence that a dump holds beside it, packed and not
    Record,
}

#[tokio::main]
pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    if let (Some(task), Some(path)) = (arguments.only, &arguments.file) {
        return perform(task, path);
    }
    let folder = tempfile::tempdir()?;
    let now = fleet::created_at();
    let path = |name: &str| folder.path().join(name);
    let (json, pretty, yaml) = (path("dump.json"), path("kubectl.json"), path("dump.yaml"));
    write_compact(&json, arguments.profiles, now)?;
    write_pretty(&pretty, arguments.profiles, now)?;
    write_yaml(&yaml, arguments.yaml_profiles, now)?;
    own(Task::Record, &json).await?;
    println!(
        "{} profiles, {} in YAML",
        arguments.profiles, arguments.yaml_profiles
    );
    println!(
        "{:<44} {:>8} {:>8} {:>6} {:>8} {:>12}",
        "medians", "size", "wall", "ratio", "cpu", "peak memory"
    );
    let mut base = Vec::new();
    let mut rows = Rows::default();
    for _ in 0..arguments.rounds {
        base.push(own(Task::Serde, &json).await?);
        for (what, file) in [
            (READ, &json),
            ("read it as kubectl indents it", &pretty),
            ("read its evidence file", &json.with_extension("jsonl")),
            (
                "read its evidence file, packed",
                &json.with_extension("jsonl.zst"),
            ),
            ("read a dump in YAML", &yaml),
        ] {
            rows.add(what, file, own(Task::Read, file).await?);
        }
        rows.add(RUN, &json, suite(&json).await?);
    }
    let base_wall = median(base.iter().map(|taken| taken.wall));
    row("serde_json: a list into profiles", &json, &base, base_wall)?;
    for (what, file, taken) in &rows.0 {
        row(what, file, taken, base_wall)?;
    }
    let beyond = rows.wall_beyond(RUN, READ);
    println!(
        "judging and reporting, which is what the run takes beyond the reading: {}, {:.2} times serde_json",
        seconds(beyond),
        ratio(beyond, base_wall)
    );
    println!(
        "goals: a run at most {GOAL} times serde_json, judging {GOAL_JUDGING} times; at 100000 profiles a peak of at most {}",
        megabytes(Some(GOAL_PEAK))
    );
    Ok(())
}

/// What was measured, in the order of the table.
#[derive(Default)]
struct Rows(Vec<(&'static str, PathBuf, Vec<Taken>)>);

impl Rows {
    fn add(&mut self, what: &'static str, file: &Path, taken: Taken) {
        match self.0.iter_mut().find(|(known, _, _)| *known == what) {
            Some((_, _, rounds)) => rounds.push(taken),
            None => self.0.push((what, file.to_owned(), vec![taken])),
        }
    }

    /// How much longer the first of these takes than the second: the median of what each round showed.
    fn wall_beyond(&self, what: &str, less: &str) -> Duration {
        let walls = |what: &str| -> Vec<Duration> {
            let rows = self.0.iter().filter(|(known, _, _)| *known == what);
            rows.flat_map(|(_, _, taken)| taken)
                .map(|taken| taken.wall)
                .collect()
        };
        let both = walls(what).into_iter().zip(walls(less));
        median(both.map(|(whole, part)| whole.saturating_sub(part)))
    }
}

fn row(what: &str, file: &Path, taken: &[Taken], base: Duration) -> anyhow::Result<()> {
    let wall = median(taken.iter().map(|taken| taken.wall));
    let cpu = median(taken.iter().map(|taken| taken.cpu.unwrap_or_default()));
    let peak = taken.iter().filter_map(|taken| taken.peak).max();
    println!(
        "{what:<44} {:>8} {:>8} {:>6.2} {:>8} {:>12}",
        format!("{} MB", file.metadata()?.len() / 1_000_000),
        seconds(wall),
        ratio(wall, base),
        seconds(cpu),
        megabytes(peak)
    );
    Ok(())
}

/// Does a task in a process of its own.
async fn own(task: Task, path: &Path) -> anyhow::Result<Taken> {
    let mut command = Command::new(env::current_exe()?);
    let name = task.to_possible_value().context("a task has a name")?;
    command
        .args(["dumps", "--only", name.get_name(), "--file"])
        .arg(path)
        .stdout(std::process::Stdio::null());
    child::run(command, &[0]).await
}

/// The whole program, from its start to its report.
async fn suite(path: &Path) -> anyhow::Result<Taken> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clusterprofile-conformance"));
    command
        .args(["run", "--format", "terse", "--from"])
        .arg(path)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null());
    child::run(command, &[0, 1, 3]).await
}

fn perform(task: Task, path: &Path) -> anyhow::Result<()> {
    #[derive(Deserialize)]
    struct List {
        items: Vec<ClusterProfile>,
    }
    match task {
        Task::Serde => {
            let list: List = serde_json::from_slice(&std::fs::read(path)?)?;
            ensure!(!list.items.is_empty(), "the list is empty");
        }
        Task::Read => {
            let input = read_input(path, &Digester::new([7; 32]))?;
            ensure!(!input.evidence.profiles.is_empty(), "the dump is empty");
        }
        Task::Record => {
            let input = read_input(path, &Digester::new([7; 32]))?;
            for ending in ["jsonl", "jsonl.zst"] {
                let path = path.with_extension(ending);
                file::write_named(&input.evidence, &path, std::fs::File::create(&path)?)?;
            }
        }
    }
    Ok(())
}

/// The head of a list as kubectl writes it, before and after the items.
const AROUND: [&str; 2] = [
    r#"{"apiVersion":"v1","items":["#,
    r#"],"kind":"List","metadata":{"resourceVersion":""}}"#,
];

fn write_compact(path: &Path, count: usize, now: Timestamp) -> anyhow::Result<()> {
    let mut into = BufWriter::new(File::create(path)?);
    write!(into, "{}", AROUND[0])?;
    for number in 0..count {
        let separator = if number > 0 { "," } else { "" };
        write!(into, "{separator}{}", fleet::shown(number, now))?;
    }
    writeln!(into, "{}", AROUND[1])?;
    Ok(into.flush()?)
}

/// With four spaces for each level.
fn write_pretty(path: &Path, count: usize, now: Timestamp) -> anyhow::Result<()> {
    let mut into = BufWriter::new(File::create(path)?);
    writeln!(into, "{{\n    \"apiVersion\": \"v1\",\n    \"items\": [")?;
    for number in 0..count {
        let mut text = Vec::new();
        let formatter = PrettyFormatter::with_indent(b"    ");
        let mut serializer = serde_json::Serializer::with_formatter(&mut text, formatter);
        fleet::shown(number, now).serialize(&mut serializer)?;
        let text = String::from_utf8(text)?.replace('\n', "\n        ");
        let end = if number + 1 < count { "," } else { "" };
        writeln!(into, "        {text}{end}")?;
    }
    writeln!(
        into,
        "    ],\n    \"kind\": \"List\",\n    \"metadata\": {{}}\n}}"
    )?;
    Ok(into.flush()?)
}

fn write_yaml(path: &Path, count: usize, now: Timestamp) -> anyhow::Result<()> {
    let mut into = BufWriter::new(File::create(path)?);
    writeln!(into, "apiVersion: v1\nitems:")?;
    for number in 0..count {
        write!(into, "{}", yaml_list_of_one(&fleet::shown(number, now))?)?;
    }
    writeln!(into, "kind: List\nmetadata:\n  resourceVersion: \"\"")?;
    Ok(into.flush()?)
}

/// A YAML list without indentation, as kubectl writes it.
fn yaml_list_of_one(value: &Value) -> anyhow::Result<String> {
    let text = serde_saphyr::to_string(&json!(value))?;
    let mut list = String::new();
    for (number, line) in text.lines().enumerate() {
        list.push_str(if number == 0 { "- " } else { "  " });
        list.push_str(line);
        list.push('\n');
    }
    Ok(list)
}
