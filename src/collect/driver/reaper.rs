//! Ends what hooks and credential plugins have started, also when nobody else is left to do it.
//!
//! A hook has a process group of its own, so that its children can be ended with it. To signal a group, and to see our
//! own end come, would need unsafe code here; a shell does both.

use std::{
    io::{self, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
};

use parking_lot::Mutex;

/// Is told line by line which groups there are and what to do with them. The end of the pipe is the end of us: then
/// it ends them all, and removes the folder (`$1`) with the credentials.
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

/// The shell that keeps watch.
pub(crate) struct Reaper(Mutex<Child>);

/// What is to be done with a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// It is there now: it is ended with us.
    Add,
    /// It is to end.
    End,
    /// It ends at once.
    Kill,
    /// What is left of it may go on without us.
    Gone,
}

impl Reaper {
    /// Watches over no folder.
    pub fn alone() -> io::Result<Self> {
        Self::over(Path::new(""))
    }

    /// Watches over `folder`.
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

    /// Gives an order for a group.
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
