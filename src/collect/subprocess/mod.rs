//! Runs programs as subprocesses, within limits of time and output, and ends what they have started.
//!
//! The hooks of a driver file run this way, and both kinds of credential plugins. A subprocess that exits by itself may
//! leave processes running. One that is ended takes its process group along, and so does the end of this process. An
//! interactive plugin stays in our process group: only the plugin itself is ended.

mod output;
#[cfg(all(test, unix))]
pub(crate) mod tests;

use std::{
    fmt,
    io::{self, Write as _},
    path::Path,
    pin::{Pin, pin},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use futures::{
    FutureExt as _,
    future::{FusedFuture, try_join},
};
use jiff::SignedDuration;
use parking_lot::Mutex;
use tokio::{
    process::{Child, Command},
    select,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

pub(crate) use self::output::{Sink, Tail, without};

/// How long to wait for output after the end of a program: what it left running may hold the pipe open.
const LAST_OUTPUT: Duration = Duration::from_millis(500);
/// How long to wait for a killed program to end.
const LAST_BREATH: Duration = Duration::from_secs(2);

/// Runs subprocesses. Those with a process group of their own do not outlive it, nor this process.
pub(crate) struct Subprocesses {
    reaper: Option<Reaper>,
}

pub(crate) struct Subprocess<'a> {
    pub command: Command,
    /// Whether it may prompt at the terminal: it gets our standard input, and stays in our process group.
    pub is_interactive: bool,
    pub stdout: Sink<'a>,
    pub stderr: Sink<'a>,
    pub limit: Duration,
    /// How long it has to end after SIGTERM, before it is killed; zero: it is killed immediately.
    pub grace: Duration,
    pub stop: &'a CancellationToken,
}

#[derive(Debug)]
pub(crate) enum End {
    By(ExitStatus),
    Late(Duration),
    /// It printed more than that many bytes, and was ended.
    TooMuch(usize),
    Stopped,
}

impl Subprocesses {
    /// Ends them with this process, if the system has a shell for that.
    pub fn new() -> Self {
        Self {
            reaper: Reaper::new(None).ok(),
        }
    }

    /// Ends them with this process, and then removes that folder.
    pub fn removing(folder: &Path) -> io::Result<Self> {
        Ok(Self {
            reaper: Some(Reaper::new(Some(folder))?),
        })
    }

    /// Runs a subprocess to its end. Dropping the future kills it and its process group.
    pub async fn run(&self, subprocess: Subprocess<'_>) -> io::Result<End> {
        let Subprocess {
            mut command,
            is_interactive,
            stdout,
            stderr,
            limit,
            grace,
            stop,
        } = subprocess;
        let stdin = if is_interactive {
            Stdio::inherit()
        } else {
            Stdio::null()
        };
        command
            .stdin(stdin)
            .stdout(stdout.stdio())
            .stderr(stderr.stdio())
            .kill_on_drop(true);
        // Only the terminal's own process group may read from it.
        #[cfg(unix)]
        if !is_interactive {
            command.process_group(0);
        }
        let mut child = command.spawn()?;
        let group = child.id().filter(|_| !is_interactive);
        let group = ProcessGroup::new(group, self.reaper.as_ref());

        let (out, err) = (child.stdout.take(), child.stderr.take());
        let mut reading = pin!(try_join(stdout.read(out), stderr.read(err)).fuse());
        let mut end = until_end(&mut child, reading.as_mut(), limit, stop).await?;
        if matches!(end, End::By(_))
            && let Err(flood) = rest(reading.as_mut()).await
        {
            end = flood;
        }
        if !matches!(end, End::By(_)) {
            if !grace.is_zero() {
                group.terminate();
                let over = async {
                    let _ = child.wait().await;
                    // Once both outputs are closed, no process is left that could write to them.
                    if !reading.is_terminated() {
                        let _ = reading.as_mut().await;
                    }
                };
                let _ = timeout(grace, over).await;
            }
            group.kill();
            let _ = child.start_kill();
            let _ = timeout(LAST_BREATH, child.wait()).await;
            let _ = rest(reading).await;
        }
        group.release();
        Ok(end)
    }
}

/// Waits for the end of a program, or for a reason to end it, while its output flows.
async fn until_end<R>(
    child: &mut Child,
    mut reading: Pin<&mut R>,
    limit: Duration,
    stop: &CancellationToken,
) -> io::Result<End>
where
    R: FusedFuture<Output = Result<((), ()), End>>,
{
    let mut late = pin!(sleep(limit));
    loop {
        select! {
            biased;
            status = child.wait() => return status.map(End::By),
            () = &mut late => return Ok(End::Late(limit)),
            () = stop.cancelled() => return Ok(End::Stopped),
            read = &mut reading, if !reading.is_terminated() => {
                if let Err(flood) = read {
                    return Ok(flood);
                }
            }
        }
    }
}

async fn rest<R>(reading: Pin<&mut R>) -> Result<(), End>
where
    R: FusedFuture<Output = Result<((), ()), End>>,
{
    if reading.is_terminated() {
        return Ok(());
    }
    match timeout(LAST_OUTPUT, reading).await {
        Ok(read) => read.map(drop),
        Err(_) => Ok(()),
    }
}

impl End {
    pub fn is_success(&self) -> bool {
        matches!(self, End::By(status) if status.success())
    }
}

/// What became of it; goes on after the program's name.
impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::By(status) => match status.code() {
                Some(code) => write!(f, "ended with exit code {code}"),
                None => write!(f, "was ended: {status}"),
            },
            End::Late(limit) => {
                let limit = SignedDuration::try_from(*limit).unwrap_or(SignedDuration::MAX);
                write!(f, "took longer than {limit:#} and was ended")
            }
            End::TooMuch(most) => write!(f, "printed more than {} KiB and was ended", most / 1024),
            End::Stopped => f.write_str("was ended, as the run was stopped"),
        }
    }
}

pub(crate) fn with_last_words(reason: String, last: &str) -> String {
    if last.is_empty() {
        reason
    } else {
        format!("{reason}; its last words: {last}")
    }
}

/// The process group of one subprocess. Dropping it kills the group, unless it was released.
struct ProcessGroup<'a> {
    /// None: the subprocess has no group of its own, or it was released.
    id: Option<u32>,
    reaper: Option<&'a Reaper>,
}

impl<'a> ProcessGroup<'a> {
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

    pub fn terminate(&self) {
        signal(self.id, false);
    }

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
struct Reaper(Mutex<std::process::Child>);

impl Reaper {
    /// Starts it, with a folder to remove in the end.
    pub fn new(folder: Option<&Path>) -> io::Result<Self> {
        let mut command = std::process::Command::new("sh");
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
