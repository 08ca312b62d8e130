//! Times and memory of programs, and how they are printed.

use std::{fs, process::Stdio, time::Duration};

use anyhow::{Context, ensure};
use tokio::{
    process::Command,
    time::{Instant, MissedTickBehavior, interval},
};

/// How often the system is asked. What a program uses after the last time is missed.
const EVERY: Duration = Duration::from_millis(2);
/// Linux reports CPU time in units of this.
const TICK: Duration = Duration::from_millis(10);

#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// From its start to its end.
    pub wall: Duration,
    /// CPU time of all its threads; only on Linux.
    pub cpu: Option<Duration>,
    /// Its largest resident memory in bytes; only on Linux.
    pub peak: Option<u64>,
}

/// Runs a program to its end without its standard output. Fails if it cannot be started, or ends with another exit code.
pub async fn run(mut command: Command, codes: &[i32]) -> anyhow::Result<Usage> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .kill_on_drop(true);
    let started = Instant::now();
    let mut child = command.spawn().context("failed to start the program")?;
    let id = child.id().context("the program has no process id")?;
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let (mut cpu, mut peak) = (None, None);
    let status = loop {
        tokio::select! {
            status = child.wait() => break status?,
            _ = ticks.tick() => {
                cpu = cpu_time(id).or(cpu);
                peak = memory(id, "VmHWM:").or(peak);
            }
        }
    };
    let wall = started.elapsed();
    let is_expected = status.code().is_some_and(|code| codes.contains(&code));
    ensure!(
        is_expected,
        "{:?} failed: {status}",
        command.as_std().get_program()
    );
    Ok(Usage { wall, cpu, peak })
}

/// A field of `/proc/ID/status` in bytes: `VmRSS:` is the resident memory, `VmHWM:` its peak.
pub fn memory(id: u32, field: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

fn cpu_time(id: u32) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name, in parentheses, may have spaces; user and system time are the 12th and 13th field after it.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u32>().ok();
    Some(TICK * (ticks()? + ticks()?))
}

pub fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let started = Instant::now();
    let done = work();
    (done, started.elapsed())
}

/// The middle one (the upper of two): one disturbed round does not count.
pub fn median(durations: &[Duration]) -> Duration {
    let mut durations = durations.to_vec();
    durations.sort_unstable();
    durations[durations.len() / 2]
}

pub fn ratio(duration: Duration, base: Duration) -> f64 {
    duration.as_secs_f64() / base.as_secs_f64()
}

/// In seconds, to the millisecond.
pub fn seconds(duration: Duration) -> String {
    format!("{:.3} s", duration.as_secs_f64())
}

/// In MB (a million bytes), where it was measured.
pub fn megabytes(bytes: Option<u64>) -> String {
    bytes.map_or("not measured".to_owned(), |bytes| {
        format!("{:.1} MB", bytes as f64 / 1e6)
    })
}
