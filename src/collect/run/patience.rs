//! How long a run waits for its hub in all, besides the window.

use std::{future::Future, time::Duration};

use parking_lot::Mutex;
use tokio::{
    select,
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

/// What a run waits for besides its longest list.
const BESIDE_LISTS: Duration = Duration::from_secs(20);

/// How long a run that was stopped reads the hub a last time.
const LAST_LOOK: Duration = Duration::from_secs(5);

/// The time that a run has for its hub's answers.
#[derive(Debug)]
pub(crate) struct Patience {
    /// How long one list may take.
    pub list: Duration,
    left: Mutex<Duration>,
    stop: CancellationToken,
}

/// Why there is no outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unfinished {
    /// The caller has ended the run.
    #[error("the run was stopped before it was read")]
    Stopped,
    /// The hub took longer than that.
    #[error("the hub did not finish its answer within {} s", .0.as_secs())]
    Late(Duration),
    /// The time was used up by earlier answers.
    #[error("no time was left: earlier answers of the hub took too long")]
    NoTime,
}

impl Patience {
    /// A list may take as long as another request, or as long as the window, if that is longer.
    pub fn new(request_timeout: Duration, observe: Duration, stop: CancellationToken) -> Self {
        let list = request_timeout.max(observe);
        Self {
            list,
            left: Mutex::new(list.saturating_add(BESIDE_LISTS)),
            stop,
        }
    }

    /// How much of the time is left.
    pub fn left(&self) -> Duration {
        *self.left.lock()
    }

    /// What comes of `work` within that time.
    ///
    /// # Errors
    /// When the time is over, or the caller ends the run.
    pub async fn within<T>(&self, most: Duration, work: impl Future<Output = T>) -> Result<T, Unfinished> {
        self.until(self.stop.cancelled(), most, work).await
    }

    /// The same for what confirms all that was seen: it gets a moment although the caller ends the run.
    ///
    /// # Errors
    /// When the time is over, or that moment.
    pub async fn at_last<T>(&self, most: Duration, work: impl Future<Output = T>) -> Result<T, Unfinished> {
        let stopped = async {
            self.stop.cancelled().await;
            sleep(LAST_LOOK).await;
        };
        self.until(stopped, most, work).await
    }

    async fn until<T>(
        &self,
        stopped: impl Future<Output = ()>,
        most: Duration,
        work: impl Future<Output = T>,
    ) -> Result<T, Unfinished> {
        let began = Instant::now();
        let left = self.left();
        let outcome = select! {
            biased;
            () = stopped => Err(Unfinished::Stopped),
            // `timeout` polls the work, which may never rest, before its own timer.
            outcome = timeout(most.min(left), work) => {
                outcome.map_err(|_| if left < most { Unfinished::NoTime } else { Unfinished::Late(most) })
            }
        };
        let mut left = self.left.lock();
        *left = left.saturating_sub(began.elapsed());
        outcome
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn all_waits_together_are_bounded() {
        let seconds = Duration::from_secs;
        let stop = CancellationToken::new();
        let patience = Patience::new(seconds(30), seconds(4), stop.clone());
        let began = Instant::now();
        let late = patience.within(seconds(30), pending::<()>()).await;
        assert_eq!(late, Err(Unfinished::Late(seconds(30))));
        assert_eq!(patience.within(seconds(30), async { 1 }).await, Ok(1));
        for _ in 0..3 {
            let late = patience.within(seconds(30), pending::<()>()).await;
            assert_eq!(late, Err(Unfinished::NoTime));
        }
        assert_eq!(began.elapsed(), seconds(50));
        assert_eq!(
            patience.within(seconds(30), async { 1 }).await,
            Ok(1),
            "what is quick is had"
        );
        stop.cancel();
        let stopped = patience.within(seconds(30), pending::<()>()).await;
        assert_eq!(stopped, Err(Unfinished::Stopped));
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_that_is_stopped_takes_a_last_look() {
        let stop = CancellationToken::new();
        let patience = Patience::new(Duration::from_secs(30), Duration::ZERO, stop.clone());
        stop.cancel();
        let began = Instant::now();
        assert_eq!(patience.at_last(patience.list, async { 1 }).await, Ok(1));
        assert_eq!(began.elapsed(), Duration::ZERO);
        let stopped = patience.at_last(patience.list, pending::<()>()).await;
        assert_eq!(stopped, Err(Unfinished::Stopped));
        assert_eq!(began.elapsed(), LAST_LOOK);
    }

    #[test]
    fn a_long_window_allows_long_lists() {
        let seconds = Duration::from_secs;
        let patience = |timeout, observe| Patience::new(timeout, observe, CancellationToken::new()).list;
        assert_eq!(patience(seconds(30), seconds(300)), seconds(300));
        assert_eq!(patience(seconds(600), seconds(4)), seconds(600));
        assert_eq!(patience(Duration::MAX, seconds(4)), Duration::MAX);
    }
}
