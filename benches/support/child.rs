//! A program as a whole: how long it runs, and what it takes from the machine.

use std::{fs, process::Stdio, time::Duration};

use anyhow::{Context, ensure};
use tokio::{
    process::Command,
    time::{Instant, MissedTickBehavior, interval},
};

/// How often the system is asked. What a program takes after the last time it was asked is missed.
const EVERY: Duration = Duration::from_millis(2);
/// Linux tells CPU time in units of this.
const TICK: Duration = Duration::from_millis(10);

/// What a program took.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// From its start to its end.
    pub wall: Duration,
    /// CPU time of all its threads; only on Linux.
    pub cpu: Option<Duration>,
    /// The most memory that it had at once (resident), in bytes; only on Linux.
    pub peak: Option<u64>,
}

/// Runs a program to its end, which has to be with one of these exit codes.
///
/// # Errors
/// When it cannot be started, or ends otherwise.
pub async fn run(mut command: Command, codes: &[i32]) -> anyhow::Result<Taken> {
    command.stdin(Stdio::null()).kill_on_drop(true);
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
                cpu = cpu_of(id).or(cpu);
                peak = peak_of(id).or(peak);
            }
        }
    };
    let wall = started.elapsed();
    ensure!(
        status.code().is_some_and(|code| codes.contains(&code)),
        "{:?} failed: {status}",
        command.as_std().get_program()
    );
    Ok(Taken { wall, cpu, peak })
}

fn peak_of(id: u32) -> Option<u64> {
    memory(id, "VmHWM:")
}

/// The memory that a program has now (resident), in bytes; only on Linux.
pub fn resident(id: u32) -> Option<u64> {
    memory(id, "VmRSS:")
}

fn memory(id: u32, field: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// The CPU time that all threads of a program have taken so far; only on Linux.
pub fn cpu_of(id: u32) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name, in parentheses, may have spaces; user and system time are the 12th and 13th field after it.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u32>().ok();
    Some(TICK * (ticks()? + ticks()?))
}
