//! Runs plugins as programs, without a shell, with limits of time and size.

use std::{
    io,
    process::{ExitStatus, Stdio},
    sync::{Arc, OnceLock},
    time::Duration,
};

use futures::{
    FutureExt as _,
    future::{BoxFuture, join},
};
use jiff::SignedDuration;
use parking_lot::Mutex;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    process::{Child, Command},
    select,
    sync::Semaphore,
    time::{sleep, timeout},
};

use super::{
    plan::{Call, Output, Ran, Runner},
    stderr_tail::last_words,
};
use crate::driver::{Cutter, Order, Reaper, Tail};

/// How long a plugin may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How many run at a time.
const AT_ONCE: usize = 16;
/// How long a plugin waits for its turn. If most of them hang, the run still ends.
const QUEUE: Duration = Duration::from_secs(300);
/// The largest answer.
const LARGEST: usize = 1 << 20;
/// How long to wait for output after a plugin has ended: its children may hold the pipe open.
const LAST_OUTPUT: Duration = Duration::from_millis(500);
/// How long to wait for a killed plugin to end.
const LAST_BREATH: Duration = Duration::from_secs(2);
/// Shorter values of the environment are not redacted: they would hide too much other text.
const SHORTEST: usize = 8;

/// Runs plugins as programs.
pub struct Processes {
    turns: Semaphore,
    patience: Duration,
    /// Kills the process groups of plugins; none if the system has no shell for it.
    reaper: OnceLock<Option<Reaper>>,
}

impl Default for Processes {
    fn default() -> Self {
        Self::within(PATIENCE)
    }
}

impl Processes {
    /// Gives each plugin that much time.
    pub fn within(patience: Duration) -> Self {
        Self {
            turns: Semaphore::new(AT_ONCE),
            patience,
            reaper: OnceLock::new(),
        }
    }

    async fn call(&self, call: &Call) -> Ran {
        let Ok(Ok(_turn)) = timeout(QUEUE, self.turns.acquire()).await else {
            let waited = QUEUE.as_secs() / 60;
            return Ran::NotRun(format!(
                "its turn did not come for {waited} min, as others took so long"
            ));
        };
        let (mut child, mut group) = match self.start(call) {
            Ok(started) => started,
            Err(error) => {
                let program = call.command.display();
                return Ran::NotRun(format!("{program} could not be started: {error}"));
            }
        };
        let mut printed = Output(Vec::with_capacity(LARGEST + 1));
        let said = Mutex::new(Tail::without(Arc::new(secrets(call))));
        let end = end(&mut child, self.patience, &mut printed.0, &said).await;
        if !matches!(end, End::By(_)) {
            group.end();
            let _ = child.start_kill();
            let _ = timeout(LAST_BREATH, child.wait()).await;
        }
        group.leave();
        let reason = match end {
            End::By(Ok(status)) if status.success() => return Ran::Answered(printed),
            End::By(Ok(status)) => match status.code() {
                Some(code) => format!("ended with exit code {code}"),
                None => format!("was ended: {status}"),
            },
            End::By(Err(error)) => return Ran::NotRun(format!("its end was not seen: {error}")),
            End::TooMuch => format!("printed more than {} KiB and was ended", LARGEST / 1024),
            End::Late => {
                let patience = SignedDuration::try_from(self.patience).unwrap_or(SignedDuration::MAX);
                format!("took longer than {patience:#} and was ended")
            }
        };
        let said = said.into_inner().finish().output;
        Ran::Failed(match last_words(&said, &printed) {
            last if last.is_empty() => reason,
            last => format!("{reason}; its last words: {last}"),
        })
    }

    /// Starts a plugin in a process group of its own. It finds the runner's environment, as with any client.
    fn start(&self, call: &Call) -> io::Result<(Child, Group<'_>)> {
        let reaper = self.reaper.get_or_init(|| Reaper::alone().ok());
        let mut command = Command::new(&call.command);
        command
            .args(&call.args)
            .envs(&call.env)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let child = command.spawn()?;
        let group = Group {
            reaper: reaper.as_ref(),
            id: child.id(),
        };
        group.order(Order::Add);
        Ok((child, group))
    }
}

impl Runner for Processes {
    fn run<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Ran> {
        self.call(call).boxed()
    }
}

/// The process group of a running plugin; killed on drop, unless it was left.
struct Group<'a> {
    reaper: Option<&'a Reaper>,
    id: Option<u32>,
}

impl Group<'_> {
    fn order(&self, order: Order) {
        if let (Some(reaper), Some(id)) = (self.reaper, self.id) {
            // If the shell was killed, the program itself is still killed.
            let _ = reaper.order(order, id);
        }
    }

    fn end(&self) {
        self.order(Order::Kill);
    }

    /// Leaves its children alone, as any client does after a call.
    fn leave(&mut self) {
        self.order(Order::Gone);
        self.id = None;
    }
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        self.end();
        self.leave();
    }
}

/// How a plugin ended.
enum End {
    /// By itself.
    By(io::Result<ExitStatus>),
    /// It took too long.
    Late,
    /// It printed too much.
    TooMuch,
}

/// Waits for the end of a plugin, and reads its output.
async fn end(child: &mut Child, patience: Duration, printed: &mut Vec<u8>, said: &Mutex<Tail>) -> End {
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let answer = read(out, printed).shared();
    let reading = join(answer.clone(), drain(err, said)).shared();
    let over = async {
        let status = child.wait().await;
        // What its children print later is of no use.
        let _ = timeout(LAST_OUTPUT, reading.clone()).await;
        status
    };
    let too_much = async {
        // Keeps stderr flowing, and ends only if the answer is too large.
        if answer.clone().await {
            return;
        }
        reading.clone().await;
        futures::future::pending().await
    };
    select! {
        biased;
        () = too_much => End::TooMuch,
        status = over => match answer.peek() {
            Some(true) => End::TooMuch,
            _ => End::By(status),
        },
        () = sleep(patience) => End::Late,
    }
}

/// Reads an answer to its end, or until it is too large, and says whether it is.
async fn read(output: Option<impl AsyncRead + Unpin>, into: &mut Vec<u8>) -> bool {
    if let Some(output) = output {
        // What was read before a failure is what there is.
        let _ = output.take(LARGEST as u64 + 1).read_to_end(into).await;
    }
    into.len() > LARGEST
}

/// Reads a plugin's standard error.
async fn drain(output: Option<impl AsyncRead + Unpin>, said: &Mutex<Tail>) {
    let (mut cutter, mut buffer) = (Cutter::default(), vec![0; 8192]);
    if let Some(mut output) = output {
        while let Ok(size @ 1..) = output.read(&mut buffer).await {
            said.lock().take(&mut cutter, &buffer[..size]);
        }
    }
    said.lock().end(&mut cutter);
}

/// Values to redact: any value of the plugin's environment may be secret.
fn secrets(call: &Call) -> Vec<String> {
    let values = call.env.values().filter(|value| value.len() >= SHORTEST);
    values.cloned().collect()
}
