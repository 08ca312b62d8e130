//! Ctrl-C and SIGTERM: what was seen so far is judged, and the reports are written.

use tokio::sync::watch;

/// Resolves when the user, or whoever runs us, wants the run to end. A second signal ends the process at once.
///
/// Call it inside of a runtime.
pub fn stop() -> impl Future<Output = ()> + Send + 'static {
    let (told, mut heard) = watch::channel(false);
    tokio::spawn(async move {
        signal().await;
        anstream::eprintln!(
            "stopping: what was done is undone, and what was seen so far is judged; once more to leave at once"
        );
        let _ = told.send(true);
        signal().await;
        // As a shell reports a process that a signal ended.
        std::process::exit(130);
    });
    async move {
        if heard.wait_for(|stop| *stop).await.is_err() {
            // The runtime is going down, and everything with it.
            std::future::pending().await
        }
    }
}

/// The next Ctrl-C or SIGTERM.
pub async fn signal() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}
