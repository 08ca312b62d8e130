//! Ends the processes of hooks and credential plugins, even after this process has died.
//!
//! A hook has a process group of its own, so that its children can be ended with it. To signal a group, and to see our
//! own end come, would need unsafe code here; a shell does both.

use std::{
    io::{self, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
};

use parking_lot::Mutex;

/// Reads one order for a process group a line. When the pipe closes, we are gone: then it kills all groups, and removes
/// the folder (`$1`) with the credentials.
const SCRIPT: &str = r#"
groups=
while read -r what group; do
  case $what in
    add) groups="$groups $group" ;;
    end) kill -s TERM -- "-$group" ;;
    kill) kill -s KILL -- "-$group" ;;
    gone)
      others=
      for other in $groups; do [ "$other" = "$group" ] || others="$others $other"; done
      groups=$others ;;
  esac
done
for group in $groups; do kill -s KILL -- "-$group"; done
[ -z "$1" ] || rm -rf -- "$1"
"#;

/// The shell that outlives this process.
pub(crate) struct Reaper(Mutex<Child>);

/// What to do with a process group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Remember it: it ends with us.
    Add,
    /// Ask it to end.
    End,
    /// Kill it.
    Kill,
    /// Forget it: what is left may go on without us.
    Gone,
}

impl Reaper {
    /// Starts without a folder to remove.
    pub fn alone() -> io::Result<Self> {
        Self::over(Path::new(""))
    }

    /// Starts with a folder to remove.
    pub fn over(folder: &Path) -> io::Result<Self> {
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, "conformance-reaper"]).arg(folder);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // Ctrl-C at the terminal is for us: it has to outlive us.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        Ok(Self(Mutex::new(command.spawn()?)))
    }

    /// Sends an order for a group.
    pub fn order(&self, order: Order, group: u32) -> io::Result<()> {
        let mut child = self.0.lock();
        let pipe = child.stdin.as_mut();
        let pipe = pipe.ok_or_else(|| io::Error::other("its input is closed"))?;
        writeln!(pipe, "{} {group}", order.word())
    }
}

impl Order {
    fn word(self) -> &'static str {
        match self {
            Order::Add => "add",
            Order::End => "end",
            Order::Kill => "kill",
            Order::Gone => "gone",
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
