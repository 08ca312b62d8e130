//! Work under a clock that is paused.

/// Does it on one thread, by tokio's paused clock.
pub fn paused<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(work)
}
