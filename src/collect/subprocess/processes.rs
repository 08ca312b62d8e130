//! Ends all that a subprocess has started: its process group.

use std::{
    io::{self, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
};

use parking_lot::Mutex;

/// The process group of one subprocess. Dropping it kills the group, unless it was released.
pub(super) struct ProcessGroup<'a> {
    /// None: the subprocess has no group of its own, or it was released.
    id: Option<u32>,
    reaper: Option<&'a Reaper>,
}

impl<'a> ProcessGroup<'a> {
    /// The group of a child that has just started.
    pub fn new(id: Option<u32>, reaper: Option<&'a Reaper>) -> Self {
        let group = Self { id, reaper };
        group.order("watch");
        group
    }

    fn order(&self, order: &str) {
        if let (Some(reaper), Some(id)) = (self.reaper, self.id) {
            reaper.order(order, id);
        }
    }

    /// Asks the processes to end.
    pub fn terminate(&self) {
        signal(self.id, false);
    }

    /// Kills the processes.
    pub fn kill(&self) {
        signal(self.id, true);
    }

    /// Lets the processes that are left go on.
    pub fn release(mut self) {
        self.order("forget");
        self.id = None;
    }
}

impl Drop for ProcessGroup<'_> {
    fn drop(&mut self) {
        if self.id.is_some() {
            self.kill();
            self.order("forget");
        }
    }
}

/// Sends SIGKILL or SIGTERM to a process group. It fails only if that has ended.
#[cfg(unix)]
fn signal(group: Option<u32>, is_kill: bool) {
    use rustix::process::{Pid, Signal, kill_process_group};
    if let Some(pid) = group.and_then(|id| Pid::from_raw(id.try_into().ok()?)) {
        let signal = if is_kill { Signal::KILL } else { Signal::TERM };
        let _ = kill_process_group(pid, signal);
    }
}

/// Without process groups, only the program itself is killed.
#[cfg(not(unix))]
fn signal(_: Option<u32>, _: bool) {}

/// Reads one order a line: `watch` or `forget`, and a process group. When its input ends, it kills the groups that it still
/// watches, and removes the folder (`$1`) with the credentials.
const SCRIPT: &str = r#"
watched=
while read -r order group; do
  case $order in
    watch) watched="$watched $group" ;;
    forget)
      others=
      for other in $watched; do [ "$other" = "$group" ] || others="$others $other"; done
      watched=$others ;;
  esac
done
for group in $watched; do kill -s KILL -- "-$group"; done
[ -z "$1" ] || rm -rf -- "$1"
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
            .args(["-c", SCRIPT, "conformance-reaper"])
            .arg(folder.unwrap_or(Path::new("")))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // Ctrl-C at the terminal is for us: it has to outlive us.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        Ok(Self(Mutex::new(command.spawn()?)))
    }

    /// Has it watch or forget a process group.
    pub fn order(&self, order: &str, group: u32) {
        if let Some(pipe) = self.0.lock().stdin.as_mut() {
            // If the shell was killed, subprocesses still end with the call.
            let _ = writeln!(pipe, "{order} {group}");
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
