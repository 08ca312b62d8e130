//! Ends all that a subprocess has started.
//!
//! Most of it is in the subprocess's process group. On Linux, /proc shows the others: whose parent is one of them, or whose
//! environment has a variable of ours. A daemon after its second fork whose environment was cleared is known as an orphan that
//! this process has adopted, unless other subprocesses run, whose it may be. Out of reach remain: elsewhere than on Linux, each
//! process that leaves the group; everywhere, one of another user, or started by a service such as a container engine.

use std::{
    collections::BTreeSet,
    fs,
    hash::{BuildHasher as _, RandomState},
};

use tokio::process::{Child, Command};

use super::{
    processes::{self, MARK, Process},
    reaper::Reaper,
};

/// How often to look for such processes: one may fork while it is being killed.
const SWEEPS: usize = 5;

/// The processes of one subprocess. Dropping it kills them, unless they were released.
pub(super) struct Descendants<'a> {
    reaper: Option<&'a Reaper>,
    mark: Mark,
    /// The subprocess itself.
    child: Option<u32>,
    /// Orphans of before it was started: they are of others.
    before: BTreeSet<u32>,
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

    /// True if a process of that id has it.
    fn is_on(&self, id: u32) -> bool {
        mark_of(id).is_some_and(|mark| mark == self.0.as_bytes())
    }
}

/// The mark of a process; none for one that is unreadable, as another user's is.
fn mark_of(id: u32) -> Option<Vec<u8>> {
    let environment = fs::read(format!("/proc/{id}/environ")).ok()?;
    let mut variables = environment.split(|byte| *byte == 0);
    let value = variables.find_map(|one| one.strip_prefix(MARK.as_bytes())?.strip_prefix(b"="));
    value.map(<[u8]>::to_vec)
}

impl<'a> Descendants<'a> {
    /// Those of a child that has just started, when there were those orphans.
    pub fn of(
        child: &Child,
        mark: Mark,
        has_own_group: bool,
        before: BTreeSet<u32>,
        reaper: Option<&'a Reaper>,
    ) -> Self {
        let group = child.id().filter(|_| has_own_group);
        processes::begin(child.id());
        if let Some(reaper) = reaper {
            reaper.watch(mark.value(), group);
        }
        Self {
            before,
            child: child.id(),
            reaper,
            mark,
            group,
            is_released: false,
        }
    }

    /// Those that run now.
    pub fn running(&self) -> Vec<Process> {
        let all = processes::all();
        let is_alone = processes::is_alone(self.child);
        let orphans = processes::orphans(&all)
            .into_iter()
            .filter(|orphan| is_alone && !self.before.contains(&orphan.id) && mark_of(orphan.id).is_none());
        let mut own: BTreeSet<u32> = orphans.map(|orphan| orphan.id).collect();
        let is_own = |one: &&Process| {
            Some(one.id) == self.child || Some(one.group) == self.group || self.mark.is_on(one.id)
        };
        own.extend(all.iter().filter(is_own).map(|one| one.id));
        loop {
            let is_next = |one: &&Process| own.contains(&one.parent) && !own.contains(&one.id);
            let next: Vec<u32> = all.iter().filter(is_next).map(|one| one.id).collect();
            if next.is_empty() {
                break;
            }
            own.extend(next);
        }
        let mut running = all;
        running.retain(|one| own.contains(&one.id) && !one.has_ended);
        running
    }

    /// Asks the process group to end.
    pub fn ask(&self) {
        if let Some(group) = self.group {
            signal::end_group(group);
        }
    }

    /// Kills the process group, and all that has left it. Returns what still runs: the system takes a moment.
    pub fn kill(&self) -> Vec<Process> {
        if let Some(group) = self.group {
            signal::kill_group(group);
        }
        let mut running = self.running();
        for _ in 0..SWEEPS {
            running.iter().for_each(|process| signal::kill(process.id));
            running = self.running();
            if running.is_empty() {
                break;
            }
        }
        processes::bury();
        running
    }

    /// Lets those that are left go on. Returns them.
    pub fn release(&mut self) -> Vec<Process> {
        if self.is_released {
            return Vec::new();
        }
        self.is_released = true;
        let left = self.running();
        processes::end(self.child, &left);
        if let Some(reaper) = self.reaper {
            reaper.forget(self.mark.value(), self.group);
        }
        left
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
