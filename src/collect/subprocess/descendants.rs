//! Ends all that a subprocess has started.
//!
//! Most of it is in the subprocess's process group. A process that has left the group, such as a daemon after its second
//! fork, is known by a variable in its environment, which Linux shows in /proc. Out of reach remain: elsewhere than on
//! Linux, each process that leaves the group; everywhere, one with a cleared environment, of another user, or started by
//! a service such as a container engine.

use std::{
    fs,
    hash::{BuildHasher as _, RandomState},
};

use tokio::process::{Child, Command};

use super::reaper::Reaper;

/// The variable by which a process outside of the group is known.
pub(super) const MARK: &str = "CONFORMANCE_SUBPROCESS";
/// How often to look for such processes: one may fork while it is being killed.
const SWEEPS: usize = 5;

/// The processes of one subprocess. Dropping it kills them, unless they were released.
pub(super) struct Descendants<'a> {
    reaper: Option<&'a Reaper>,
    mark: Mark,
    /// The process group; none if the subprocess shares ours.
    group: Option<u32>,
    is_released: bool,
}

/// The value of the variable for one subprocess.
pub(super) struct Mark(String);

impl Mark {
    /// Gives the command a value that no other has.
    pub fn on(command: &mut Command) -> Self {
        let mark = Self(format!(
            "{:016x}",
            RandomState::new().hash_one(std::process::id())
        ));
        command.env(MARK, &mark.0);
        mark
    }

    pub fn value(&self) -> &str {
        &self.0
    }

    /// The ids of the processes that have it; none where there is no /proc.
    fn processes(&self) -> Vec<u32> {
        let variable = format!("{MARK}={}", self.0);
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let marked = processes.filter_map(|process| {
            let id = process.file_name().to_str()?.parse().ok()?;
            // Unreadable for other users' processes.
            let environment = fs::read(process.path().join("environ")).ok()?;
            let is_marked = environment
                .split(|byte| *byte == 0)
                .any(|one| one == variable.as_bytes());
            is_marked.then_some(id)
        });
        marked.collect()
    }
}

impl<'a> Descendants<'a> {
    /// Those of a child that has just started.
    pub fn of(child: &Child, mark: Mark, has_own_group: bool, reaper: Option<&'a Reaper>) -> Self {
        let group = child.id().filter(|_| has_own_group);
        if let Some(reaper) = reaper {
            reaper.watch(mark.value(), group);
        }
        Self {
            reaper,
            mark,
            group,
            is_released: false,
        }
    }

    /// Asks the process group to end.
    pub fn ask(&self) {
        if let Some(group) = self.group {
            signal::end_group(group);
        }
    }

    /// Kills the process group, and all that has left it.
    pub fn kill(&self) {
        if let Some(group) = self.group {
            signal::kill_group(group);
        }
        for _ in 0..SWEEPS {
            let marked = self.mark.processes();
            if marked.is_empty() {
                return;
            }
            marked.into_iter().for_each(signal::kill);
        }
    }

    /// Lets those that are left go on.
    pub fn release(&mut self) {
        if !self.is_released
            && let Some(reaper) = self.reaper
        {
            reaper.forget(self.mark.value(), self.group);
        }
        self.is_released = true;
    }
}

impl Drop for Descendants<'_> {
    fn drop(&mut self) {
        if !self.is_released {
            self.kill();
            self.release();
        }
    }
}

#[cfg(unix)]
mod signal {
    use rustix::process::{Pid, Signal, kill_process, kill_process_group};

    // Each fails only if there is no such process any more, as wanted.

    pub fn end_group(group: u32) {
        let _ = pid(group).map(|group| kill_process_group(group, Signal::TERM));
    }

    pub fn kill_group(group: u32) {
        let _ = pid(group).map(|group| kill_process_group(group, Signal::KILL));
    }

    pub fn kill(process: u32) {
        let _ = pid(process).map(|process| kill_process(process, Signal::KILL));
    }

    fn pid(id: u32) -> Option<Pid> {
        Pid::from_raw(id.try_into().ok()?)
    }
}

/// Without process groups: only the program itself is killed.
#[cfg(not(unix))]
mod signal {
    pub fn end_group(_: u32) {}
    pub fn kill_group(_: u32) {}
    pub fn kill(_: u32) {}
}
