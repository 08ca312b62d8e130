//! The processes of this machine, as Linux shows them in /proc. Elsewhere none are known.

use std::{collections::BTreeSet, fmt, fs};

use parking_lot::Mutex;

/// The variable by which a process outside of the group is known.
pub(super) const MARK: &str = "CONFORMANCE_SUBPROCESS";

/// A process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub id: u32,
    pub parent: u32,
    pub group: u32,
    pub session: u32,
    /// True if it has ended, and its parent has not heard of it.
    pub has_ended: bool,
    name: String,
}

/// The subprocesses of this process, which are no orphans.
static KNOWN: Mutex<Known> = Mutex::new(Known {
    running: BTreeSet::new(),
    left: BTreeSet::new(),
});

struct Known {
    /// The subprocesses that run now.
    running: BTreeSet<u32>,
    /// What subprocesses have left running.
    left: BTreeSet<u32>,
}

/// Lists all.
pub(super) fn all() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter_map(of_id).collect()
}

fn of_id(id: u32) -> Option<Process> {
    // `id (name) state parent group session …`; the name may be anything.
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (head, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let state = fields.next()?;
    let mut number = || fields.next()?.parse().ok();
    Some(Process {
        id,
        parent: number()?,
        group: number()?,
        session: number()?,
        has_ended: matches!(state, "Z" | "X"),
        name: head.split_once('(')?.1.to_owned(),
    })
}

/// Makes this process the parent of each descendant whose own parent has ended: so none of them is out of sight.
pub(super) fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{getpid, set_child_subreaper};
        // Where it fails, processes are known by their group and their environment still.
        let _ = set_child_subreaper(Some(getpid()));
    }
}

/// Notes that a subprocess runs.
pub(super) fn begin(id: Option<u32>) {
    KNOWN.lock().running.extend(id);
}

/// Notes that a subprocess has ended, and what it has left running.
pub(super) fn end(id: Option<u32>, left: &[Process]) {
    let mut known = KNOWN.lock();
    if let Some(id) = id {
        known.running.remove(&id);
    }
    known.left.extend(left.iter().map(|process| process.id));
}

/// The processes among these whose parent this one has become though another has started them; only those that have left its
/// session are surely none of our own.
pub(super) fn orphans(all: &[Process]) -> Vec<&Process> {
    let us = std::process::id();
    let Some(session) = all.iter().find(|one| one.id == us).map(|one| one.session) else {
        return Vec::new();
    };
    let known = KNOWN.lock();
    let is_orphan = |one: &&Process| {
        one.parent == us
            && one.session != session
            && !known.running.contains(&one.id)
            && !known.left.contains(&one.id)
    };
    all.iter().filter(is_orphan).collect()
}

/// The ids of the orphans that run now.
pub(super) fn orphan_ids() -> BTreeSet<u32> {
    let running = bury();
    orphans(&running).into_iter().map(|orphan| orphan.id).collect()
}

/// True if no other subprocess than this one runs: an orphan may be of any of them.
pub(super) fn is_alone(id: Option<u32>) -> bool {
    KNOWN.lock().running.iter().all(|running| Some(*running) == id)
}

/// Takes note of orphans that have ended, as their parent has to. Returns all other processes.
pub(super) fn bury() -> Vec<Process> {
    let us = std::process::id();
    let mut all = all();
    let adopted: BTreeSet<u32> = orphans(&all).into_iter().map(|one| one.id).collect();
    all.retain(|one| {
        let mut known = KNOWN.lock();
        let is_ours = adopted.contains(&one.id) || known.left.contains(&one.id);
        if !(is_ours && one.parent == us && one.has_ended) {
            return true;
        }
        #[cfg(unix)]
        if let Some(pid) = one.id.try_into().ok().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::NOHANG);
        }
        known.left.remove(&one.id);
        false
    });
    all
}

/// Its name and its id.
impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.id)
    }
}
