//! Runs a subprocess to its end.

use std::{
    fmt, io,
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
use tokio::{
    process::{Child, Command},
    select,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    output::Sink,
    processes::{ProcessGroup, Reaper},
};

/// How long to wait for output after the end of a program: what it left running may hold the pipe open.
const LAST_OUTPUT: Duration = Duration::from_millis(500);
/// How long to wait for a killed program to end.
const LAST_BREATH: Duration = Duration::from_secs(2);

/// Runs subprocesses. They do not outlive it, nor this process.
pub(crate) struct Subprocesses {
    reaper: Option<Reaper>,
}

/// A program to run, and its limits.
pub(crate) struct Subprocess<'a> {
    /// The program with its arguments, environment and folder.
    pub command: Command,
    /// Whether it may prompt at the terminal: it gets our standard input, and stays in our process group.
    pub is_interactive: bool,
    /// Where its standard output goes.
    pub stdout: Sink<'a>,
    /// Where its standard error goes.
    pub stderr: Sink<'a>,
    /// How long it may take.
    pub limit: Duration,
    /// How long it has to end after SIGTERM, before it is killed; zero: it is killed immediately.
    pub grace: Duration,
    /// Ends it early.
    pub stop: &'a CancellationToken,
}

/// How a subprocess came to its end.
#[derive(Debug)]
pub(crate) enum End {
    /// By itself.
    By(io::Result<ExitStatus>),
    /// It took too long, and was ended.
    Late(Duration),
    /// It printed more than that many bytes, and was ended.
    TooMuch(usize),
    /// It was stopped.
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
    ///
    /// # Errors
    /// When there is no shell for that.
    pub fn removing(folder: &Path) -> io::Result<Self> {
        Ok(Self {
            reaper: Some(Reaper::new(Some(folder))?),
        })
    }

    /// Runs a subprocess to its end. Dropping the future kills it and its process group.
    ///
    /// # Errors
    /// When it cannot be started.
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
        let mut end = until_end(&mut child, reading.as_mut(), limit, stop).await;
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
) -> End
where
    R: FusedFuture<Output = Result<((), ()), End>>,
{
    let mut late = pin!(sleep(limit));
    loop {
        select! {
            biased;
            status = child.wait() => return End::By(status),
            () = &mut late => return End::Late(limit),
            () = stop.cancelled() => return End::Stopped,
            read = &mut reading, if !reading.is_terminated() => {
                if let Err(flood) = read {
                    return flood;
                }
            }
        }
    }
}

/// Waits a moment for the rest of the output.
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
    /// Whether the program succeeded.
    pub fn is_success(&self) -> bool {
        matches!(self, End::By(Ok(status)) if status.success())
    }
}

/// What became of it; goes on after the program's name.
impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::By(Ok(status)) => match status.code() {
                Some(code) => write!(f, "ended with exit code {code}"),
                None => write!(f, "was ended: {status}"),
            },
            End::By(Err(error)) => write!(f, "ended unseen: {error}"),
            End::Late(limit) => {
                let limit = SignedDuration::try_from(*limit).unwrap_or(SignedDuration::MAX);
                write!(f, "took longer than {limit:#} and was ended")
            }
            End::TooMuch(most) => write!(f, "printed more than {} KiB and was ended", most / 1024),
            End::Stopped => f.write_str("was ended, as the run was stopped"),
        }
    }
}

/// Adds to a reason what a program said last; empty if it said nothing.
pub(crate) fn with_last_words(reason: String, last: &str) -> String {
    if last.is_empty() {
        reason
    } else {
        format!("{reason}; its last words: {last}")
    }
}
