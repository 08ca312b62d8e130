//! Ends all that a subprocess has started.
//!
//! Most of it is in the subprocess's process group. On Linux, /proc shows the processes that have left the group: they have a
//! variable of ours in their environment. Out of reach are processes without both, of another user, or of a service.

use std::{
    fs,
    hash::{BuildHasher as _, RandomState},
    io::{self, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
};

use parking_lot::Mutex;

/// The variable in the environment of a subprocess, with a value of its own.
const MARK: &str = "CONFORMANCE_SUBPROCESS";
/// How often to look for processes to kill: one may fork meanwhile.
const SWEEPS: usize = 5;

/// The processes of one subprocess. Dropping it kills them, unless they were released.
pub(super) struct Processes<'a> {
    mark: String,
    /// The subprocess itself.
    child: Option<u32>,
    /// The process group; none if the subprocess is in ours.
    group: Option<u32>,
    reaper: Option<&'a Reaper>,
    is_released: bool,
}

/// Marks a command with a value that no other has.
pub(super) fn mark(command: &mut Command) -> String {
    let mark = format!("{:016x}", RandomState::new().hash_one(std::process::id()));
    command.env(MARK, &mark);
    mark
}

impl<'a> Processes<'a> {
    /// The processes of a child that has just started with that mark.
    pub fn new(child: Option<u32>, mark: String, has_own_group: bool, reaper: Option<&'a Reaper>) -> Self {
        let group = child.filter(|_| has_own_group);
        if let Some(reaper) = reaper {
            reaper.order("watch", &mark, group);
        }
        Self {
            mark,
            child,
            group,
            reaper,
            is_released: false,
        }
    }

    /// The ids and names of the processes that run now.
    fn running(&self) -> Vec<(u32, String)> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        ids.filter_map(|id| Some((id, self.name_of_own(id)?))).collect()
    }

    /// The name of a process of that id, if it runs and is one of these.
    fn name_of_own(&self, id: u32) -> Option<String> {
        // `id (name) state parent group …`; the name may be anything.
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let (head, rest) = stat.rsplit_once(") ")?;
        let mut fields = rest.split(' ');
        let has_ended = matches!(fields.next()?, "Z" | "X");
        let group = fields.nth(1)?.parse().ok();
        let is_own = || {
            let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
            let mark = format!("{MARK}={}", self.mark);
            environment
                .split(|byte| *byte == 0)
                .any(|one| one == mark.as_bytes())
        };
        let is_own = Some(id) == self.child || (group.is_some() && group == self.group) || is_own();
        (is_own && !has_ended).then(|| Some(head.split_once('(')?.1.to_owned()))?
    }

    /// Asks the process group to end.
    pub fn terminate(&self) {
        signal(self.group, true, false);
    }

    /// Kills the process group, and all that has left it. Returns whether all have ended: the system takes a moment.
    pub fn kill(&self) -> bool {
        signal(self.group, true, true);
        for _ in 0..SWEEPS {
            let running = self.running();
            if running.is_empty() {
                return true;
            }
            running.iter().for_each(|(id, _)| signal(Some(*id), false, true));
        }
        self.running().is_empty()
    }

    /// Lets the processes that are left go on. Returns their names and ids.
    pub fn release(&mut self) -> Vec<String> {
        self.is_released = true;
        if let Some(reaper) = self.reaper {
            reaper.order("forget", &self.mark, self.group);
        }
        let running = self.running().into_iter();
        running.map(|(id, name)| format!("{name} ({id})")).collect()
    }
}

impl Drop for Processes<'_> {
    fn drop(&mut self) {
        if !self.is_released {
            self.kill();
            self.release();
        }
    }
}

/// Sends SIGKILL or SIGTERM to a process or group. It fails only if that has ended.
#[cfg(unix)]
fn signal(id: Option<u32>, is_group: bool, is_kill: bool) {
    use rustix::process::{Pid, Signal, kill_process, kill_process_group};
    let Some(pid) = id.and_then(|id| Pid::from_raw(id.try_into().ok()?)) else {
        return;
    };
    let signal = if is_kill { Signal::KILL } else { Signal::TERM };
    let _ = if is_group {
        kill_process_group(pid, signal)
    } else {
        kill_process(pid, signal)
    };
}

/// Without process groups, only the program itself is killed.
#[cfg(not(unix))]
fn signal(_: Option<u32>, _: bool, _: bool) {}

/// Reads one order a line: `watch` or `forget`, a mark, and the process group if there is one. When its input ends, it
/// kills what it still watches, and removes the folder (`$2`) with the credentials.
const SCRIPT: &str = r#"
watched=
while read -r what mark group; do
  one=$mark:$group
  case $what in
    watch) watched="$watched $one" ;;
    forget)
      others=
      for other in $watched; do [ "$other" = "$one" ] || others="$others $other"; done
      watched=$others ;;
  esac
done
for one in $watched; do
  group=${one#*:}
  [ -z "$group" ] || kill -s KILL -- "-$group"
  for file in $(grep -l -s -F -e "$1=${one%%:*}" /proc/[0-9]*/environ); do
    process=${file#/proc/}
    kill -s KILL "${process%/environ}"
  done
done
[ -z "$2" ] || rm -rf -- "$2"
"#;

/// A shell that ends subprocesses when this process dies, even if it is killed: then the shell's input ends.
pub(super) struct Reaper(Mutex<Child>);

impl Reaper {
    /// Starts it, with a folder to remove in the end.
    ///
    /// # Errors
    /// When the system has no shell.
    pub fn new(folder: Option<&Path>) -> io::Result<Self> {
        let mut command = Command::new("sh");
        command
            .args(["-c", SCRIPT, "conformance-reaper", MARK])
            .arg(folder.unwrap_or(Path::new("")))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // Ctrl-C at the terminal is for us: it has to outlive us.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        Ok(Self(Mutex::new(command.spawn()?)))
    }

    /// Has it watch or forget processes.
    pub fn order(&self, order: &str, mark: &str, group: Option<u32>) {
        let group = group.map(|group| group.to_string()).unwrap_or_default();
        if let Some(pipe) = self.0.lock().stdin.as_mut() {
            // If the shell was killed, subprocesses still end with the call.
            let _ = writeln!(pipe, "{order} {mark} {group}");
        }
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        let child = self.0.get_mut();
        drop(child.stdin.take());
        // It has little left to do, and the folder has to be gone when we are.
        let _ = child.wait();
    }
}
