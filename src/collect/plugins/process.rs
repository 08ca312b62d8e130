//! Runs plugins as programs, without a shell, with limits of time and size.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use futures::{FutureExt as _, future::BoxFuture};
use parking_lot::Mutex;
use tokio::{process::Command, sync::Semaphore, time::timeout};
use tokio_util::sync::CancellationToken;

use super::{
    plan::{Call, Output, Ran, Runner},
    stderr_tail::last_words,
};
use crate::{
    connect::exec_credential::LARGEST,
    subprocess::{End, Sink, Subprocess, Subprocesses, Tail, with_last_words},
};

/// How long a plugin may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How many run at a time.
const AT_ONCE: usize = 16;
/// How long a plugin waits for its turn. If most of them hang, the run still ends.
const QUEUE: Duration = Duration::from_secs(300);
/// Shorter values of the environment are not redacted: they would hide too much other text.
const SHORTEST: usize = 8;

/// Runs plugins as programs.
pub struct Processes {
    turns: Semaphore,
    patience: Duration,
    subprocesses: OnceLock<Subprocesses>,
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
            subprocesses: OnceLock::new(),
        }
    }

    async fn call(&self, call: &Call) -> Ran {
        let Ok(Ok(_turn)) = timeout(QUEUE, self.turns.acquire()).await else {
            let waited = QUEUE.as_secs() / 60;
            return Ran::NotRun(format!(
                "its turn did not come for {waited} min, as others took so long"
            ));
        };
        // It finds the runner's environment, as with any client.
        let mut command = Command::new(&call.command);
        command.args(&call.args).envs(&call.env);
        let mut printed = Output(Vec::with_capacity(LARGEST + 1));
        let said = Mutex::new(Tail::without(Arc::new(secrets(call))));
        let subprocess = Subprocess {
            command,
            is_interactive: false,
            stdout: Sink::Whole {
                into: &mut printed.0,
                most: LARGEST,
            },
            stderr: Sink::Tail(&said),
            limit: self.patience,
            grace: Duration::ZERO,
            stop: &CancellationToken::new(),
        };
        let subprocesses = self.subprocesses.get_or_init(Subprocesses::new);
        match subprocesses.run(subprocess).await {
            Err(error) => {
                let program = call.command.display();
                Ran::NotRun(format!("{program} could not be started: {error}"))
            }
            Ok(End::By(Err(error))) => Ran::NotRun(format!("its end was not seen: {error}")),
            Ok(end) if end.is_success() => Ran::Answered(printed),
            Ok(end) => {
                let last = last_words(&said.into_inner().finish(), &printed);
                Ran::Failed(with_last_words(end.to_string(), &last))
            }
        }
    }
}

impl Runner for Processes {
    fn run<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Ran> {
        self.call(call).boxed()
    }
}

/// Values to redact: any value of the plugin's environment may be secret.
fn secrets(call: &Call) -> Vec<String> {
    let values = call.env.values().filter(|value| value.len() >= SHORTEST);
    values.cloned().collect()
}
