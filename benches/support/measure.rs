//! Medians, and how they are printed.

use std::time::Duration;

use tokio::time::Instant;

/// What `work` gives, and how long it took.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let started = Instant::now();
    let done = work();
    (done, started.elapsed())
}

/// The middle one (the upper of two): one disturbed round does not count.
pub fn median<T: Copy + Ord>(values: impl IntoIterator<Item = T>) -> T {
    let mut values: Vec<T> = values.into_iter().collect();
    values.sort_unstable();
    values[values.len() / 2]
}

/// How many times `base` a duration is.
pub fn ratio(duration: Duration, base: Duration) -> f64 {
    duration.as_secs_f64() / base.as_secs_f64()
}

/// In seconds, to the millisecond.
pub fn seconds(duration: Duration) -> String {
    format!("{:.3} s", duration.as_secs_f64())
}

/// In MB (a million bytes), where it was measured.
pub fn megabytes(bytes: Option<u64>) -> String {
    bytes.map_or("not measured".to_owned(), |bytes| {
        format!("{:.1} MB", bytes as f64 / 1e6)
    })
}
