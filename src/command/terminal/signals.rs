//! Ctrl-C and SIGTERM: what was seen so far is judged, and the reports are written.

use tokio_util::sync::CancellationToken;

/// Returns a token that the first signal cancels. A second signal ends the process immediately.
///
/// Call it inside of a runtime.
pub fn stop() -> CancellationToken {
    let stop = CancellationToken::new();
    let cancelled = stop.clone();
    let mut signals = Signals::new();
    tokio::spawn(async move {
        signals.next().await;
        anstream::eprintln!(
            "stopping: undoing changes and judging what was seen so far; press again to quit immediately"
        );
        cancelled.cancel();
        signals.next().await;
        // As a shell reports a process that a signal ended.
        std::process::exit(130);
    });
    stop
}

/// Resolves at Ctrl-C or SIGTERM, for commands that have nothing to undo.
pub async fn once() {
    Signals::new().next().await;
}

/// Ctrl-C and SIGTERM. It keeps listening, as a second signal may follow immediately.
#[cfg(unix)]
struct Signals {
    interrupt: Option<tokio::signal::unix::Signal>,
    terminate: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Signals {
    fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        Self {
            interrupt: signal(SignalKind::interrupt()).ok(),
            terminate: signal(SignalKind::terminate()).ok(),
        }
    }

    async fn next(&mut self) {
        let of = async |signal: &mut Option<tokio::signal::unix::Signal>| match signal {
            Some(signal) => {
                signal.recv().await;
            }
            None => std::future::pending().await,
        };
        tokio::select! {
            () = of(&mut self.interrupt) => {}
            () = of(&mut self.terminate) => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> Self {
        Self
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    }
}
