//! Ends subprocesses when this process dies, even if it is killed.
//!
//! To notice that would need unsafe code in each subprocess. A shell mentions it: its input ends.

use std::{
    io::{self, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
};

use parking_lot::Mutex;

use super::processes::MARK;

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

/// The shell that outlives this process.
pub(super) struct Reaper(Mutex<Child>);

impl Reaper {
    /// Starts without a folder to remove.
    pub fn alone() -> io::Result<Self> {
        Self::over(Path::new(""))
    }

    /// Starts with a folder to remove.
    pub fn over(folder: &Path) -> io::Result<Self> {
        let mut command = Command::new("sh");
        command
            .args(["-c", SCRIPT, "conformance-reaper", MARK])
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // Ctrl-C at the terminal is for us: it has to outlive us.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        Ok(Self(Mutex::new(command.spawn()?)))
    }

    /// Remembers processes: they end with us.
    pub fn watch(&self, mark: &str, group: Option<u32>) {
        self.order("watch", mark, group);
    }

    /// Forgets processes: what is left of them may go on without us.
    pub fn forget(&self, mark: &str, group: Option<u32>) {
        self.order("forget", mark, group);
    }

    fn order(&self, order: &str, mark: &str, group: Option<u32>) {
        let group = group.map(|group| group.to_string()).unwrap_or_default();
        if let Some(pipe) = self.0.lock().stdin.as_mut() {
            // Where somebody has killed the shell, subprocesses still end with the call.
            let _ = writeln!(pipe, "{order} {mark} {group}");
        }
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        let child = self.0.get_mut();
        drop(child.stdin.take());
        // It has little left to do, and the folder is to be gone when we are.
        let _ = child.wait();
    }
}
